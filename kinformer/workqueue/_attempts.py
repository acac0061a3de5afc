"""Limiters that look at when a key fails, and how often: ``TimedRetries`` and ``MaxAttempts``."""

import math
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

from kinformer.clock import Clock
from kinformer.workqueue._limits import Limiter

__all__ = ["MaxAttempts", "TimedRetries"]

K = TypeVar("K", bound=Hashable)

_MOMENT: Final = 1e-6
"""Less than this is no wait but a rounding error: moments are sums of floats."""


class MaxAttempts(Generic[K]):
    """Passes on what another limiter says, until a key has failed ``attempts`` times in a row; then parks it.

    To park is to say that the wait is infinite. A ``WorkQueue`` then keeps the key aside, visibly, until it is added
    again, and forgets its failures, so that it has all its attempts then.

    Args:
        limiter: What decides the waits, and counts.
        attempts: The failure that parks; 1 means that a key is never tried again by itself.

    Raises:
        ValueError: ``attempts`` is below 1.
    """

    __slots__ = ("_attempts", "_limiter")

    def __init__(self, limiter: Limiter[K], attempts: int) -> None:
        if attempts < 1:
            raise ValueError(f"attempts must be at least 1, not {attempts}: the first run is an attempt too")
        self._limiter = limiter
        self._attempts = attempts

    def delay(self, key: K, /) -> float:
        """Count one more failure of ``key`` and give its wait; infinity where it was the last attempt."""
        delay = self._limiter.delay(key)
        return delay if self._limiter.requeues(key) < self._attempts else math.inf

    def forget(self, key: K, /) -> None:
        """Start over with ``key``."""
        self._limiter.forget(key)

    def requeues(self, key: K, /) -> int:
        """How often ``key`` has failed since it was last forgotten."""
        return self._limiter.requeues(key)


class TimedRetries(Generic[K]):
    """Counts a failure only when the wait for the last one is over; before that it gives what is left of that wait.

    An event makes a key ready at once, in the middle of its wait. Where that run fails too it says nothing new: the
    retry that was planned still comes, at its moment. So an object that changes all the time is not driven to the
    longest wait by its own events, as it is in client-go and controller-runtime (kubernetes/kubernetes#132805).

    Args:
        limiter: What is asked for a wait when the last one is over.
        clock: The time; that of the queue.
    """

    __slots__ = ("_clock", "_due", "_limiter")

    def __init__(self, limiter: Limiter[K], clock: Clock) -> None:
        self._limiter = limiter
        self._clock = clock
        self._due: dict[K, float] = {}

    def delay(self, key: K, /) -> float:
        """Give what is left of the present wait of ``key``; where nothing is, count a failure and begin the next."""
        now = self._clock.monotonic()
        left = self._due.get(key, now) - now
        if left > _MOMENT:
            return left
        delay = self._limiter.delay(key)
        self._due[key] = now + delay
        return delay

    def forget(self, key: K, /) -> None:
        """Start over with ``key``: its next failure counts."""
        self._due.pop(key, None)
        if not self._due:
            self._due.clear()  # gives the table back
        self._limiter.forget(key)

    def requeues(self, key: K, /) -> int:
        """How often ``key`` has failed, as counted, since it was last forgotten."""
        return self._limiter.requeues(key)
