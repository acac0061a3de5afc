"""WatchStream: the events of one watch, batch by batch."""

from collections.abc import Sequence

from kinformer.apiserver.cacher import Bookmark, CacheWatch, Selected, StoredObject
from kinformer.apiserver.registry import Served, StatusError
from kinformer.apiserver.rest._objects import Objects
from kinformer.apiserver.rest._options import Event
from kinformer.meta import INITIAL_EVENTS_END

__all__ = ["FailedStream", "WatchStream"]


class WatchStream:
    """An async iterator over batches of events, which ends at its deadline, or with its watcher.

    A cancelled wait loses nothing.

    Args:
        watch: What the cache tells.
        objects: Shows objects.
        served: What is watched.
        deadline: When it ends, on the clock's ``monotonic``.
    """

    def __init__(self, watch: CacheWatch, objects: Objects, served: Served, *, deadline: float) -> None:
        self._watch = watch
        self._objects = objects
        self._served = served
        self._deadline = deadline
        self._has_ended = False

    def __aiter__(self) -> "WatchStream":
        return self

    async def __anext__(self) -> Sequence[Event]:
        """Wait for the next events."""
        if self._has_ended:
            raise StopAsyncIteration
        clock = self._objects.clock
        told: Sequence[Selected | Bookmark] = ()
        with clock.move_on_after(self._deadline - clock.monotonic()):
            told = await anext(self._watch)
        if not told:
            self._has_ended = True
            raise StopAsyncIteration
        return [each.form("event", self._event) for each in told]

    def _event(self, told: Selected | Bookmark) -> Event:
        """What is told, for all who watch this resource in this version."""
        if isinstance(told, Selected):
            return Event(told.type, self._objects.view(self._served, told.element.value, told.version))
        metadata = {"annotations": {INITIAL_EVENTS_END: "true"}} if told.ends_initial_events else {}
        content = {"kind": self._served.kind, "apiVersion": self._served.api_version, "metadata": metadata}
        return Event("BOOKMARK", StoredObject.of(content, told.version))


class FailedStream:
    """A watch that could not begin: one ERROR event, and the end (rule X-8)."""

    def __init__(self, error: StatusError) -> None:
        self._events = [Event("ERROR", error.to_status())]

    def __aiter__(self) -> "FailedStream":
        return self

    async def __anext__(self) -> Sequence[Event]:
        """Give the error, once."""
        if not self._events:
            raise StopAsyncIteration
        return [self._events.pop()]
