import re
from pathlib import Path
from random import Random

import pytest

from kinformer.client._retry import PATIENCE, RULES, Rule, delay_before, is_worth_retrying, rule_for
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

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "client.md"
SAYS_WHEN, LASTS, NOT_MADE, LOST, NONE = RULES


@pytest.mark.parametrize(
    ("error", "get", "others"),
    [
        (ThrottledError(429, retry_after=1.0), SAYS_WHEN, SAYS_WHEN),
        (ThrottledError(429, retry_after=0.0), SAYS_WHEN, SAYS_WHEN),
        (ThrottledError(429), NONE, NONE),
        (ServerError(503, retry_after=1.0), SAYS_WHEN, SAYS_WHEN),
        (ServerError(500, retry_after=1.0), SAYS_WHEN, SAYS_WHEN),
        (FutureVersionError(504, retry_after=1.0), SAYS_WHEN, SAYS_WHEN),
        (ServerError(503), NONE, NONE),
        (ServerError(500), NONE, NONE),
        (TransportError("", refused=True), NOT_MADE, NOT_MADE),
        (TransportError("", refused=True, lasting=True), LASTS, LASTS),
        (TransportError("", lasting=True), LASTS, LASTS),
        (TransportError(""), LOST, NONE),
        (ConflictError(409), NONE, NONE),
        (NotFoundError(404, retry_after=1.0), NONE, NONE),
        (DecodeError(""), NONE, NONE),
    ],
)
def test_each_failure_has_its_row(error: RequestError, get: Rule, others: Rule) -> None:
    assert rule_for("GET", error) is get
    assert {rule_for(verb, error) for verb in ("POST", "PUT", "PATCH", "DELETE")} == {others}


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError(), ConflictError(409)])
def test_nothing_else_is_retried(error: BaseException) -> None:
    assert not is_worth_retrying("GET", error, attempt=1, spent=0.0)


@pytest.mark.parametrize(
    ("error", "tries"),
    [
        (ThrottledError(429, retry_after=1.0), 20),
        (ServerError(503, retry_after=0.0), 20),
        (TransportError("", refused=True), 5),
        (TransportError(""), 5),
        (ServerError(500), 1),
    ],
)
def test_a_request_is_made_as_often_as_its_row_says(error: RequestError, tries: int) -> None:
    worth = [is_worth_retrying("GET", error, attempt=attempt, spent=0.0) for attempt in range(1, 30)]
    assert worth.index(False) + 1 == tries
    assert not any(worth[tries:])


@pytest.mark.parametrize(
    ("error", "longest"),
    [
        (ThrottledError(429, retry_after=10.0), 11.0),
        (ServerError(503, retry_after=30.0), 33.0),
        (TransportError("", refused=True), 0.25),
    ],
)
def test_no_try_begins_when_a_minute_is_over(error: RequestError, longest: float) -> None:
    assert is_worth_retrying("GET", error, attempt=1, spent=PATIENCE - longest)
    assert not is_worth_retrying("GET", error, attempt=1, spent=PATIENCE - longest + 0.01)


def test_a_wait_of_more_than_a_minute_is_not_waited_for() -> None:
    assert is_worth_retrying("GET", ThrottledError(429, retry_after=54.0), attempt=1, spent=0.0)
    assert not is_worth_retrying("GET", ThrottledError(429, retry_after=60.0), attempt=1, spent=0.0)


def test_what_the_server_says_is_waited_for_and_a_little_more() -> None:
    error = ThrottledError(429, retry_after=10.0)
    delays = [delay_before(2, error, Random(seed)) for seed in range(50)]
    assert 10.0 <= min(delays) < max(delays) <= 11.0


@pytest.mark.parametrize(
    ("said", "waits"),
    [
        (0.0, [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 4.0]),
        (1.0, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 4.0]),
        (10.0, [10.0] * 7),
    ],
)
def test_whoever_is_sent_away_again_and_again_comes_ever_more_seldom(said: float, waits: list[float]) -> None:
    error = ThrottledError(429, retry_after=said)
    for attempt, wait in enumerate(waits, start=2):
        delays = [delay_before(attempt, error, Random(seed)) for seed in range(50)]
        assert wait <= min(delays) <= max(delays) <= wait * 1.1


@pytest.mark.parametrize("said", [0.0, 1.0, 5.0])
def test_half_a_minute_of_throttling_is_lived_through(said: float) -> None:
    error, spent, attempt = ThrottledError(429, retry_after=said), 0.0, 1
    while spent < 30.0:
        assert is_worth_retrying("POST", error, attempt=attempt, spent=spent)
        attempt += 1
        spent += delay_before(attempt, error, Random(attempt))
    assert attempt <= 13


def test_delays_double_up_to_a_bound() -> None:
    error = TransportError("")
    longest = [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]
    for attempt, bound in enumerate(longest, start=2):
        delays = [delay_before(attempt, error, Random(seed)) for seed in range(50)]
        assert bound / 2 <= min(delays) < max(delays) <= bound


def test_a_refused_connection_is_given_up_on_within_seconds() -> None:
    assert (
        sum(delay_before(attempt, TransportError(""), Random(1)) for attempt in range(2, NOT_MADE.tries + 1))
        < 4
    )


def test_the_documentation_shows_the_table() -> None:
    shown = re.findall(r"^\| (.+?) \| (\w+) \| (\d+) \| (.*?) ?\|$", PAGE.read_text(), re.MULTILINE)
    assert shown == [(rule.failure, rule.verbs, str(rule.tries), rule.wait) for rule in RULES]
