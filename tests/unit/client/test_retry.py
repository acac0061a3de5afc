from random import Random

import pytest

from kinformer.client._retry import ATTEMPTS, delay_before, is_worth_retrying
from kinformer.errors import (
    ConflictError,
    DecodeError,
    FutureVersionError,
    NotFoundError,
    RequestError,
    ServerError,
    ThrottledError,
    TransportError,
)


@pytest.mark.parametrize(
    ("error", "get", "others"),
    [
        (ThrottledError(429, retry_after=1.0), True, True),
        (ThrottledError(429, retry_after=0.0), True, True),
        (ThrottledError(429, retry_after=30.0), True, True),
        (ThrottledError(429, retry_after=31.0), False, False),
        (ThrottledError(429), False, False),
        (ServerError(503, retry_after=1.0), True, True),
        (ServerError(500, retry_after=1.0), True, True),
        (FutureVersionError(504, retry_after=1.0), True, True),
        (ServerError(503), False, False),
        (ServerError(500), False, False),
        (TransportError("", refused=True), True, True),
        (TransportError(""), True, False),
        (ConflictError(409), False, False),
        (NotFoundError(404, retry_after=1.0), False, False),
        (DecodeError(""), False, False),
    ],
)
def test_the_table(error: RequestError, get: bool, others: bool) -> None:
    assert is_worth_retrying("GET", error) is get
    assert [is_worth_retrying(verb, error) for verb in ("POST", "PUT", "PATCH", "DELETE")] == [others] * 4


def test_nothing_else_is_retried() -> None:
    assert not is_worth_retrying("GET", KeyboardInterrupt())
    assert not is_worth_retrying("GET", ValueError())


def test_what_the_server_says_is_waited_for_and_a_little_more() -> None:
    error = ThrottledError(429, retry_after=10.0)
    delays = [delay_before(2, error, Random(seed)) for seed in range(50)]
    assert 10.0 <= min(delays) < max(delays) <= 11.0


def test_delays_double_up_to_a_bound() -> None:
    error = TransportError("")
    longest = [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]
    for attempt, bound in enumerate(longest, start=2):
        delays = [delay_before(attempt, error, Random(seed)) for seed in range(50)]
        assert bound / 2 <= min(delays) < max(delays) <= bound


def test_an_outage_is_given_up_on_within_seconds() -> None:
    assert sum(delay_before(attempt, TransportError(""), Random(1)) for attempt in range(2, ATTEMPTS + 1)) < 4
