"""Waiting for a claim to become true, on a clock that we move or on the real one."""

import inspect
import textwrap
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import anyio
from anyio.to_thread import current_default_thread_limiter

from kinformer.clock import Clock
from kinformer.errors import NotFoundError, NotSyncedError
from kinformer.system_clock import SystemClock
from kinformer.testing._clock import FakeClock, settle

__all__ = ["Claim", "wait_until"]

Claim: TypeAlias = Callable[[], bool | Awaitable[bool]]
"""Something that may be true by now."""

_POLL: Final = 0.01
"""Seconds between two tests of a claim on a real clock."""

_PATIENCE: Final = 5.0
"""Real seconds that worker threads get in one wait on a fake clock, which does not see them work."""

_NOT_YET: Final = (AssertionError, NotFoundError, NotSyncedError)


async def wait_until(claim: Claim, *, timeout: float, clock: Clock) -> None:
    """Return once ``claim()`` is true; on a ``FakeClock``, let everything rest and go from timer to timer meanwhile.

    A claim that raises ``AssertionError``, ``NotFoundError`` or ``NotSyncedError`` is not true yet.

    Args:
        claim: A function without arguments, plain or async. An async one may itself wait for the clock.
        timeout: Seconds of ``clock``.
        clock: What the tasks wait for that are to make the claim true.

    Raises:
        TimeoutError: The claim is still not true; the cause is what it raised last.
    """
    pace = _FakePace(clock, timeout) if isinstance(clock, FakeClock) else _RealPace(clock, timeout)
    while True:
        trial = _Trial(claim)
        if await trial.holds(pace):
            return
        if not await pace.step():
            break
    unit = "fake seconds" if isinstance(clock, FakeClock) else "seconds"
    raise TimeoutError(f"not true within {timeout:g} {unit}: {_described(claim)}") from trial.objection


class _FakePace:
    """From timer to timer, and once more at the very end."""

    def __init__(self, clock: FakeClock, timeout: float) -> None:
        self._clock = clock
        self._end = clock.monotonic() + timeout
        self._patience_ends = SystemClock().monotonic() + _PATIENCE

    async def rest(self) -> None:
        """Let everything run that can, threads included: they are invisible to ``settle``, and to fake time."""
        real, threads = SystemClock(), current_default_thread_limiter()
        await settle()
        while threads.borrowed_tokens and real.monotonic() < self._patience_ends:
            await real.sleep(0.001)
            await settle()

    async def step(self) -> bool:
        """Go on to the next timer, or to the end; false when we are there already."""
        now = self._clock.monotonic()
        if now >= self._end:
            return False
        due = self._clock.next_timer
        await self._clock.advance((self._end if due is None else min(due, self._end)) - now)
        return True


class _RealPace:
    """A test now and then."""

    def __init__(self, clock: Clock, timeout: float) -> None:
        self._clock = clock
        self._end = clock.monotonic() + timeout

    async def rest(self) -> None:
        """Give way once."""
        await self._clock.sleep(0)

    async def step(self) -> bool:
        """Wait a little; false when there is no time left."""
        left = self._end - self._clock.monotonic()
        if left <= 0:
            return False
        await self._clock.sleep(min(_POLL, left))
        return True


class _Trial:
    """One test of a claim: its verdict, and why it does not hold."""

    def __init__(self, claim: Claim) -> None:
        self._claim = claim
        self._verdict: bool | None = None
        self._failure: Exception | None = None
        self.objection: Exception | None = None

    async def holds(self, pace: _FakePace | _RealPace) -> bool:
        """Let everything rest, then ask. Time goes on while an async claim waits; without an answer it is false."""
        await pace.rest()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._ask)
            await pace.rest()
            while self._verdict is None and await pace.step():
                await pace.rest()
            tasks.cancel_scope.cancel()
        if self._failure is not None:
            raise self._failure
        return bool(self._verdict)

    async def _ask(self) -> None:
        try:
            answer = self._claim()
            self._verdict = bool(await answer if inspect.isawaitable(answer) else answer)
        except _NOT_YET as objection:
            self.objection, self._verdict = objection, False
        except Exception as failure:  # noqa: BLE001 -- the claim is user code; raised again where it was asked
            self._failure, self._verdict = failure, False


def _described(claim: Claim) -> str:
    """The claim as its author would know it: a lambda by its source, any other function by its name and place."""
    code = getattr(claim, "__code__", None)
    if code is None:
        return repr(claim)
    place = f"{code.co_filename}:{code.co_firstlineno}"
    name = getattr(claim, "__qualname__", code.co_name)
    if code.co_name != "<lambda>":
        return f"{name} ({place})"
    try:
        source = " ".join(textwrap.dedent(inspect.getsource(code)).split())
    except OSError:
        source = name
    return f"{textwrap.shorten(source, 200)} ({place})"
