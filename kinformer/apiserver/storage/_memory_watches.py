"""How a stream of the storage in memory is read: response by response, or as one watch in batches."""

from collections.abc import Callable
from typing import Final, TypeVar

import anyio

from kinformer.apiserver.storage._contracts import Batch
from kinformer.apiserver.storage._errors import CompactedError
from kinformer.apiserver.storage._mvcc import Change, Mvcc
from kinformer.apiserver.storage._watch_messages import WatchResponse, unpack
from kinformer.apiserver.storage._watcher_stream import WatcherStream

__all__ = ["MemoryStream", "MemoryWatch", "Waker"]

T = TypeVar("T")

_BATCH: Final = 1000
"""From how many changes on a watch hands them out."""


class Waker:
    """Wakes one reader. A wake is a hint: the reader looks whether there is anything."""

    def __init__(self) -> None:
        self._woken = anyio.Event()
        self._guard = anyio.ResourceGuard("reading from")

    def wake(self) -> None:
        """Let the reader look."""
        self._woken.set()

    async def until(self, take: Callable[[], T | None]) -> T:
        """Wait until ``take()`` gives something; a cancelled wait has taken nothing."""
        with self._guard:
            while (found := take()) is None:
                self._woken = anyio.Event()
                await self._woken.wait()
            return found


class MemoryStream:
    """A ``WatchStream`` in memory."""

    def __init__(self, stream: WatcherStream, waker: Waker) -> None:
        self.create = stream.create
        self.cancel = stream.cancel
        self.request_progress = stream.request_progress
        self._take = stream.take
        self._waker = waker

    def __aiter__(self) -> "MemoryStream":
        return self

    async def __anext__(self) -> WatchResponse:
        """Wait for the next response."""
        return await self._waker.until(self._take)


class MemoryWatch:
    """A ``Watch`` in memory: a stream with a single watch, whose responses are put together."""

    def __init__(self, core: Mvcc, stream: WatcherStream, waker: Waker) -> None:
        self._core = core
        self._stream = stream
        self._waker = waker
        self._wants_progress = False
        self._lost: CompactedError | None = None

    def __aiter__(self) -> "MemoryWatch":
        return self

    async def __anext__(self) -> Batch:
        """Wait for changes, or for progress where it was asked for."""
        return await self._waker.until(self._take)

    def request_progress(self) -> None:
        """Ask for a batch as soon as everything so far has been delivered."""
        self._wants_progress = True
        self._waker.wake()

    def _take(self) -> Batch | None:
        changes: list[Change] = []
        while self._lost is None and len(changes) < _BATCH and (response := self._stream.take()) is not None:
            self._lost = unpack(response, changes)
        if self._lost is not None:
            if not changes:
                raise CompactedError(self._lost.revision, self._lost.compacted)
            return Batch(changes, changes[-1].revision)
        if self._stream.is_exhausted and (changes or self._wants_progress):
            self._wants_progress = False
            return Batch(changes, self._core.revision)
        return Batch(changes, changes[-1].revision) if changes else None
