"""Freshness: waiting until the cache is as far as somebody needs it to be."""

from collections.abc import Callable
from typing import Final

import anyio

from kinformer.apiserver.storage import FutureRevisionError
from kinformer.clock import Clock

__all__ = ["BLOCK_TIMEOUT", "Freshness"]

BLOCK_TIMEOUT: Final = 3.0
"""Seconds that a read waits at most (``blockTimeout`` in ``watch_cache.go``)."""

_PERIOD: Final = 0.1


class Freshness:
    """Lets readers wait for a revision, and has progress requested while they do; while nobody waits, nothing runs.

    Each reader requests progress when it begins to wait, since an answer that is under way may be older than what it
    needs, and then every 100 ms.

    Args:
        revision: Says how far the cache is.
        ask: Requests progress from the storage; harmless when repeated.
        clock: What the time is measured on.
        timeout: Seconds that a reader waits at most.
    """

    def __init__(
        self,
        revision: Callable[[], int],
        ask: Callable[[], None],
        *,
        clock: Clock,
        timeout: float = BLOCK_TIMEOUT,
    ) -> None:
        self._revision = revision
        self._ask = ask
        self._clock = clock
        self._timeout = timeout
        self._is_closed = False
        self._advanced = anyio.Event()

    async def wait_for(self, revision: int, *, with_progress: bool = True) -> float:
        """Wait until the cache is at a revision, or this is closed; gives the seconds that it took.

        Args:
            revision: The revision; 0, and one that is there, need no wait.
            with_progress: Whether to request progress. A storage that cannot tell any is not asked.

        Raises:
            FutureRevisionError: It was not there in time.
        """
        if self._is_there(revision):
            return 0.0
        begun = self._clock.monotonic()
        with self._clock.move_on_after(self._timeout):
            while not self._is_there(revision):
                if with_progress:
                    self._ask()
                await self._wait(revision)
        if not self._is_there(revision):
            raise FutureRevisionError(revision, self._revision())
        return self._clock.monotonic() - begun

    def advance(self) -> None:
        """Let those who wait look; to be called whenever the cache has come further."""
        advanced, self._advanced = self._advanced, anyio.Event()
        advanced.set()

    def close(self) -> None:
        """Let nobody wait any more."""
        self._is_closed = True
        self.advance()

    async def _wait(self, revision: int) -> None:
        with self._clock.move_on_after(_PERIOD):
            while not self._is_there(revision):
                await self._advanced.wait()

    def _is_there(self, revision: int) -> bool:
        return self._is_closed or self._revision() >= revision
