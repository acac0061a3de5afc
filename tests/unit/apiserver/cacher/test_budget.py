"""The time budget: ``TestTimeBudget`` upstream."""

import pytest

from kinformer.apiserver.cacher._budget import TimeBudget


def test_it_is_empty_at_the_beginning_and_earns_50_ms_a_second_up_to_100() -> None:
    budget = TimeBudget(0.0)
    assert budget.take(0.0) == 0
    assert budget.take(1.0) == pytest.approx(0.05)
    assert budget.take(1.0) == 0
    assert budget.take(1000.0) == pytest.approx(0.1)


def test_what_was_not_needed_comes_back_up_to_the_most() -> None:
    budget = TimeBudget(0.0)
    assert budget.take(10.0) == pytest.approx(0.1)
    budget.give_back(0.03, 10.0)
    assert budget.take(10.0) == pytest.approx(0.03)
    budget.give_back(5.0, 10.0)
    assert budget.take(10.0) == pytest.approx(0.1)


def test_a_negative_rest_is_no_debt() -> None:
    budget = TimeBudget(0.0)
    budget.give_back(-1.0, 1.0)
    assert budget.take(1.0) == pytest.approx(0.05)


def test_with_nothing_to_keep_nobody_is_waited_for() -> None:
    budget = TimeBudget(0.0, most=0.0)
    budget.give_back(1.0, 5.0)
    assert budget.take(100.0) == 0


def test_negative_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="rate -1 and most 0"):
        TimeBudget(0.0, rate=-1, most=0)
