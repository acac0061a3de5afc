"""CacheWatch: one watch, read in batches."""

from collections.abc import Sequence

import anyio
from anyio.lowlevel import checkpoint

from kinformer.apiserver.cacher._dispatch import Dispatcher
from kinformer.apiserver.cacher._encoded import Bookmark, Selected
from kinformer.apiserver.cacher._watcher import CacheWatcher

__all__ = ["CacheWatch"]


class CacheWatch:
    """An async iterator over what a watcher is told; it ends when the watcher is closed and read to its end.

    Between the pieces of a long replay the event loop gets a turn. A cancelled wait loses nothing.
    """

    def __init__(self, watcher: CacheWatcher, dispatcher: Dispatcher) -> None:
        self._watcher = watcher
        self._dispatcher = dispatcher
        self._woken = anyio.Event()
        self._guard = anyio.ResourceGuard("reading from")
        watcher.wake = self._wake

    def __aiter__(self) -> "CacheWatch":
        return self

    async def __anext__(self) -> Sequence[Selected | Bookmark]:
        """Wait for what is next; never empty."""
        watcher = self._watcher
        with self._guard:
            while True:
                if watcher.is_replaying:
                    await checkpoint()
                if taken := watcher.take():
                    self._dispatcher.was_read(watcher)
                    return taken
                if watcher.is_over:
                    raise StopAsyncIteration
                if not watcher.is_replaying:
                    self._woken = anyio.Event()
                    await self._woken.wait()

    def _wake(self) -> None:
        self._woken.set()
