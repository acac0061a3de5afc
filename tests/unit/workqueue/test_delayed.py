import math
import sys
from collections.abc import Hashable
from typing import TypeVar

import pytest

from kinformer.workqueue import Delayed

K = TypeVar("K", bound=Hashable)


def keys_due(delayed: Delayed[K], now: float, limit: int) -> list[K]:
    return [key for key, _ in delayed.take_due(now, limit)]


def test_a_key_is_due_at_its_moment_and_not_before() -> None:
    delayed = Delayed[str]()
    delayed.add("x", 5.0)
    assert keys_due(delayed, 4.999, 10) == []
    assert keys_due(delayed, 5.0, 10) == ["x"]
    assert keys_due(delayed, 100.0, 10) == []


@pytest.mark.parametrize("moments", [(50.0, 20.0, 80.0), (20.0, 50.0), (80.0, 50.0, 20.0), (20.0, 20.0)])
def test_the_earliest_moment_wins_in_whichever_order_they_were_asked_for(moments: tuple[float, ...]) -> None:
    delayed = Delayed[str]()
    for when in moments:
        delayed.add("x", when)
    assert len(delayed) == 1
    assert delayed.next_due == 20.0
    assert keys_due(delayed, 20.0, 10) == ["x"]
    assert keys_due(delayed, 1000.0, 10) == []
    assert delayed.next_due is None


def test_keys_that_are_due_come_in_order_of_their_moments() -> None:
    delayed = Delayed[str]()
    for key, when in (("c", 1.0), ("b", 0.5), ("a", 0.25), ("d", 9.0)):
        delayed.add(key, when)
    assert keys_due(delayed, 1.0, 10) == ["a", "b", "c"]
    assert delayed.next_due == 9.0


def test_keys_of_one_moment_come_in_the_order_in_which_they_were_added() -> None:
    delayed = Delayed[str]()
    for key in ("c", "a", "b"):
        delayed.add(key, 1.0)
    assert keys_due(delayed, 1.0, 10) == ["c", "a", "b"]


def test_keys_are_never_compared_with_each_other() -> None:
    delayed = Delayed[object]()
    for key in ("a", 1, None, ("b",)):
        delayed.add(key, 1.0)
    assert keys_due(delayed, 1.0, 10) == ["a", 1, None, ("b",)]


def test_no_more_than_the_limit_are_taken_and_the_rest_stays_due() -> None:
    delayed = Delayed[int]()
    for key in range(5):
        delayed.add(key, float(key))
    assert keys_due(delayed, 10.0, 2) == [0, 1]
    assert delayed.next_due == 2.0
    assert keys_due(delayed, 10.0, 10) == [2, 3, 4]


def test_a_key_can_be_delayed_again_after_it_was_taken() -> None:
    delayed = Delayed[str]()
    delayed.add("x", 5.0)
    delayed.add("x", 1.0)
    assert keys_due(delayed, 1.0, 10) == ["x"]
    delayed.add("x", 7.0)
    assert keys_due(delayed, 5.0, 10) == []
    assert keys_due(delayed, 7.0, 10) == ["x"]


def test_a_stale_entry_does_not_count_as_the_next_one() -> None:
    delayed = Delayed[str]()
    delayed.add("x", 5.0)
    delayed.add("y", 9.0)
    delayed.add("x", 1.0)
    delayed.take_due(1.0, 10)
    assert delayed.next_due == 9.0


def test_a_stale_entry_behind_another_key_does_not_bring_its_own_key_early() -> None:
    delayed = Delayed[str]()
    delayed.add("x", 10.0)
    delayed.add("x", 5.0)
    delayed.add("y", 7.0)
    assert keys_due(delayed, 5.0, 10) == ["x"]
    delayed.add("x", 12.0)
    assert keys_due(delayed, 11.0, 10) == ["y"]
    assert keys_due(delayed, 12.0, 10) == ["x"]


def test_bringing_one_key_forward_for_ever_does_not_grow_the_heap() -> None:
    delayed = Delayed[str]()
    delayed.add("y", 0.0)
    for step in range(10_000):
        delayed.add("x", 20_000.0 - step)
        assert len(delayed._heap) <= 2 * len(delayed) + 16
    assert keys_due(delayed, 30_000.0, 10) == ["y", "x"]


def test_clear_forgets_everything() -> None:
    delayed = Delayed[str]()
    delayed.add("x", 1.0)
    delayed.clear()
    assert len(delayed) == 0
    assert delayed.next_due is None
    delayed.add("x", 2.0)
    assert keys_due(delayed, 2.0, 10) == ["x"]


def test_a_key_keeps_the_highest_priority_and_the_earliest_moment_whichever_came_with_which() -> None:
    delayed = Delayed[str]()
    delayed.add("x", 5.0, 1)
    delayed.add("x", 3.0, -7)
    delayed.add("x", 9.0, 4)
    delayed.add("y", 3.0, 2)
    assert delayed.waiting() == [("x", 3.0, 4), ("y", 3.0, 2)]
    assert delayed.take_due(3.0, 10) == [("x", 4), ("y", 2)]
    assert len(delayed) == 0


def test_keys_that_cannot_be_sorted_may_be_raised() -> None:
    delayed = Delayed[complex]()
    delayed.add(1j, 5.0)
    delayed.add(2j, 5.0)
    for priority in range(30):
        delayed.add(2j, 6.0, priority)
        delayed.add(1j, 5.0, priority)
    assert delayed.take_due(5.0, 10) == [(1j, 29), (2j, 29)]


def test_it_knows_what_waits() -> None:
    delayed = Delayed[str]()
    delayed.add("x", 5.0)
    assert "x" in delayed
    assert "y" not in delayed


def test_memory_is_given_back_when_nothing_waits_any_more() -> None:
    delayed = Delayed[int]()
    for key in range(10_000):
        delayed.add(key, float(key))
    assert len(delayed.take_due(10_000.0, 10_000)) == 10_000
    assert sys.getsizeof(delayed._live) == sys.getsizeof({})


@pytest.mark.parametrize(("when", "priority"), [(math.nan, 0), (1.0, math.nan)])
def test_what_is_no_number_has_no_place_in_the_order(when: float, priority: int) -> None:
    delayed: Delayed[str] = Delayed()
    delayed.add("a", 2.0)
    for key in ("a", "b"):
        with pytest.raises(ValueError, match=f"'{key}' must be due at a number"):
            delayed.add(key, when, priority)
    assert delayed.waiting() == [("a", 2.0, 0)]
