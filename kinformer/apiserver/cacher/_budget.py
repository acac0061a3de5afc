"""TimeBudget: how long those who do not read may be waited for."""

from typing import Final

__all__ = ["MOST_BUDGET", "TimeBudget"]

_RATE: Final = 0.05
"""Seconds that are earned in each second."""

MOST_BUDGET: Final = 0.1
"""The most seconds that are kept."""


class TimeBudget:
    """Seconds to wait, earned while time goes by: ``timeBudget`` of ``k8s.io/apiserver/pkg/storage/cacher``.

    It is empty at the beginning, so a watcher that fills its queue right after the start is not waited for.

    Args:
        now: The beginning, in seconds on a clock's ``monotonic``.
        rate: Seconds earned in a second.
        most: The most that is kept. With 0 nobody is ever waited for.
    """

    def __init__(self, now: float, *, rate: float = _RATE, most: float = MOST_BUDGET) -> None:
        if rate < 0 or most < 0:
            raise ValueError(f"rate {rate} and most {most} must not be negative")
        self._rate = rate
        self._most = most
        self._seconds = 0.0
        self._counted_at = now

    def take(self, now: float) -> float:
        """Take all there is, in seconds."""
        self._earn(now)
        taken, self._seconds = self._seconds, 0.0
        return taken

    def give_back(self, unused: float, now: float) -> None:
        """Keep what was not needed; a negative rest counts as none."""
        self._earn(now)
        self._seconds = min(self._most, self._seconds + max(0.0, unused))

    def _earn(self, now: float) -> None:
        self._seconds = min(self._most, self._seconds + self._rate * max(0.0, now - self._counted_at))
        self._counted_at = now
