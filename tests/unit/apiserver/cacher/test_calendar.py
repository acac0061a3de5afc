"""When bookmarks are due: ``TestTimeBucketWatchersBasic`` and its neighbours upstream."""

import math

import pytest

from kinformer.apiserver.cacher._calendar import Calendar, bookmark_time


@pytest.mark.parametrize(
    ("deadline", "is_waiting", "due"),
    [
        pytest.param(math.inf, False, 160.0, id="a minute later"),
        pytest.param(1000.0, False, 160.0, id="long before the end"),
        pytest.param(150.0, False, 148.0, id="two seconds before the end"),
        pytest.param(102.0, False, 100.0, id="just in time"),
        pytest.param(101.9, False, None, id="too near to the end"),
        pytest.param(101.0, True, 100.0, id="at once while one is owed"),
    ],
)
def test_the_next_bookmark_comes_after_a_minute_or_before_the_end(
    deadline: float, is_waiting: bool, due: float | None
) -> None:
    assert bookmark_time(100.0, deadline, is_waiting=is_waiting) == due


def test_who_is_due_in_the_same_second_is_taken_together() -> None:
    calendar = Calendar[str](1000.0)
    for watcher, due in (("c", 1003.2), ("a", 1001.0), ("b", 1001.9)):
        calendar.add(watcher, due)
    assert calendar.take(1000.9) == []
    assert calendar.take(1001.0) == ["a", "b"]
    assert (len(calendar), calendar.next_due) == (1, 1003.0)
    assert calendar.take(1010.0) == ["c"]
    assert (len(calendar), calendar.next_due) == (0, None)


def test_who_is_late_is_due_the_next_second() -> None:
    calendar = Calendar[str](0.0)
    calendar.add("early", -5.0)
    assert calendar.take(0.5) == ["early"]
    calendar.add("late", 0.2)
    assert calendar.take(0.9) == []
    assert calendar.take(1.0) == ["late"]


def test_whoever_is_entered_anew_is_due_at_the_new_time_only() -> None:
    calendar = Calendar[str](0.0)
    calendar.add("a", 3.0)
    calendar.add("a", 7.0)
    assert (calendar.take(6.0), calendar.take(7.0), calendar.take(99.0)) == ([], ["a"], [])


def test_whoever_is_taken_out_leaves_nothing() -> None:
    calendar = Calendar[str](0.0)
    calendar.add("a", 3.0)
    assert "a" in calendar
    calendar.discard("a")
    calendar.discard("a")
    assert "a" not in calendar
    assert calendar.next_due is None
    assert calendar.take(9.0) == []
