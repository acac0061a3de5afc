"""Readiness: whether a watch cache follows its storage, and what to tell those who come meanwhile."""

import math
from dataclasses import dataclass
from typing import Final

import anyio

from kinformer.clock import Clock

__all__ = ["NotReadyError", "Readiness", "StoppedError"]

_GROWTH: Final = 0.06
_SHORTEST, _LONGEST = 1, 30


class NotReadyError(Exception):
    """The cache is reading everything anew, or is too far behind; the storage is to be spared.

    Attributes:
        retry_after: Whole seconds after which to come again: the more, the longer it has not been ready.
    """

    def __init__(self, text: str, retry_after: int) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class StoppedError(Exception):
    """The cache was closed, as that of a custom resource whose definition is gone."""


@dataclass(frozen=True, slots=True)
class _Pending:
    since: float
    cause: str = ""


@dataclass(frozen=True, slots=True)
class _Ready:
    pass


@dataclass(frozen=True, slots=True)
class _Stopped:
    pass


class Readiness:
    """Pending, ready as often as it may be, and in the end stopped for good.

    Args:
        clock: What the time without readiness is measured on.

    Attributes:
        generation: How often it has become ready: what was registered in one generation is not part of the next.
    """

    def __init__(self, clock: Clock) -> None:
        self.generation = 0
        self._clock = clock
        self._state: _Pending | _Ready | _Stopped = _Pending(clock.monotonic())
        self._changed = anyio.Event()

    @property
    def is_ready(self) -> bool:
        """Whether it is ready now."""
        return isinstance(self._state, _Ready)

    @property
    def is_stopped(self) -> bool:
        """Whether it will never be ready again."""
        return isinstance(self._state, _Stopped)

    def set(self) -> None:
        """Be ready; harmless when it is, and without effect once it was stopped."""
        if isinstance(self._state, _Pending):
            self.generation += 1
            self._change(_Ready())

    def fail(self, cause: str) -> None:
        """Be ready no more; repeated, it changes the cause and not the time of the beginning."""
        if isinstance(self._state, _Ready):
            self._change(_Pending(self._clock.monotonic(), cause))
        elif isinstance(self._state, _Pending):
            self._state = _Pending(self._state.since, cause)

    def stop(self) -> None:
        """Never be ready again."""
        self._change(_Stopped())

    def check(self) -> None:
        """Pass when it is ready.

        Raises:
            NotReadyError: It is pending.
            StoppedError: It was stopped.
        """
        match self._state:
            case _Pending(since, cause):
                text = f"storage is (re)initializing{': ' if cause else ''}{cause}"
                raise NotReadyError(text, _retry_after(self._clock.monotonic() - since))
            case _Ready():
                pass
            case _Stopped():
                raise StoppedError("this cache was closed")

    async def wait(self) -> None:
        """Wait until it is ready.

        Raises:
            StoppedError: It was stopped.
        """
        while isinstance(self._state, _Pending):
            await self._changed.wait()
        if self.is_stopped:
            self.check()

    def _change(self, state: _Pending | _Ready | _Stopped) -> None:
        self._state = state
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


def _retry_after(downtime: float) -> int:
    """The curve of ``calculateRetryAfterForUnreadyCache``: a second at first, half a minute from a minute on."""
    if downtime > _LONGEST / _GROWTH:
        return _LONGEST
    return int(min(max(math.exp(_GROWTH * downtime), _SHORTEST), _LONGEST))
