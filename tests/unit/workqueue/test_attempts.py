import math

import pytest

from kinformer.testing import FakeClock
from kinformer.workqueue import ExponentialLimiter, FastSlow, MaxAttempts, MaxWait, SlowestOf, TimedRetries


def test_the_last_attempt_parks() -> None:
    limiter = MaxAttempts[str](ExponentialLimiter(1.0, 8.0), 3)
    assert [limiter.delay("a") for _ in range(4)] == [1.0, 2.0, math.inf, math.inf]
    assert limiter.requeues("a") == 4
    limiter.forget("a")
    assert limiter.delay("a") == 1.0
    assert limiter.requeues("b") == 0


def test_one_attempt_means_no_retry() -> None:
    assert MaxAttempts[str](FastSlow(1.0, 1.0, 1), 1).delay("a") == math.inf


def test_there_is_at_least_one_attempt() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        MaxAttempts[str](FastSlow(1.0, 1.0, 1), 0)


def test_it_composes() -> None:
    parks = SlowestOf[str](MaxAttempts(FastSlow(1.0, 1.0, 1), 2), ExponentialLimiter(4.0, 8.0))
    assert [parks.delay("a") for _ in range(2)] == [4.0, math.inf]
    never = MaxWait[str](MaxAttempts(FastSlow(1.0, 1.0, 1), 1), 60.0)
    assert never.delay("a") == 60.0


async def test_failures_count_only_when_the_wait_before_is_over() -> None:
    clock = FakeClock()
    limiter = TimedRetries[str](ExponentialLimiter(4.0, 100.0), clock)
    assert limiter.delay("a") == 4.0
    await clock.advance(1.0)
    assert [limiter.delay("a"), limiter.delay("a")] == [3.0, 3.0]
    assert limiter.requeues("a") == 1
    await clock.advance(3.0)
    assert limiter.delay("a") == 8.0
    assert limiter.delay("b") == 4.0
    assert limiter.requeues("a") == 2


async def test_forget_ends_the_wait() -> None:
    limiter = TimedRetries[str](ExponentialLimiter(4.0, 100.0), FakeClock())
    limiter.delay("a")
    limiter.forget("a")
    assert limiter.requeues("a") == 0
    assert limiter.delay("a") == 4.0
    limiter.forget("a")
    assert not limiter._due


async def test_what_is_left_by_rounding_is_no_wait() -> None:
    clock = FakeClock()
    limiter = TimedRetries[str](ExponentialLimiter(0.1, 100.0), clock)
    await clock.advance(0.3)
    limiter.delay("a")
    await clock.advance(0.1 - 1e-12)
    assert limiter.delay("a") == 0.2
