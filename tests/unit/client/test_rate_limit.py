import math
from typing import Any

import pytest

from kinformer.client import Client, RateLimit
from kinformer.client._rate_limit import Bucket


@pytest.mark.parametrize("rate", [0.0, -1.0, math.inf, math.nan])
def test_a_rate_must_be_one(rate: float) -> None:
    with pytest.raises(ValueError, match="rate must be a finite number of requests a second above 0"):
        RateLimit(rate, 1)


def test_a_bucket_must_hold_something() -> None:
    with pytest.raises(ValueError, match="burst must be at least 1, not 0"):
        RateLimit(1.0, 0)


def test_a_number_is_no_rate_limit() -> None:
    number: Any = 5
    with pytest.raises(TypeError, match=r"rate_limit=5 must be a RateLimit\(rate, burst\)"):
        Client("http://server", rate_limit=number)


def test_a_full_bucket_gives_its_burst_and_then_no_more() -> None:
    bucket = Bucket(RateLimit(1.0, 3))
    assert [bucket.take(100.0) for _ in range(4)] == [True, True, True, False]
    assert bucket.wait(100.0) == 1.0


def test_tokens_come_back_at_the_rate_and_never_more_than_the_burst() -> None:
    bucket = Bucket(RateLimit(2.0, 3))
    while bucket.take(0.0):
        pass
    assert [bucket.take(0.5), bucket.take(0.5)] == [True, False]
    assert [bucket.take(1000.0) for _ in range(4)] == [True, True, True, False]


def test_looking_takes_nothing() -> None:
    bucket = Bucket(RateLimit(1.0, 1))
    assert [bucket.wait(0.0) for _ in range(5)] == [0.0] * 5
    assert bucket.take(0.0)


def test_a_period_that_no_float_hits_is_not_waited_for_twice() -> None:
    period = 1.031425
    bucket, now = Bucket(RateLimit(1 / period, 1)), 1_000_000.0
    for _ in range(100_000):
        assert bucket.take(now)
        now += period


def test_a_burst_of_one_lets_one_through_at_a_time() -> None:
    bucket = Bucket(RateLimit(10.0, 1))
    moments = [step / 20 for step in range(11) if bucket.take(step / 20)]
    assert moments == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5]
