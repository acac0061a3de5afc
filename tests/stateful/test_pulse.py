"""Pulse against a list of all that ever arrived."""

import math

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.reflector._pulse import Ages, Pulse


class PulseMachine(RuleBasedStateMachine):
    """Objects and bookmarks arrive, together or not; now and then something that is neither."""

    def __init__(self) -> None:
        super().__init__()
        self.pulse = Pulse()
        self.now = 0.0
        self.events: list[float] = []
        self.bookmarks: list[float] = []

    @rule(seconds=st.integers(1, 90))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds

    @rule(events=st.integers(0, 2), bookmarks=st.integers(0, 1))
    def hear(self, events: int, bookmarks: int) -> None:
        self.pulse.beat(self.now, events=events, bookmarks=bookmarks)
        self.events += [self.now] * events
        self.bookmarks += [self.now] * bookmarks

    @invariant()
    def it_knows_the_last_of_each(self) -> None:
        last = [found[-1] if found else -math.inf for found in (self.events, self.bookmarks)]
        assert self.pulse.ages(self.now) == Ages(*(self.now - moment for moment in last))


TestPulse = PulseMachine.TestCase
TestPulse.settings = settings(max_examples=30, stateful_step_count=12)
