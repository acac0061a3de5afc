"""RateLimit: how many requests a client may make, as a bucket of tokens. Arithmetic; who waits is ``_turns``."""

import math
from dataclasses import dataclass
from typing import Final

__all__ = ["Bucket", "RateLimit"]

_TINY: Final = 1e-9
"""Seconds that do not count: sums of floats miss the moment by less (client-go once waited twice for that)."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """A bound on the requests of one client: ``rate`` a second, and ``burst`` at once after a quiet time.

    client-go has 5 and 10 as its default (``rest.Config.QPS`` and ``Burst``); here there is no bound unless one is given,
    since servers bound their clients themselves (API Priority and Fairness).

    Raises:
        ValueError: Not ``0 < rate < inf``, or ``burst`` is below 1.
    """

    rate: float
    burst: int

    def __post_init__(self) -> None:
        if not 0 < self.rate < math.inf:
            raise ValueError(f"rate must be a finite number of requests a second above 0, not {self.rate}")
        if self.burst < 1:
            raise ValueError(f"burst must be at least 1, not {self.burst}: no request would ever be made")


class Bucket:
    """A bucket that is full at first, and from which one token is taken at a time, never in advance.

    It holds one number: the moment from which on there is a token again. Each token moves it on by the time that one
    takes to come back; it never lies further in the past than a full bucket reaches.
    """

    __slots__ = ("_interval", "_next", "_reach")

    def __init__(self, limit: RateLimit) -> None:
        self._interval: Final = 1.0 / limit.rate
        self._reach: Final = (limit.burst - 1) * self._interval
        self._next = -math.inf

    def wait(self, now: float) -> float:
        """Seconds until there is a token, if nobody takes one meanwhile; 0 where there is one."""
        wait = self._next - now
        return wait if wait > _TINY else 0.0

    def take(self, now: float) -> bool:
        """Take a token if there is one, and say whether there was."""
        if self.wait(now):
            return False
        self._next = max(self._next, now - self._reach) + self._interval
        return True
