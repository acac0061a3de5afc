"""Pump: the one task that moves what is queued into the store, and tells the listeners."""

import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any, Final

import anyio
from anyio.lowlevel import checkpoint

from kinformer.clock import Clock
from kinformer.informer._backlog import Waiting
from kinformer.informer._digest import told_of
from kinformer.informer._listener import Listener
from kinformer.informer._notifications import Notification, Updated
from kinformer.meta import ObjectKey, Record
from kinformer.store import Delta, DeltaQueue, Difference, Relist, Replacement, Resync, StoreWriter

__all__ = ["Pump"]

_log: Final = logging.getLogger("kinformer.informer")

_SLICE: Final = 32
"""Records that are handled before other tasks get their turn: about a millisecond for new ones of 6 KB, as measured."""

_FREED: Final = 1024
"""Entries of an old content that are freed at once; nearly all of them are of records that live on."""

_AHEAD: Final = 10_000
"""Changes that may wait before the source is read no further. A relist of 100,000 objects takes a second or two."""

_DEEP: Final = 10
_SLOW: Final = 0.1
"""With more than so many changes waiting, so many seconds without a pause are worth a warning (``DeltaFIFO.Pop``)."""


class Pump:
    """From the queue to the store, from the store to the listeners.

    Nothing is told before it is in the store. A snapshot becomes visible at once; the work before and after that is
    done in slices, and what comes meanwhile waits. So at every await the store is whole: it has all of a thing from
    the queue or nothing of it. And whoever joins is told all of what is in the store then, and of no change that it
    holds already.

    Args:
        queue: What is to be done.
        writer: Of the store.
        listeners: Who is told, at any time.
        admit: Shapes what a snapshot brings; gives ``None`` for what cannot be kept.
        name: The informer's name.
        clock: The time.
    """

    def __init__(
        self,
        queue: DeltaQueue,
        writer: StoreWriter,
        listeners: Collection[Listener[Any]],
        *,
        admit: Callable[[Record], Record | None],
        name: str,
        clock: Clock,
    ) -> None:
        self._queue = queue
        self._writer = writer
        self._listeners = listeners
        self._admit = admit
        self._name = name
        self._clock = clock
        self._due: set[Listener[Any]] = set()
        self._queued = anyio.Event()
        self._moved = anyio.Event()
        self._is_filled = False
        self._is_synced = False

    @property
    def is_filled(self) -> bool:
        """Whether a complete list has been in the store; once true it stays so."""
        return self._is_filled

    @property
    def is_synced(self) -> bool:
        """Whether all listeners have been told of it too, or rather, their buffers; once true it stays so."""
        return self._is_synced

    def wake(self) -> None:
        """Look into the queue: something has come."""
        self._queued.set()

    def resync(self, due: Iterable[Listener[Any]]) -> None:
        """Show everything again to these, once what is queued now is done."""
        self._due.update(due)
        if self._due:
            self._queue.resync()
            self.wake()

    async def wait_moved(self) -> None:
        """Wait until something of the queue is done, or ``announce`` is called."""
        await self._moved.wait()

    def announce(self) -> None:
        """Wake those that wait for a move."""
        self._moved.set()
        self._moved = anyio.Event()

    async def wait_room(self) -> None:
        """Wait until the queue is short enough for more to come."""
        while len(self._queue) >= _AHEAD:
            await self.wait_moved()

    async def run(self) -> None:
        """Pump until cancelled. Cancelled in a relist, it leaves the old content or the new one, never a mixture."""
        while True:
            self._queued = anyio.Event()
            while self._queue:
                await self._turn()
                self.announce()
                await checkpoint()
            self._writer.publish(self._queue.version)  # a bookmark leaves nothing in the queue
            self.announce()
            await self._queued.wait()

    async def _turn(self) -> None:
        left = _SLICE
        while self._queue and left > 0:
            item = self._queue.pop()
            match item:
                case Replacement():
                    await self._relist(self._writer.relist(item, self._admit))
                case Resync():
                    await self._show_again()
                case _:
                    self._apply(item)
                    left -= len(item)

    def _apply(self, deltas: Sequence[Delta]) -> None:
        """Move deltas into the store, then tell. Readers see nothing in between: no await here."""
        began = self._clock.monotonic()
        differences = [self._writer.apply(delta) for delta in deltas]
        self._tell(self._listeners, [one for one in differences if one is not None])
        self._done()
        self._watch_pace(deltas[0].key, began)

    async def _relist(self, relist: Relist) -> None:
        while not relist.is_filled:
            began = self._clock.monotonic()
            relist.fill(_SLICE)
            self._watch_pace("a part of a list", began)
            await checkpoint()
        relist.swap()
        # Fixed with the swap: who joins from here on finds the new content, and must not be told what led to it.
        audience = tuple(self._listeners)
        self._is_filled = True
        self.announce()
        if relist.is_first:
            for listener in audience:
                listener.begin(self._writer.store.content, self._clock.monotonic())
                await checkpoint()
        while differences := relist.differences(_SLICE):
            self._tell(audience, differences)
            await checkpoint()
        self._done()
        self.announce()
        while relist.free(_FREED):
            await checkpoint()

    async def _show_again(self) -> None:
        audience, self._due = tuple(self._due), set()
        records = iter(self._writer.store)
        while shown := [Updated(record, record) for record in islice(records, _SLICE)]:
            self._offer(audience, shown)
            await checkpoint()
        self._done()

    def _tell(self, audience: Iterable[Listener[Any]], differences: Iterable[Difference]) -> None:
        self._offer(audience, [told for difference in differences for told in told_of(difference)])

    def _offer(self, audience: Iterable[Listener[Any]], told: Sequence[Notification[Record]]) -> None:
        now = self._clock.monotonic()
        waiting = [Waiting(now, notification) for notification in told]
        if waiting:
            for listener in audience:
                listener.offer(waiting)

    def _done(self) -> None:
        """What was popped is in the store and has been told."""
        self._queue.done()
        self._writer.publish(self._queue.version)
        if self._queue.has_synced and not self._is_synced:
            self._is_synced = True
            for listener in self._listeners:
                listener.source_synced()

    def _watch_pace(self, what: ObjectKey | str, began: float) -> None:
        """Say what holds up the queue; no more than user code can: an index function or a transform."""
        duration = self._clock.monotonic() - began
        if duration > _SLOW and len(self._queue) > _DEEP:
            _log.warning(
                "%s: %s took %.3f s to get into the store, while %d changes wait for it",
                self._name,
                what,
                duration,
                len(self._queue),
            )
