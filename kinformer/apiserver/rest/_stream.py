"""WatchStream: the events of one watch, batch by batch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any, Final

from kinformer.apiserver.cacher import StoredObject, select
from kinformer.apiserver.registry import Served, StatusError, expired
from kinformer.apiserver.rest._objects import Objects
from kinformer.apiserver.rest._options import Event
from kinformer.apiserver.storage import Batch, CompactedError, KeyValue, Watch
from kinformer.clock import Timer
from kinformer.meta import INITIAL_EVENTS_END

__all__ = ["WatchStream"]

_PIECE: Final = 500
"""How many initial events make a batch."""

_JITTER: Final = 1.25
_BEFORE_DEADLINE: Final = 2.0


class WatchStream:
    """An async iterator over batches of events, which ends at its deadline, after an error, or with its resource.

    There is no queue: it reads on when it is asked for more, and a reader that falls behind the history of the storage
    gets a 410. Bookmarks are what the timer asks for: progress of the storage's watch, made visible (rule X-9). They come
    though nothing happens, as a real server's do whose etcd reports its progress: silence means a dead connection.

    Args:
        objects: Where the objects are.
        served: What is watched; when the registry serves something else in its place, the stream ends.
        matches: Which objects it shows.
        deadline: When it ends, on the clock's ``monotonic``.
        bookmark_period: Seconds between bookmarks; ``None`` for none.
        random: Spreads them.
    """

    def __init__(
        self,
        objects: Objects,
        served: Served,
        matches: Callable[[KeyValue], bool],
        *,
        deadline: float,
        bookmark_period: float | None,
        random: Random,
    ) -> None:
        self._objects = objects
        self._served = served
        self._matches = matches
        self._deadline = deadline
        self._bookmark_period = bookmark_period
        self._random = random
        self._pending: Iterator[Event] = iter(())
        self._watch: Watch | None = None
        self._version = 0
        self._is_bookmark_due = False
        self._timer: Timer | None = None
        self._unsubscribe: Callable[[], None] = _nothing

    def begin(self, state: Sequence[KeyValue], revision: int, *, ends_with_bookmark: bool) -> None:
        """Show a state first, in its order (rule X-4), and then the bookmark that ends it."""

        def events() -> Iterator[Event]:
            for value in state:
                yield Event("ADDED", self._objects.view(self._served, value))
            if ends_with_bookmark:
                yield self._bookmark(revision, {"annotations": {INITIAL_EVENTS_END: "true"}})

        self._pending = events()

    def fail(self, error: StatusError) -> None:
        """Show an error and end."""
        self._pending = iter((Event("ERROR", error.to_status()),))
        self.close()

    def follow(self, watch: Watch, revision: int) -> None:
        """Show the changes of a watch, which begins behind ``revision``."""
        self._watch = watch
        self._version = revision
        self._unsubscribe = self._objects.registry.subscribe(watch.request_progress)
        self._set_timer()

    def close(self) -> None:
        """End: what is pending may still be read."""
        self._watch = None
        self._unsubscribe()
        if self._timer is not None:
            self._timer.cancel()

    def __aiter__(self) -> "WatchStream":
        return self

    async def __anext__(self) -> Sequence[Event]:
        """Wait for the next events; a cancelled wait loses none."""
        while True:
            if events := list(islice(self._pending, _PIECE)):
                return events
            if self._watch is None:
                raise StopAsyncIteration
            await self._read(self._watch)

    async def _read(self, watch: Watch) -> None:
        """Wait for the next batch and make its events pending; or end."""
        if not self._is_current:
            watch.request_progress()
        with self._objects.clock.move_on_after(self._deadline - self._objects.clock.monotonic()) as scope:
            try:
                batch = await anext(watch)
            except CompactedError as error:
                text = f"too old resource version: {self._version} ({error.compacted - 1})"
                self.fail(expired(text))
                return
        if scope.cancelled_caught or (not batch.changes and not self._is_current):
            self.close()
        else:
            self._version = batch.revision
            self._pending = self._events(batch)

    def _events(self, batch: Batch) -> Iterator[Event]:
        for change in batch.changes:
            if (kind := select(change, self._matches)) is not None:
                value = change.previous if kind == "DELETED" else change.current
                assert value is not None  # noqa: S101 -- select() has looked at it
                yield Event(kind, self._objects.view(self._served, value, change.revision))
        if self._is_bookmark_due:
            self._is_bookmark_due = False
            yield self._bookmark(batch.revision)

    def _bookmark(self, revision: int, metadata: dict[str, Any] | None = None) -> Event:
        meta = {"resourceVersion": str(revision), **(metadata or {})}
        content = {"kind": self._served.kind, "apiVersion": self._served.api_version, "metadata": meta}
        return Event("BOOKMARK", StoredObject.of(content, revision))

    @property
    def _is_current(self) -> bool:
        """Whether what is served is still what this stream shows; a definition that is being deleted goes on till it is gone."""
        served = self._served
        found = self._objects.registry.find(served.group, served.version, served.plural)
        return found is served or (
            found is not None and found == replace(served, is_terminating=found.is_terminating)
        )

    def _set_timer(self) -> None:
        if self._bookmark_period is None:
            return
        clock = self._objects.clock
        now = clock.monotonic()
        jitter = min(_JITTER, self._bookmark_period / 10)
        due = now + self._bookmark_period + self._random.uniform(-jitter, jitter)
        last = self._deadline - _BEFORE_DEADLINE
        if last > now:
            due = min(due, last)
        if due < self._deadline:
            self._timer = clock.call_at(due, self._on_timer)

    def _on_timer(self) -> None:
        if self._watch is not None:
            self._is_bookmark_due = True
            self._watch.request_progress()
            self._set_timer()


def _nothing() -> None:
    """What ends a subscription that was never made."""
