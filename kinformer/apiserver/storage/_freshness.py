"""Freshness: waiting until a cache is as far as its storage."""

from collections.abc import Callable

import anyio

from kinformer.apiserver.storage._errors import CacheTimeoutError
from kinformer.clock import Clock

__all__ = ["Freshness"]


class Freshness:
    """Waits for a revision, and has progress asked for as long as somebody does.

    Args:
        revision: Says how far the cache is.
        timeout: Seconds that a wait may take.
        period: Seconds between two requests for progress.
        clock: What both are measured on.
    """

    def __init__(self, revision: Callable[[], int], *, timeout: float, period: float, clock: Clock) -> None:
        self._revision = revision
        self._timeout = timeout
        self._period = period
        self._clock = clock
        self._is_closed = False
        self._advanced = anyio.Event()
        self._wanted = anyio.Event()
        self._waiters = 0

    async def wait_for(self, revision: int) -> None:
        """Wait until the cache is at a revision; returns at once when it is, and when this is closed.

        Raises:
            CacheTimeoutError: It does not come so far in time.
        """
        if self._is_there(revision):
            return
        self._waiters += 1
        self._wanted.set()
        try:
            with self._clock.move_on_after(self._timeout):
                while not self._is_there(revision):
                    await self._advanced.wait()
        finally:
            self._waiters -= 1
        if not self._is_there(revision):
            raise CacheTimeoutError(revision, self._revision())

    def advance(self) -> None:
        """Let those who wait look; to be called whenever the cache has come further."""
        advanced, self._advanced = self._advanced, anyio.Event()
        advanced.set()

    def close(self) -> None:
        """Let nobody wait any more."""
        self._is_closed = True
        self.advance()

    async def run(self, ask: Callable[[], None]) -> None:
        """Call ``ask()`` at once when somebody begins to wait, and then from time to time, until cancelled."""
        while True:
            await self._wanted.wait()
            if not self._waiters:
                self._wanted = anyio.Event()
                continue
            ask()
            await self._clock.sleep(self._period)

    def _is_there(self, revision: int) -> bool:
        return self._is_closed or self._revision() >= revision
