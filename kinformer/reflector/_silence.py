"""Silence: notice that a stream which should speak has stopped."""

from collections.abc import Callable
from types import TracebackType
from typing import Self

from kinformer.clock import Clock, Timer

__all__ = ["Silence"]


class Silence:
    """Call ``noticed()`` once nothing was heard for ``limit`` seconds; a context manager that cleans up after itself.

    Idle until ``listen`` is called. There is one timer, which looks back when it is due instead of being moved
    for each sound, so hearing costs one look at the clock.
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
        if self._timer is not None:
            self._timer.cancel()

    def hear(self) -> None:
        """Something was heard just now."""
        self._heard = self._clock.monotonic()

    def listen(self) -> None:
        """From now on silence matters; harmless when called again."""
        if self._timer is None:
            self.hear()
            self._timer = self._clock.call_at(self._heard + self._limit, self._look_back)

    def _look_back(self) -> None:
        due = self._heard + self._limit
        if self._clock.monotonic() >= due:
            self._noticed()
        else:
            self._timer = self._clock.call_at(due, self._look_back)
