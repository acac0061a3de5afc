"""FakeClock: time that moves only when a test says so; settle(): let everything run that can."""

import asyncio
import heapq
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from itertools import count
from types import TracebackType
from typing import Final

import anyio
from anyio.lowlevel import checkpoint

from kinformer.clock import CancelScope, Timer

__all__ = ["FakeClock", "settle"]

_TURNS: Final = 10_000
"""How long ``settle`` lets the others run before it says that they never rest."""


async def settle() -> None:
    """Yield to the event loop until every other task waits for something that has not happened.

    Raises:
        RuntimeError: Some task never rests, or the event loop is not asyncio's own, whose queue can be looked at.
    """
    loop = asyncio.get_running_loop()
    ready = getattr(loop, "_ready", None)
    if ready is None:
        raise RuntimeError(f"settle() needs asyncio's own event loop, not {type(loop).__name__}")
    for _ in range(_TURNS):
        await checkpoint()
        if not ready:
            return
    raise RuntimeError(f"the tasks did not come to rest in {_TURNS} turns: one of them is spinning")


class FakeClock:
    """A ``Clock`` whose time moves by ``advance`` only, waking each sleeper at its own moment.

    For what happens in memory. A task that waits for a socket looks idle while bytes are under way, so tests of real
    connections take the real time.
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        if start.tzinfo is None:
            raise ValueError(f"start={start} must have a time zone, such as UTC")
        self._start = start
        self._now = 0.0
        self._timers: list[_FakeTimer] = []
        self._numbers = count()

    def monotonic(self) -> float:
        """Seconds since this clock was made."""
        return self._now

    def now(self) -> datetime:
        """The wall time in UTC."""
        return self._start + timedelta(seconds=self._now)

    async def sleep(self, delay: float) -> None:
        """Wait until the clock has been advanced by ``delay``; zero or less lets other tasks run once."""
        if delay <= 0:
            await checkpoint()
            return
        woken = anyio.Event()
        timer = self.call_at(self._now + delay, woken.set)
        try:
            await woken.wait()
        finally:
            timer.cancel()

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call ``callback()`` during the ``advance`` that reaches ``when``; a past moment is the next one."""
        timer = _FakeTimer(max(when, self._now), next(self._numbers), callback)
        if when < math.inf:
            heapq.heappush(self._timers, timer)
        return timer

    def move_on_after(self, delay: float) -> AbstractContextManager[CancelScope, bool]:
        """Give a block ``delay`` seconds of this clock, then cancel it and go on behind it."""
        return _Deadline(self, delay)

    @property
    def next_timer(self) -> float | None:
        """When the next timer is due, in ``monotonic`` seconds; ``None`` where nobody waits."""
        while self._timers and self._timers[0].is_cancelled:
            heapq.heappop(self._timers)
        return self._timers[0].when if self._timers else None

    async def advance(self, delay: float) -> None:
        """Move on by ``delay`` seconds: each timer fires at its own moment, and what it wakes runs before the next.

        Raises:
            ValueError: Time does not go back.
            RuntimeError: See ``settle``.
        """
        if not 0 <= delay < math.inf:
            raise ValueError(f"cannot advance by {delay} s: time does not go back, nor on for ever")
        target = self._now + delay
        await settle()
        while (when := self.next_timer) is not None and when <= target:
            self._now = when
            heapq.heappop(self._timers).callback()
            if self.next_timer != when:  # timers of one moment fire together
                await settle()
        self._now = target


class _Deadline:
    """A cancel scope with a timer of the fake clock."""

    def __init__(self, clock: FakeClock, delay: float) -> None:
        self._clock = clock
        self._delay = delay
        self._scope = anyio.CancelScope()

    def __enter__(self) -> anyio.CancelScope:
        self._scope.__enter__()
        self._timer = self._clock.call_at(self._clock.monotonic() + self._delay, self._scope.cancel)
        if self._delay <= 0:
            self._scope.cancel()
        return self._scope

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        self._timer.cancel()
        return bool(self._scope.__exit__(kind, error, traceback))


class _FakeTimer:
    """An entry of the heap, ordered by moment and then by age."""

    __slots__ = ("callback", "is_cancelled", "number", "when")

    def __init__(self, when: float, number: int, callback: Callable[[], None]) -> None:
        self.when = when
        self.number = number
        self.callback = callback
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True
        self.callback = _nothing  # let go of what it holds; the entry itself surfaces later

    def __lt__(self, other: "_FakeTimer") -> bool:
        return (self.when, self.number) < (other.when, other.number)


def _nothing() -> None:
    """What a cancelled timer does."""
