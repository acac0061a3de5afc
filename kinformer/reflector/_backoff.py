"""How long to wait after a failure, and how often a server may be asked at all. Pure: the time is a parameter."""

from random import Random
from typing import Final

__all__ = ["Backoff", "Openings"]


class Backoff:
    """One growing delay, shared by failures of every kind.

    The bases are 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, ... seconds; each wait is drawn from ``[base, 2 * base)``
    (client-go's ``NewReflector``). It starts over only after two minutes in good health, where client-go starts over
    two minutes after it last did so and hammers a server that is down.
    """

    INITIAL: Final = 0.8
    FACTOR: Final = 2.0
    CAP: Final = 30.0
    """The largest base, before jitter."""
    HEALTHY: Final = 120.0
    """Seconds of health that are forgiveness for all failures before."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._base = self.INITIAL
        self._healthy_since: float | None = None

    def succeed(self, now: float) -> None:
        """Note that all is well as of ``now``; it stays so until the next failure."""
        if self._healthy_since is None:
            self._healthy_since = now

    def fail(self, now: float, *, at_least: float = 0.0) -> float:
        """Note a failure, and draw the seconds to wait after it.

        Args:
            now: The moment, in monotonic seconds.
            at_least: What the server asked for (``Retry-After``); never waits less.
        """
        if self._healthy_since is not None and now - self._healthy_since >= self.HEALTHY:
            self._base = self.INITIAL
        self._healthy_since = None
        delay = self._base * (1.0 + self._random.random())
        self._base = min(self._base * self.FACTOR, self.CAP)
        return max(delay, at_least)


class Openings:
    """A bucket for the openings of LISTs and WATCHes: six at once, then one every ten seconds.

    Whatever goes wrong, and however fast, there are never more than twelve openings in sixty seconds. Pages after
    the first are free, since they finish what was begun.

    Invariant: ``_full_at`` is the moment at which the bucket is full again if nobody takes anything; each opening
    moves it on by one interval.
    """

    BURST: Final = 6
    INTERVAL: Final = 10.0

    def __init__(self) -> None:
        self._full_at = 0.0

    def fills_in(self, now: float) -> float:
        """Seconds until the bucket is full, if nobody takes anything."""
        return max(0.0, self._full_at - now)

    def take(self, now: float) -> float:
        """Take one opening, and return the seconds after which it may be used.

        Openings become usable in the order in which they were taken.
        """
        full_at = max(self._full_at, now)
        self._full_at = full_at + self.INTERVAL
        return max(0.0, full_at - (self.BURST - 1) * self.INTERVAL - now)

    def give_back(self) -> None:
        """Undo a ``take`` whose opening was not used, as its time had not come."""
        self._full_at -= self.INTERVAL
