import pytest

from kinformer.client._pace import Pace


def beginnings(pace: Pace, seconds: float, *, lasted: float = 0.0, told: bool = False) -> list[float]:
    """When rounds begin that all go alike."""
    moments, now = [], 0.0
    while now <= seconds:
        moments.append(now)
        now += lasted + pace.pause(lasted, told=told)
    return moments


def test_rounds_that_fail_come_ever_more_seldom() -> None:
    assert beginnings(Pace(), 100.0) == [0.0, 1.0, 3.0, 7.0, 15.0, 31.0, 61.0, 91.0]


@pytest.mark.parametrize("lasted", [0.0, 0.5, 5.0, 29.0])
def test_no_failure_makes_more_than_six_rounds_in_a_minute(lasted: float) -> None:
    assert len(beginnings(Pace(), 60.0, lasted=lasted)) <= 6


def test_a_round_that_lasted_is_followed_by_the_next_at_once() -> None:
    assert Pace().pause(300.0, told=False) == 0.0
    assert Pace().pause(5.0, told=True) == 0.0


def test_a_round_that_told_something_makes_the_next_come_soon() -> None:
    pace = Pace()
    beginnings(pace, 60.0)
    assert pace.pause(0.25, told=True) == 0.75
    assert pace.pause(0.0, told=False) == 2.0


def test_what_the_server_asks_for_is_kept() -> None:
    pace = Pace()
    assert pace.pause(0.0, told=False, retry_after=5.0) == 5.0
    assert pace.pause(100.0, told=False, retry_after=5.0) == 5.0
    assert pace.pause(0.0, told=False, retry_after=0.0) == 2.0
