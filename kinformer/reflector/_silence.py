"""Silence: notice that a stream which should speak has stopped."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from kinformer.clock import Clock, Timer

__all__ = ["Silence"]


class Silence:
    """Call ``noticed()`` when nothing was heard for ``limit`` seconds, and after each further ``limit``.

    A context manager that cleans up after itself, idle until ``listen`` is called. There is one timer, which looks
    back when it is due instead of being moved for each sound, so hearing costs one look at the clock.
    """

    def __init__(self, clock: Clock, limit: float, noticed: Callable[[], None]) -> None:
        self._clock = clock
        self._limit = limit
        self._noticed = noticed
        self._heard = 0.0
        self._timer: Timer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.ignore()

    @property
    def duration(self) -> float:
        """How long nothing was heard, in seconds; counted from ``listen`` where nothing was heard at all."""
        return self._clock.monotonic() - self._heard

    def hear(self) -> None:
        """Something was heard just now."""
        self._heard = self._clock.monotonic()

    def listen(self) -> None:
        """From now on silence matters; harmless when called again."""
        if self._timer is None:
            self.hear()
            self._timer = self._clock.call_at(self._heard + self._limit, self._look_back)

    def ignore(self) -> None:
        """From now on silence does not matter any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look_back(self) -> None:
        now, due = self._clock.monotonic(), self._heard + self._limit
        is_silent = now >= due
        self._timer = self._clock.call_at(now + self._limit if is_silent else due, self._look_back)
        if is_silent:
            self._noticed()
