"""The calendar of bookmarks against a plain table of seconds, and the time budget against a sum."""

import math

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.apiserver.cacher._budget import TimeBudget
from kinformer.apiserver.cacher._calendar import Calendar

BEGINNING = 100.25
WATCHERS = st.sampled_from("abcde")


class CalendarMachine(RuleBasedStateMachine):
    """Watchers are entered, taken out and taken. The model holds the second in which each is due."""

    def __init__(self) -> None:
        super().__init__()
        self.calendar = Calendar[str](BEGINNING)
        self.due: dict[str, int] = {}
        self.now = BEGINNING
        self.free = 0
        """The first second that has not been taken."""

    @rule(watcher=WATCHERS, later=st.floats(-5, 60))
    def add(self, watcher: str, later: float) -> None:
        self.calendar.add(watcher, self.now + later)
        self.due[watcher] = max(self.free, math.floor(self.now + later - BEGINNING))

    @rule(watcher=WATCHERS)
    def discard(self, watcher: str) -> None:
        self.calendar.discard(watcher)
        self.due.pop(watcher, None)

    @rule(later=st.floats(0, 3) | st.floats(0, 70))
    def take(self, later: float) -> None:
        self.now += later
        second = math.floor(self.now - BEGINNING)
        taken = self.calendar.take(self.now)
        assert set(taken) == {watcher for watcher, due in self.due.items() if due <= second}
        seconds = [self.due.pop(watcher) for watcher in taken]
        assert seconds == sorted(seconds)
        self.free = max(self.free, second + 1)

    @invariant()
    def it_holds_the_same_watchers(self) -> None:
        assert {watcher for watcher in "abcde" if watcher in self.calendar} == set(self.due)
        assert len(self.calendar) == len(self.due)
        assert self.calendar.next_due == (BEGINNING + min(self.due.values()) if self.due else None)

    @invariant()
    def no_second_is_empty(self) -> None:
        assert all(self.calendar._buckets.values())


class BudgetMachine(RuleBasedStateMachine):
    """Time goes by, and is taken and given back. The model counts in thousandths, as people would."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = TimeBudget(0.0)
        self.now = 0.0
        self.left = 0.0

    @rule(seconds=st.floats(0, 5))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.left = min(100.0, self.left + 50.0 * seconds)

    @rule()
    def take(self) -> None:
        assert self.budget.take(self.now) * 1000 == pytest.approx(self.left, abs=1e-6)
        self.left = 0.0

    @rule(unused=st.floats(-0.1, 0.2))
    def give_back(self, unused: float) -> None:
        self.budget.give_back(unused, self.now)
        self.left = min(100.0, self.left + 1000 * max(0.0, unused))


TestCalendar = CalendarMachine.TestCase
TestCalendar.settings = settings(max_examples=30, stateful_step_count=20)
TestBudget = BudgetMachine.TestCase
TestBudget.settings = settings(max_examples=20, stateful_step_count=15)
