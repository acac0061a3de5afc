"""Cacher: one resource, kept by a single watch of the storage.

https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions
"""

import logging
import math
from collections.abc import Iterable
from contextlib import suppress
from itertools import groupby
from operator import attrgetter
from typing import Final, Protocol

import anyio
from anyio.abc import TaskStatus

from kinformer.apiserver.cacher._consistency import check
from kinformer.apiserver.cacher._content import Content
from kinformer.apiserver.cacher._event import CacheEvent, Element, ReadAttributes
from kinformer.apiserver.cacher._freshness import Freshness
from kinformer.apiserver.cacher._metrics import Metrics
from kinformer.apiserver.cacher._options import CacheOptions
from kinformer.apiserver.cacher._readiness import Readiness, StoppedError
from kinformer.apiserver.storage import (
    KV,
    Batch,
    Change,
    CompactedError,
    InconsistentError,
    KeyRange,
    KeyValue,
    UnavailableError,
    Watch,
)
from kinformer.clock import Clock
from kinformer.tasks import open_task_group

__all__ = ["Cacher", "Dispatching"]

_log = logging.getLogger("kinformer.apiserver")

_PAGE: Final = 10_000
_PAST: Final = 10_000
"""Revisions that a cache looks back when it begins, at most; as many as a storage in memory keeps."""

_PERIOD: Final = 1.0
"""Seconds between the beginnings of two lists at least."""


class Dispatching(Protocol):
    """Who tells the watchers of a resource."""

    async def dispatch(self, event: CacheEvent) -> None:
        """Tell an event, which content and history have taken in. Whoever is slow must not be waited for."""

    def progress(self, revision: int) -> None:
        """Know that everything up to a revision has been dispatched."""

    def restart(self) -> None:
        """End all watchers: events may have been missed."""


class _Nobody:
    """No watchers."""

    async def dispatch(self, event: CacheEvent) -> None:
        """Nobody hears of it."""

    def progress(self, revision: int) -> None:
        """Nor of this."""

    def restart(self) -> None:
        """There is nobody to end."""


class Cacher:
    """The objects of a resource with their recent history, and who watches them.

    ``run`` does the work, until ``close``. When the watch is lost, everything is read again, at most once in a second;
    meanwhile the cache is not ready, and all watchers end.

    The events of a revision go into content and history with no await in between, and then to the dispatcher. So a reader
    that does not wait sees one moment; and a watcher that takes its replay from ``history`` and joins the dispatcher
    without waiting misses nothing, but may be told again of what it has replayed.

    Args:
        kv: The storage.
        prefix: What the keys of the resource begin with, such as ``/registry/core/pods/``.
        read: Reads labels and fields of an object.
        metrics: Where to count.
        clock: What all times are measured on.
        options: What can be set.

    Attributes:
        content: The objects. Read it, never change it.
        history: The events. Likewise.
        readiness: Whether it follows the storage.
        dispatcher: Who tells the watchers.
        metrics: What it has counted.
    """

    def __init__(
        self,
        kv: KV,
        prefix: str,
        read: ReadAttributes,
        *,
        metrics: Metrics,
        clock: Clock,
        options: CacheOptions,
    ) -> None:
        self.history = options.history()
        self.content = Content(self.history)
        self.readiness = Readiness(clock)
        self.metrics = metrics
        self.dispatcher: Dispatching = _Nobody()
        self._kv = kv
        self._keys = KeyRange.prefix(prefix)
        self._read = read
        self._clock = clock
        self._options = options
        self._looks_back = options.looks_back
        self._next_look = 0.0
        self._freshness = Freshness(
            lambda: self.content.revision, self.request_progress, clock=clock, timeout=options.timeout
        )
        self._watch: Watch | None = None
        self._watching = anyio.CancelScope()
        self._broken: CompactedError | UnavailableError | None = None
        self._flowing = anyio.Event()
        self._flowing.set()
        self._is_retiring = False
        self._closed = anyio.Event()
        self._is_running = False

    @property
    def revision(self) -> int:
        """How far it has seen; 0 before it was ready for the first time."""
        return self.content.revision

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Follow the storage until ``close``; ``started()`` once it is ready for the first time.

        Raises:
            RuntimeError: It runs already.
        """
        if self._is_running:
            raise RuntimeError("this Cacher runs already; all who read a resource share one")
        self._is_running = True
        try:
            async with open_task_group() as tasks:
                tasks.start_soon(self._follow)
                with suppress(StoppedError):
                    await self.readiness.wait()
                    task_status.started()
                await self._check_until_closed()
                tasks.cancel_scope.cancel()
        finally:
            self.close()

    def close(self) -> None:
        """Let ``run`` return. Watchers end, and whoever waits here goes to the storage."""
        self._closed.set()
        self.readiness.stop()
        self._freshness.close()
        self.dispatcher.restart()

    def retire(self) -> None:
        """Close as soon as everything has been told that the storage holds by now."""
        self._is_retiring = True
        if self._watch is None:
            self.close()
        else:
            self._watch.request_progress()

    async def wait_until_fresh(self, revision: int, *, with_progress: bool = True) -> None:
        """Wait until it has seen the storage up to a revision; 0 needs no wait.

        Raises:
            FutureRevisionError: It has not in time, which is 3 seconds.
            StoppedError: It was closed.
            NotReadyError: It is reading everything anew by now.
        """
        seconds = await self._freshness.wait_for(revision, with_progress=with_progress)
        if seconds:
            self.metrics.observe("apiserver_watch_cache_read_wait_seconds", seconds)
        self.readiness.check()

    async def begin(self) -> None:
        """Wait until it is ready for the first time, at most as long as for a revision; later this does not wait.

        Raises:
            NotReadyError: It is not ready, or not ready again.
            StoppedError: It was closed.
        """
        if not self.readiness.generation:
            with self._clock.move_on_after(self._options.timeout):
                await self.readiness.wait()
        self.readiness.check()

    async def forget_compacted(self, revision: int) -> None:
        """Forget a state of the past if the storage has; where that was asked just now, see ``CacheOptions``, do nothing."""
        now = self._clock.monotonic()
        if now < self._next_look:
            return
        try:
            await self._kv.get(self._keys.start, revision=revision)
        except CompactedError as error:
            self.content.forget(max(revision + 1, error.compacted))
        except UnavailableError:
            return  # what is known will do
        self._next_look = now + self._options.compaction_period

    def request_progress(self) -> None:
        """Ask the storage how far it is; the answer moves ``revision``, and goes to the dispatcher."""
        if self._watch is not None:
            self.metrics.count("apiserver_watch_cache_progress_requests_total")
            self._watch.request_progress()

    def pause(self) -> None:
        """Take in nothing more from the storage, so that the cache falls behind; for tests."""
        if self._flowing.is_set():
            self._flowing = anyio.Event()

    def resume(self) -> None:
        """Take in what has come meanwhile, and go on."""
        self._flowing.set()

    def break_watch(self, error: CompactedError | UnavailableError) -> None:
        """Lose the watch of the storage, as if it had ended with an error: everything is read again; for tests."""
        if self._watch is not None:
            self._broken = error
            self._watching.cancel()

    async def _check_until_closed(self) -> None:
        period = math.inf if self._options.check_period is None else self._options.check_period
        while not self._closed.is_set():
            with self._clock.move_on_after(period) as pause:
                await self._closed.wait()
            if pause.cancelled_caught and self.readiness.is_ready:
                await check(self._kv, self.content, self._keys, self.metrics)

    async def _follow(self) -> None:
        while True:
            begun = self._clock.monotonic()
            try:
                await self._list_and_watch()
            except (CompactedError, InconsistentError, UnavailableError) as error:
                self._lose(error)
            await self._clock.sleep(begun + _PERIOD - self._clock.monotonic())

    def _lose(self, error: Exception) -> None:
        if self.readiness.is_ready:  # once for each loss, not for each attempt to get over it
            _log.warning("the cache of %s reads everything again: %s", self._keys.start, error)
        self.readiness.fail(str(error))
        self.dispatcher.restart()

    async def _list_and_watch(self) -> None:
        """Read everything and follow it, until that fails."""
        past, now = await self._span()
        revision = await self._begin(past)
        async with self._kv.watch(self._keys, revision + 1) as watch:
            with anyio.CancelScope() as self._watching:
                self._watch = watch
                try:
                    if revision < now:
                        await self._catch_up(watch, now)
                    self.readiness.set()
                    self.metrics.count("apiserver_watch_cache_initializations_total")
                    async for batch in watch:
                        await self._flowing.wait()
                        await self._take(batch)
                finally:
                    self._watch = None
        if self._broken is not None:
            broken, self._broken = self._broken, None
            raise broken

    async def _span(self) -> tuple[int, int]:
        """The revision to begin with, 0 for the present, and the one to catch up with before anybody reads.

        Only the first time, since whoever is told that the watch was lost expects nothing of before; and only where the
        storage says when that has been reached.
        """
        looks_back, self._looks_back = self._looks_back, False
        if not looks_back or not await self._kv.tells_progress():
            return 0, 0
        now = await self._kv.revision()
        past = max(1, now - _PAST)
        try:
            await self._kv.get(self._keys.start, revision=past)
        except CompactedError as error:
            past = error.compacted
        return past, now

    async def _begin(self, past: int) -> int:
        """Read everything as it was at a revision, or is now; gives the revision."""
        if past:
            with suppress(CompactedError):
                return await self._list(past)
        return await self._list(0)

    async def _catch_up(self, watch: Watch, now: int) -> None:
        """Take in what has happened between the past and now, before anybody reads or watches."""
        watch.request_progress()
        while self.content.revision < now:
            batch = await anext(watch)
            await self._take(batch)

    async def _list(self, revision: int) -> int:
        """Read everything at a revision, or now where that is 0; gives the revision."""
        rest, items, is_done = self._keys, list[KeyValue](), False
        while not is_done:
            found = await self._kv.range(rest, revision=revision, limit=_PAGE)
            revision = revision or found.revision  # every further page shows the same moment
            items += found.items
            is_done = not found.remaining
            if not is_done:
                rest = rest.behind(f"{items[-1].key}\0")
        self.content.replace(self._elements(items), revision)
        self._freshness.advance()
        return revision

    def _elements(self, values: Iterable[KeyValue]) -> list[Element]:
        """The objects, with what is known of those that have not changed."""
        elements = []
        for value in values:
            known = self.content.get(value.key)
            is_same = known is not None and known.revision == value.mod_revision
            elements.append(known if known is not None and is_same else Element(value, self._read))
        return elements

    async def _take(self, batch: Batch) -> None:
        """Take in changes and progress, and hand them on."""
        for _, changes in groupby(batch.changes, attrgetter("revision")):
            events = [self._apply(change) for change in changes]  # a revision is seen whole or not at all
            self._freshness.advance()
            for event in events:
                await self.dispatcher.dispatch(event)
        self.content.advance(batch.revision)
        self._freshness.advance()
        self.dispatcher.progress(batch.revision)
        self.metrics.count("apiserver_watch_cache_events_received_total", len(batch.changes))
        if not batch.changes:
            self.metrics.count("etcd_bookmark_total")
        if self._is_retiring:
            self._end_or_ask(has_changed=bool(batch.changes))

    def _end_or_ask(self, *, has_changed: bool) -> None:
        """Close when nothing has come but progress, and ask for that otherwise."""
        if has_changed:
            self.request_progress()
        else:
            self.close()

    def _apply(self, change: Change) -> CacheEvent:
        before = self.content.get(change.key)
        current = None if change.current is None else Element(change.current, self._read)
        event = CacheEvent.of(change.revision, change.key, current, before, time=self._clock.monotonic())
        self.content.apply(event)
        return event
