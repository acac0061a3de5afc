"""Time, as the library sees it: a contract and nothing else.

Everything that waits or reads the time takes a ``clock=`` and defaults to ``SystemClock``;
``kinformer.testing.FakeClock`` makes a ten-minute outage take milliseconds. Every duration is in seconds.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

__all__ = ["CancelScope", "Clock", "Timer"]


class Timer(Protocol):
    """A callback that is due at a moment."""

    def cancel(self) -> None:
        """Never call it; harmless when it was called already."""


class CancelScope(Protocol):
    """What ``Clock.move_on_after`` gives: the part of ``anyio.CancelScope`` that our code needs."""

    @property
    def cancelled_caught(self) -> bool:
        """Whether the deadline passed and cut the block short; to be asked after the block."""

    def cancel(self) -> None:
        """Cut the block short now."""


class Clock(Protocol):
    """The time, and how to wait for it.

    No deadline is ever taken from anywhere else, since ``anyio.move_on_after`` reads the real clock.
    """

    def monotonic(self) -> float:
        """Seconds since some fixed moment; never goes back."""

    def now(self) -> datetime:
        """The wall time in UTC, for what Kubernetes writes down: leases, events, creation times."""

    async def sleep(self, delay: float) -> None:
        """Wait ``delay`` seconds; zero or less still lets other tasks run once."""

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback()`` from the event loop once ``monotonic()`` has reached ``when``."""

    def move_on_after(self, delay: float) -> AbstractContextManager[CancelScope, bool]:
        """Give a block ``delay`` seconds, then cancel it and go on behind it; infinity means no deadline."""
