"""Pace: how soon a wait that was interrupted may ask the server again. Arithmetic."""

from typing import Final

__all__ = ["Pace"]

_FIRST: Final = 1.0
"""Seconds between two beginnings (``RetryWatcher`` has the same, and no growth)."""

_LONGEST: Final = 30.0


class Pace:
    """Keeps the beginnings of rounds apart: 1 s, then 2 s, and so on up to 30 s, however they ended.

    A round is a watch, or a list and a watch, so that a server which fails in whatever way is asked at most twelve times
    in the first minute. One that told of something, or lasted 30 s, was a good one: after it the second counts again.
    """

    __slots__ = ("_interval",)

    def __init__(self) -> None:
        self._interval = _FIRST

    def pause(self, lasted: float, *, told: bool, retry_after: float = 0.0) -> float:
        """Seconds to wait after a round of ``lasted`` seconds; at least what the server asks for."""
        if told or lasted >= _LONGEST:
            self._interval = _FIRST
        interval = self._interval
        self._interval = min(interval * 2, _LONGEST)
        return max(interval - lasted, retry_after, 0.0)
