import math
import sys
from random import Random

import pytest

from kinformer.testing import FakeClock
from kinformer.workqueue import ExponentialLimiter, FastSlow, MaxWait, SlowestOf, TokenBucket


def test_the_wait_doubles_for_each_key_by_itself_and_forget_starts_over() -> None:
    limiter = ExponentialLimiter(0.001, 1.0)
    assert [limiter.delay("a") for _ in range(5)] == [0.001, 0.002, 0.004, 0.008, 0.016]
    assert [limiter.delay("b") for _ in range(2)] == [0.001, 0.002]
    assert limiter.requeues("a") == 5
    limiter.forget("a")
    assert limiter.requeues("a") == 0
    assert limiter.delay("a") == 0.001
    assert limiter.requeues("b") == 2


def test_forgetting_an_unknown_key_is_harmless() -> None:
    limiter = ExponentialLimiter(0.001, 1.0)
    limiter.forget("never seen")
    assert limiter.requeues("never seen") == 0


@pytest.mark.parametrize(
    ("base", "cap"),
    [(0.001, 1000.0), (1e-308, 1e308), (5.0, 5.0), (3.0, 4.0), (1e-300, 1.7976931348623157e308)],
)
def test_a_thousand_failures_do_not_overflow_and_never_pass_the_cap(base: float, cap: float) -> None:
    limiter = ExponentialLimiter(base, cap)
    waits = [limiter.delay("x") for _ in range(3000)]
    assert waits == sorted(waits)
    assert waits[0] == base
    assert waits[-1] == cap


def test_jitter_stays_within_base_and_cap_and_each_wait_has_its_own_range() -> None:
    seen: list[list[float]] = [[] for _ in range(14)]
    for seed in range(300):
        limiter = ExponentialLimiter(0.1, 300.0, random=Random(seed))
        for waits in seen:
            waits.append(limiter.delay("x"))
    for number, waits in enumerate(seen):
        high = min(0.1 * 2 ** (number + 1), 300.0)
        low = high / 2
        assert low <= min(waits) < low * 1.05
        assert high * 0.95 < max(waits) <= high


def test_jitter_never_goes_below_base_where_the_cap_is_near() -> None:
    limiter = ExponentialLimiter(3.0, 4.0, random=Random(1))
    assert all(3.0 <= limiter.delay("x") <= 4.0 for _ in range(100))


@pytest.mark.parametrize(
    ("base", "cap"), [(0.0, 1.0), (-1.0, 1.0), (2.0, 1.0), (1.0, math.inf), (math.nan, 1.0), (1.0, math.nan)]
)
def test_senseless_waits_are_refused(base: float, cap: float) -> None:
    with pytest.raises(ValueError, match=f"0 < base <= cap, not base={base}, cap={cap}"):
        ExponentialLimiter(base, cap)


def test_fast_waits_come_first_and_then_slow_ones_for_each_key_by_itself() -> None:
    limiter = FastSlow(0.005, 10.0, 3)
    assert [limiter.delay("a") for _ in range(5)] == [0.005, 0.005, 0.005, 10.0, 10.0]
    assert limiter.requeues("a") == 5
    assert limiter.delay("b") == 0.005
    limiter.forget("a")
    assert limiter.requeues("a") == 0
    assert limiter.delay("a") == 0.005
    limiter.forget("never seen")


@pytest.mark.parametrize(
    ("fast", "slow", "attempts"), [(-1.0, 1.0, 1), (1.0, math.inf, 1), (math.nan, 1.0, 1), (1.0, 1.0, -1)]
)
def test_senseless_fast_and_slow_waits_are_refused(fast: float, slow: float, attempts: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        FastSlow(fast, slow, attempts)


def test_the_memory_of_failures_is_given_back_when_all_are_forgotten() -> None:
    for limiter in (ExponentialLimiter(1.0, 2.0), FastSlow(1.0, 2.0, 3)):
        for key in range(10_000):
            limiter.delay(key)
        for key in range(10_000):
            limiter.forget(key)
        assert sys.getsizeof(limiter._failures) == sys.getsizeof({})


async def test_the_bucket_gives_its_burst_at_once_and_then_one_wait_for_each_token() -> None:
    bucket = TokenBucket(10.0, 3, FakeClock())
    waits = [bucket.delay(key) for key in range(6)]
    assert waits == pytest.approx([0.0, 0.0, 0.0, 0.1, 0.2, 0.3])
    assert waits[:3] == [0.0, 0.0, 0.0]


async def test_the_bucket_fills_with_time_but_never_above_its_burst() -> None:
    clock = FakeClock()
    bucket = TokenBucket(1.0, 2, clock)
    assert [bucket.delay("x") for _ in range(3)] == [0.0, 0.0, 1.0]
    await clock.advance(3.0)
    assert [bucket.delay("x") for _ in range(3)] == [0.0, 0.0, 1.0]
    await clock.advance(1000.0)
    assert [bucket.delay("x") for _ in range(3)] == [0.0, 0.0, 1.0]


async def test_the_bucket_does_not_drift() -> None:
    clock = FakeClock()
    bucket = TokenBucket(0.5, 1, clock)
    for _ in range(10_000):
        assert bucket.delay("x") < 1e-9
        await clock.advance(2.0)


async def test_forget_gives_no_token_back() -> None:
    bucket = TokenBucket(1.0, 1, FakeClock())
    bucket.delay("x")
    bucket.forget("x")
    assert bucket.delay("x") == 1.0
    assert bucket.requeues("x") == 0


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_a_bucket_needs_a_rate(rate: float) -> None:
    with pytest.raises(ValueError, match=f"above 0, not {rate}"):
        TokenBucket(rate, 1, FakeClock())


def test_a_bucket_needs_room_for_a_token() -> None:
    with pytest.raises(ValueError, match="burst must be at least 1, not 0"):
        TokenBucket(1.0, 0, FakeClock())


async def test_the_slowest_limiter_wins_and_every_one_is_asked() -> None:
    bucket = TokenBucket(1.0, 2, FakeClock())
    limiter = SlowestOf[str](ExponentialLimiter(0.25, 8.0), bucket)
    assert [limiter.delay("x") for _ in range(4)] == [0.25, 0.5, 1.0, 2.0]
    assert limiter.requeues("x") == 4
    assert bucket.delay("y") == 3.0
    limiter.forget("x")
    assert limiter.requeues("x") == 0


def test_the_slowest_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one limiter"):
        SlowestOf[str]()


def test_max_wait_cuts_the_wait_and_passes_on_the_rest() -> None:
    limiter = MaxWait[str](ExponentialLimiter(1.0, 1000.0), 5.0)
    assert [limiter.delay("x") for _ in range(5)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert limiter.requeues("x") == 5
    limiter.forget("x")
    assert limiter.delay("x") == 1.0


@pytest.mark.parametrize("cap", [-1.0, math.nan])
def test_max_wait_needs_a_cap(cap: float) -> None:
    with pytest.raises(ValueError, match="cap must be 0 or more"):
        MaxWait[str](ExponentialLimiter(1.0, 2.0), cap)
