"""Limiters: how long a failed key waits before its next try."""

import math
from collections.abc import Hashable
from random import Random
from typing import Generic, Protocol, TypeVar

from kinformer.clock import Clock

__all__ = ["ExponentialLimiter", "FastSlow", "Limiter", "MaxWait", "SlowestOf", "TokenBucket"]

K = TypeVar("K", bound=Hashable)
K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)


class Limiter(Protocol[K_contra]):
    """Decides how long each failed key waits. It waits for nothing itself, so it is plain state and calls."""

    def delay(self, key: K_contra, /) -> float:
        """Count one more failure of ``key`` and give the seconds to wait before the next try, 0 or more.

        Infinity means never by itself: the queue parks the key.
        """

    def forget(self, key: K_contra, /) -> None:
        """Start over with ``key``: it succeeded, or nobody cares any more. Harmless for an unknown key."""

    def requeues(self, key: K_contra, /) -> int:
        """How often ``key`` has failed since it was last forgotten; 0 for a limiter that does not count."""


class ExponentialLimiter:
    """Doubles the wait with each failure of a key: ``base``, 2 ``base``, 4 ``base`` and so on up to ``cap``.

    With ``random`` each wait is drawn evenly between its own step and the next, and at the end between half the
    cap and the cap: it stays within ``base`` and ``cap``, and keys that failed together do not come back together.

    A key is remembered until ``forget``, which a ``WorkQueue`` calls for keys that are gone. The rule without ``random`` is client-go's
    ``TypedItemExponentialFailureRateLimiter``.

    Args:
        base: Seconds to wait after the first failure.
        cap: Seconds that no wait exceeds, however many failures there were.
        random: Where jitter comes from; ``None`` for none.

    Raises:
        ValueError: Not ``0 < base <= cap < inf``.
    """

    __slots__ = ("_base", "_cap", "_failures", "_random", "_steps")

    def __init__(self, base: float, cap: float, *, random: Random | None = None) -> None:
        if not 0 < base <= cap < math.inf:
            raise ValueError(f"the waits must be finite and 0 < base <= cap, not base={base}, cap={cap}")
        self._base = base
        self._cap = cap
        self._random = random
        self._failures: dict[Hashable, int] = {}
        # From this many doublings on, the cap holds; asking first, since 2.0 ** 1100 raises in Python.
        self._steps = math.ceil(math.log2(cap) - math.log2(base))

    def delay(self, key: Hashable, /) -> float:
        """Count one more failure of ``key`` and give its wait in seconds."""
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        if self._random is None:
            return self._step(failures)
        high = self._step(failures + 1)
        return self._random.uniform(max(self._base, high / 2), high)

    def forget(self, key: Hashable, /) -> None:
        """Let the next failure of ``key`` be its first."""
        self._failures.pop(key, None)
        if not self._failures:
            self._failures.clear()  # gives the table back, which a dict that shrinks to nothing keeps

    def requeues(self, key: Hashable, /) -> int:
        """How often ``key`` has failed since it was last forgotten."""
        return self._failures.get(key, 0)

    def _step(self, number: int) -> float:
        return min(math.ldexp(self._base, number), self._cap) if number < self._steps else self._cap


class FastSlow:
    """Lets a key try again soon a few times, and then slowly: client-go's ``TypedItemFastSlowRateLimiter``.

    A key is remembered until ``forget``, which a ``WorkQueue`` calls for keys that are gone.

    Args:
        fast: Seconds to wait after each of the first failures.
        slow: Seconds to wait after each further one.
        attempts: How many failures are the first ones.

    Raises:
        ValueError: A wait is negative or not finite, or ``attempts`` is negative.
    """

    __slots__ = ("_attempts", "_failures", "_fast", "_slow")

    def __init__(self, fast: float, slow: float, attempts: int) -> None:
        if not (0 <= fast < math.inf and 0 <= slow < math.inf):
            raise ValueError(f"the waits must be finite and 0 or more seconds, not fast={fast}, slow={slow}")
        if attempts < 0:
            raise ValueError(f"attempts must be 0 or more, not {attempts}")
        self._fast = fast
        self._slow = slow
        self._attempts = attempts
        self._failures: dict[Hashable, int] = {}

    def delay(self, key: Hashable, /) -> float:
        """Count one more failure of ``key`` and give its wait in seconds."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        return self._fast if failures <= self._attempts else self._slow

    def forget(self, key: Hashable, /) -> None:
        """Let the next failure of ``key`` be its first."""
        self._failures.pop(key, None)
        if not self._failures:
            self._failures.clear()  # gives the table back

    def requeues(self, key: Hashable, /) -> int:
        """How often ``key`` has failed since it was last forgotten."""
        return self._failures.get(key, 0)


class TokenBucket:
    """Lets ``rate`` keys a second through, and ``burst`` at once after a quiet time; all keys share the bucket.

    Each call takes a token, in advance if there is none, and gives the wait for it: a hundred calls at one moment
    give a hundred different waits. The rule is client-go's ``TypedBucketRateLimiter``.

    Args:
        rate: Tokens that come back each second.
        burst: Tokens that the full bucket holds; it starts full.
        clock: The time by which the bucket fills.

    Raises:
        ValueError: Not ``0 < rate < inf``, or ``burst`` is below 1.
    """

    __slots__ = ("_burst", "_clock", "_rate", "_tokens", "_updated")

    def __init__(self, rate: float, burst: int, clock: Clock) -> None:
        if not 0 < rate < math.inf:
            raise ValueError(f"rate must be a finite number of tokens a second above 0, not {rate}")
        if burst < 1:
            raise ValueError(f"burst must be at least 1, not {burst}: an empty bucket lets nothing through")
        self._rate = rate
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)  # below zero: this many are promised
        self._updated = clock.monotonic()

    def delay(self, key: Hashable, /) -> float:  # noqa: ARG002 -- all keys share the bucket
        """Take one token and give the seconds until it is there."""
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._updated) * self._rate) - 1
        self._updated = now
        return max(0.0, -self._tokens / self._rate)

    def forget(self, key: Hashable, /) -> None:
        """Do nothing: a token that was taken does not come back."""

    def requeues(self, key: Hashable, /) -> int:  # noqa: ARG002 -- nothing is counted
        """Give 0: the bucket does not tell keys apart."""
        return 0


class SlowestOf(Generic[K]):
    """Asks every limiter, each of which counts, and takes the longest wait: client-go's ``MaxOfRateLimiter``.

    Raises:
        ValueError: There is no limiter to ask.
    """

    __slots__ = ("_limiters",)

    def __init__(self, *limiters: Limiter[K]) -> None:
        if not limiters:
            raise ValueError("SlowestOf() needs at least one limiter to ask")
        self._limiters = limiters

    def delay(self, key: K, /) -> float:
        """Count one more failure of ``key`` in every limiter and give the longest of their waits."""
        return max([limiter.delay(key) for limiter in self._limiters])

    def forget(self, key: K, /) -> None:
        """Start over with ``key`` in every limiter."""
        for limiter in self._limiters:
            limiter.forget(key)

    def requeues(self, key: K, /) -> int:
        """Give the largest count that any limiter has."""
        return max([limiter.requeues(key) for limiter in self._limiters])


class MaxWait(Generic[K]):
    """Passes on what another limiter says, but at most ``cap`` seconds: client-go's ``WithMaxWaitRateLimiter``.

    Raises:
        ValueError: ``cap`` is negative or not a number.
    """

    __slots__ = ("_cap", "_limiter")

    def __init__(self, limiter: Limiter[K], cap: float) -> None:
        if not cap >= 0:
            raise ValueError(f"cap must be 0 or more seconds, not {cap}")
        self._limiter = limiter
        self._cap = cap

    def delay(self, key: K, /) -> float:
        """Count one more failure of ``key`` and give its wait, at most ``cap``."""
        return min(self._limiter.delay(key), self._cap)

    def forget(self, key: K, /) -> None:
        """Start over with ``key``."""
        self._limiter.forget(key)

    def requeues(self, key: K, /) -> int:
        """How often ``key`` has failed since it was last forgotten."""
        return self._limiter.requeues(key)
