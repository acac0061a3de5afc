"""The backoff's arithmetic and the bucket of openings."""

from random import Random

import pytest

from kinformer.reflector._backoff import Backoff, Openings


class Fixed(Random):
    """Chance that always comes out the same."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def random(self) -> float:
        return self._value


def test_the_waits_double_up_to_the_cap() -> None:
    backoff = Backoff(Fixed(0.0))
    assert [backoff.fail(0.0) for _ in range(9)] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0, 30.0]


def test_the_jitter_reaches_from_the_base_to_its_double() -> None:
    backoff = Backoff(Random(5))
    for base in (0.8, 1.6, 3.2, 6.4, 12.8, 25.6, *[30.0] * 200):
        assert base <= backoff.fail(0.0) < 2 * base


def test_time_alone_forgives_nothing() -> None:
    backoff = Backoff(Fixed(0.0))
    backoff.fail(0.0)
    assert backoff.fail(10_000.0) == 1.6


@pytest.mark.parametrize(("healthy", "delay"), [(119.9, 1.6), (120.0, 0.8)])
def test_two_healthy_minutes_start_it_over(healthy: float, delay: float) -> None:
    backoff = Backoff(Fixed(0.0))
    backoff.fail(0.0)
    backoff.succeed(5.0)
    backoff.succeed(50.0)  # another success while all is well
    assert backoff.fail(5.0 + healthy) == delay


def test_health_ends_with_a_failure() -> None:
    backoff = Backoff(Fixed(0.0))
    backoff.succeed(0.0)
    backoff.fail(100.0)
    assert backoff.fail(200.0) == 1.6


def test_the_server_may_ask_for_more_but_not_for_less() -> None:
    backoff = Backoff(Fixed(0.0))
    assert backoff.fail(0.0, at_least=17.0) == 17.0
    assert backoff.fail(0.0, at_least=1.0) == 1.6


def test_six_openings_are_free_and_then_one_every_ten_seconds() -> None:
    openings = Openings()
    assert [openings.take(100.0) for _ in range(9)] == [0.0] * 6 + [10.0, 20.0, 30.0]


def test_the_bucket_fills_up_again_to_its_brim_and_no_further() -> None:
    openings = Openings()
    for _ in range(6):
        openings.take(0.0)
    assert openings.take(25.0) == 0.0
    assert openings.take(25.0) == 0.0
    assert openings.take(25.0) == 5.0
    assert [openings.take(10_000.0) for _ in range(7)] == [0.0] * 6 + [10.0]


def test_the_bucket_knows_when_it_is_full_again() -> None:
    openings = Openings()
    assert openings.fills_in(100.0) == 0.0
    openings.take(100.0)
    openings.take(100.0)
    assert [openings.fills_in(now) for now in (100.0, 103.0, 120.0, 121.0)] == [20.0, 17.0, 0.0, 0.0]


def test_an_opening_that_is_given_back_is_the_next_ones() -> None:
    openings = Openings()
    for _ in range(6):
        openings.take(0.0)
    assert openings.take(0.0) == 10.0
    openings.give_back()
    assert openings.take(0.0) == 10.0
