"""Resync periods: which handler is shown everything again, and when. Pure.

The arithmetic is client-go's (``determineResyncPeriod``, ``shouldResync``): one timer ticks at the check period, and
at each tick those are due whose own period has passed.
"""

import logging
import math
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

__all__ = ["ResyncPlan"]

K = TypeVar("K", bound=Hashable)

_log: Final = logging.getLogger("kinformer.informer")

_MINIMUM: Final = 1.0
"""Seconds; a shorter period is raised to it (``minimumResyncPeriod``)."""


class ResyncPlan(Generic[K]):
    """The periods of an informer's handlers.

    Until it is started, a handler with a short period shortens the check period; afterwards the handler's is raised.

    Args:
        period: The informer's own period in seconds, and the default of its handlers; 0 switches resync off.

    Raises:
        ValueError: A period is negative, infinite or not a number.
    """

    def __init__(self, period: float) -> None:
        self._default: Final = self._at_least_minimum(period)
        self._check = self._default
        self._is_started = False
        self._wanted: dict[K, float] = {}
        self._due_at: dict[K, float] = {}

    @property
    def check(self) -> float:
        """How often ``due`` is to be asked, in seconds; 0 means never."""
        return self._check

    def add(self, name: K, period: float | None, now: float) -> None:
        """Add a handler; ``None`` is the informer's period, 0 is never.

        Raises:
            ValueError: The period is negative, infinite or not a number.
        """
        wanted = self._default if period is None else self._at_least_minimum(period)
        if wanted and not self._check:
            _log.warning(
                "the resync period of %s s is ignored: the informer has no resync of its own", wanted
            )
        elif 0 < wanted < self._check:
            if self._is_started:
                _log.warning(
                    "the resync period of %s s is raised to the informer's %s s", wanted, self._check
                )
            else:
                self._check = wanted
        self._wanted[name] = wanted
        self._due_at[name] = now + self._period(name)

    def remove(self, name: K) -> None:
        """Forget a handler; an unknown one is no matter."""
        self._wanted.pop(name, None)
        self._due_at.pop(name, None)

    def start(self, now: float) -> None:
        """Fix the check period, and let every handler's period begin now."""
        self._is_started = True
        self._due_at = {name: now + self._period(name) for name in self._wanted}

    def due(self, now: float) -> frozenset[K]:
        """Those whose period has passed; each one's next period begins now."""
        due = frozenset(name for name, at in self._due_at.items() if self._period(name) and now >= at)
        for name in due:
            self._due_at[name] = now + self._period(name)
        return due

    def _period(self, name: K) -> float:
        wanted = self._wanted[name]
        return max(wanted, self._check) if wanted and self._check else 0.0

    @staticmethod
    def _at_least_minimum(period: float) -> float:
        if not 0 <= period < math.inf:
            raise ValueError(f"resync={period} must be a number of seconds, or 0 for none")
        if 0 < period < _MINIMUM:
            _log.warning("the resync period of %s s is raised to %s s", period, _MINIMUM)
            return _MINIMUM
        return period
