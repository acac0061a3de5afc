"""The fake clock against the plainest model: a list of timers, sorted."""

import asyncio
from functools import partial

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.clock import Timer
from kinformer.testing import FakeClock

DELAYS = st.sampled_from([0.0, 0.5, 1.0, 1.0, 2.5])


class FakeClockModel(RuleBasedStateMachine):
    """Timers fire at their own moment, in order of moment and then of age, each once, and none that was cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.now = 0.0
        self.number = 0
        self.timers: dict[int, Timer] = {}
        self.due: list[tuple[float, int]] = []  # what the model says is still to fire
        self.expected: list[tuple[float, int]] = []
        self.fired: list[tuple[float, int]] = []

    def note(self, number: int) -> None:
        self.fired.append((self.clock.monotonic(), number))

    @rule(delay=st.one_of(DELAYS, st.sampled_from([-1.0, float("inf")])))
    def call(self, delay: float) -> None:
        self.number += 1
        when = self.now + delay
        self.timers[self.number] = self.clock.call_at(when, partial(self.note, self.number))
        if delay != float("inf"):
            self.due.append((max(when, self.now), self.number))

    @rule(delay=DELAYS, count=st.integers(3, 7))
    def call_several_at_once(self, delay: float, count: int) -> None:
        for _ in range(count):
            self.call(delay)

    @precondition(lambda self: self.timers)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.timers)))
        self.timers[number].cancel()
        self.due = [entry for entry in self.due if entry[1] != number]

    @rule(delay=DELAYS)
    def advance(self, delay: float) -> None:
        self.runner.run(self.clock.advance(delay))
        self.now += delay
        self.expected += sorted(entry for entry in self.due if entry[0] <= self.now)
        self.due = [entry for entry in self.due if entry[0] > self.now]

    @invariant()
    def what_fired_is_what_was_due(self) -> None:
        assert self.fired == self.expected
        assert self.clock.monotonic() == self.now
        assert self.clock.next_timer == min((when for when, _ in self.due), default=None)

    def teardown(self) -> None:
        self.runner.close()


TestFakeClock = FakeClockModel.TestCase
