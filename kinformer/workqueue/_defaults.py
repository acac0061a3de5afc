"""The two stock retry policies: client-go's and our controllers'."""

from collections.abc import Hashable
from random import Random
from typing import Final

from kinformer.clock import Clock
from kinformer.system_clock import SystemClock
from kinformer.workqueue._attempts import MaxAttempts, TimedRetries
from kinformer.workqueue._limits import ExponentialLimiter, Limiter, SlowestOf, TokenBucket

__all__ = ["ATTEMPTS", "client_go_default", "controller_default"]

ATTEMPTS: Final = 50
"""How often a controller tries a key before it parks it: some two and a half hours of nothing but failures."""


def client_go_default(clock: Clock | None = None) -> Limiter[Hashable]:
    """Give client-go's ``DefaultTypedControllerRateLimiter``, the policy of a ``WorkQueue`` that is given none.

    A key waits 5 ms after its first failure and twice as long after each further one, up to 1000 s; all keys
    together come back at most 10 times a second after a burst of 100. ``clock`` is what the bucket fills by.
    """
    clock = SystemClock() if clock is None else clock
    return SlowestOf(ExponentialLimiter(0.005, 1000.0), TokenBucket(10.0, 100, clock))


def controller_default(
    random: Random | None = None, *, clock: Clock | None = None, attempts: int = ATTEMPTS
) -> Limiter[Hashable]:
    """Give the policy of a ``Controller`` that is given none: doubling waits from 0.1 s to 5 min, with jitter.

    After ``attempts`` failures in a row the key is parked, until something happens to it. A run that an event has
    brought about in the middle of a wait does not count. No bucket is shared, so a key's wait does not depend on what
    else fails.

    Args:
        random: Where jitter comes from.
        clock: The time; that of the queue.
        attempts: How many failures in a row park a key.

    Raises:
        ValueError: ``attempts`` is below 1.
    """
    random = Random() if random is None else random  # noqa: S311 -- jitter is no secret
    clock = SystemClock() if clock is None else clock
    return TimedRetries(MaxAttempts(ExponentialLimiter(0.1, 300.0, random=random), attempts), clock)
