"""The real time: ``SystemClock``, the one module that may read it."""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

import anyio

from kinformer.clock import CancelScope, Timer

__all__ = ["SystemClock"]


class SystemClock:
    """The machine's own clock. It holds no state: any two instances are alike."""

    __slots__ = ()

    monotonic = staticmethod(time.monotonic)  # noqa: TID251 -- here real time enters, without a call of our own

    def now(self) -> datetime:
        """The wall time in UTC."""
        return datetime.now(UTC)  # noqa: TID251 -- here real time enters

    async def sleep(self, delay: float) -> None:
        """Wait ``delay`` seconds; zero or less still lets other tasks run once."""
        await anyio.sleep(delay)  # noqa: TID251 -- here real time enters

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback()`` once ``monotonic()`` has reached ``when``.

        The loop's own clock may have another origin than ours (uvloop's does), hence the detour by a delay.
        """
        return asyncio.get_running_loop().call_later(max(0.0, when - self.monotonic()), callback)

    def move_on_after(self, delay: float) -> AbstractContextManager[CancelScope, bool]:
        """Give a block ``delay`` seconds, then cancel it and go on behind it."""
        return anyio.move_on_after(delay)  # noqa: TID251 -- here real time enters
