"""Resync periods against a story that is told from the beginning each time."""

import logging

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.informer._resync import ResyncPlan

PERIODS = st.sampled_from([None, 0.0, 0.5, 2.0, 7.0])
NAMES = st.sampled_from("abc")
SECONDS = st.sampled_from([0.5, 1.0, 3.0, 6.0])


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR, "kinformer.informer")


class ResyncMachine(RuleBasedStateMachine):
    """Handlers come and go before and after the start; a timer ticks at the check period or off it."""

    @initialize(
        period=st.sampled_from([0.0, 0.25, 3.0, 10.0, 10.0]),
        early=st.lists(st.tuples(NAMES, PERIODS, SECONDS), max_size=3),
        steps=st.none() | st.lists(SECONDS, min_size=1, max_size=5),
    )
    def begin(
        self, period: float, early: list[tuple[str, float | None, float]], steps: list[float] | None
    ) -> None:
        self.plan: ResyncPlan[str] = ResyncPlan(period)
        self.default = max(period, 1.0) if period else 0.0
        self.now = 0.0
        self.is_started = False
        self.wanted: dict[str, float] = {}
        self.began: dict[str, float] = {}
        self.early: list[float] = []
        for name, wanted, seconds in early:
            self.add(name, wanted)
            self.pass_time(seconds)
        if steps is not None:
            self.start()
            self.tick(steps)

    @rule(name=NAMES, period=PERIODS)
    def add(self, name: str, period: float | None) -> None:
        if name in self.wanted:
            return
        self.plan.add(name, period, self.now)
        wanted = self.default if period is None else max(period, 1.0) if period else 0.0
        self.wanted[name], self.began[name] = wanted, self.now
        if wanted and not self.is_started:
            self.early.append(wanted)

    @precondition(lambda self: self.is_started)
    @rule(name=NAMES, period=PERIODS, steps=st.lists(SECONDS, min_size=1, max_size=5))
    def join_late(self, name: str, period: float | None, steps: list[float]) -> None:
        self.remove(name)
        self.add(name, period)
        self.tick(steps)

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.plan.remove(name)
        self.wanted.pop(name, None)

    @precondition(lambda self: not self.is_started)
    @rule()
    def start(self) -> None:
        self.plan.start(self.now)
        self.is_started = True
        self.began = dict.fromkeys(self.wanted, self.now)

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: float) -> None:
        """Nobody looks, as before the start."""
        self.now += seconds

    @rule(steps=st.lists(st.sampled_from([0.5, 1.0, 3.0, 6.0, 40.0]), min_size=1, max_size=5))
    def tick(self, steps: list[float]) -> None:
        for seconds in steps:
            self.now += seconds
            self.look()

    def look(self) -> None:
        expected = {
            name
            for name, wanted in self.wanted.items()
            if wanted and self.default and self.now - self.began[name] >= max(wanted, self.check())
        }
        assert self.plan.due(self.now) == expected
        assert not self.plan.due(self.now)
        self.began.update(dict.fromkeys(expected, self.now))

    def check(self) -> float:
        """The informer's own period, or a shorter one that was asked for before the start."""
        return min([self.default, *self.early]) if self.default else 0.0

    @invariant()
    def it_is_checked_as_often_as_the_hastiest_early_handler_wants(self) -> None:
        assert self.plan.check == self.check()


TestResyncPlan = ResyncMachine.TestCase
