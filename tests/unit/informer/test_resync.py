"""The arithmetic of resync periods: client-go's, down to the second."""

import logging
import math

import pytest

from kinformer.informer._resync import ResyncPlan


def test_periods_come_out_as_in_client_go() -> None:
    plan: ResyncPlan[str] = ResyncPlan(10)
    for name, period in (("slow", 25), ("fast", 3), ("never", 0)):
        plan.add(name, period, 0)
    plan.start(0)
    plan.add("late", 1, 0)
    assert plan.check == 3
    due = {now: plan.due(now) for now in range(3, 61, 3)}
    assert all({"fast", "late"} <= names for names in due.values())
    assert [now for now, names in due.items() if "slow" in names] == [27, 54]
    assert not any("never" in names for names in due.values())


def test_without_a_period_of_its_own_a_handler_has_the_informers() -> None:
    plan: ResyncPlan[str] = ResyncPlan(10)
    plan.add("default", None, 0)
    assert [now for now in range(31) if plan.due(now)] == [10, 20, 30]


def test_an_informer_without_resync_ignores_its_handlers_periods(caplog: pytest.LogCaptureFixture) -> None:
    plan: ResyncPlan[str] = ResyncPlan(0)
    with caplog.at_level(logging.WARNING, "kinformer.informer"):
        plan.add("a", 5, 0)
    assert plan.check == 0
    assert not plan.due(1000)
    assert "the resync period of 5 s is ignored" in caplog.text


def test_a_period_below_a_second_is_raised_to_one(caplog: pytest.LogCaptureFixture) -> None:
    plan: ResyncPlan[str] = ResyncPlan(10)
    plan.add("a", 0.2, 0)
    assert plan.check == 1
    assert "raised to 1.0 s" in caplog.text


def test_a_short_period_after_the_start_is_raised(caplog: pytest.LogCaptureFixture) -> None:
    plan: ResyncPlan[str] = ResyncPlan(10)
    plan.start(0)
    plan.add("a", 3, 0)
    assert plan.check == 10
    assert [now for now in range(21) if plan.due(now)] == [10, 20]
    assert "raised to the informer's 10 s" in caplog.text


def test_a_removed_handler_is_not_due() -> None:
    plan: ResyncPlan[str] = ResyncPlan(10)
    plan.add("a", None, 0)
    plan.remove("a")
    plan.remove("a")
    assert not plan.due(100)


@pytest.mark.parametrize("period", [-1, math.nan, math.inf])
def test_a_period_that_never_comes_is_refused(period: float) -> None:
    with pytest.raises(ValueError, match=f"resync={period} must be a number of seconds, or 0"):
        ResyncPlan(period)
    with pytest.raises(ValueError, match=f"resync={period} must be a number of seconds, or 0"):
        ResyncPlan[str](10).add("a", period, 0)
