"""Alarm against a list of keys and moments, sorted when somebody looks."""

import asyncio

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.testing import FakeClock
from kinformer.workqueue._alarm import Alarm
from tests.stateful.heard import Lines

KEYS = st.integers(0, 4)
DELAYS = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 2.0, 5.0])
BAD, AGAIN = 3, 4
"""A key that nobody takes in, and one that is delayed once more as soon as it comes, until it has come thrice."""


class AlarmMachine(RuleBasedStateMachine):
    """Each key comes once for all its adds, at its earliest moment, with its top priority."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock, self.log = FakeClock(), Lines("kinformer.workqueue")
        self.alarm = Alarm[int]("q", self.clock, self.let_in)
        self.came: list[tuple[float, int, int]] = []
        # the model
        self.now = 0.0
        self.calls = 0
        self.waiting: dict[int, tuple[float, int, int]] = {}  # moment, number of the call, priority
        self.expected: list[tuple[float, int, int]] = []
        self.lost = 0

    def let_in(self, key: int, priority: int) -> None:
        if key == BAD:
            raise ValueError("not this one")
        self.came.append((self.clock.monotonic(), key, priority))
        if key == AGAIN and is_to_come_again(self.came):
            self.alarm.add(key, self.clock.monotonic() + 1.0, priority)

    def add(self, key: int, when: float, priority: int) -> None:
        self.calls += 1
        moment, call, top = self.waiting.get(key, (when, self.calls, priority))
        earliest = (when, self.calls) if when < moment else (moment, call)
        self.waiting[key] = (*earliest, max(top, priority))

    @rule(key=KEYS, delay=DELAYS, priority=st.integers(-1, 1))
    def delay(self, key: int, delay: float, priority: int) -> None:
        self.alarm.add(key, self.now + delay, priority)
        self.add(key, self.now + delay, priority)

    @rule(delay=DELAYS)
    def delay_a_crowd(self, delay: float) -> None:
        """More keys of one moment than are let in at once."""
        for key in range(100, 700):
            self.alarm.add(key, self.now + delay, 0)
            self.add(key, self.now + delay, 0)

    @rule(delay=st.sampled_from([0.0, 1.0, 3.0]))
    def advance(self, delay: float) -> None:
        self.runner.run(self.clock.advance(delay))
        end = self.now + delay
        while due := sorted((entry, key) for key, entry in self.waiting.items() if entry[0] <= end):
            (moment, _, priority), key = due[0]
            del self.waiting[key]
            self.now = max(self.now, moment)
            if key == BAD:
                self.lost += 1
                continue
            self.expected.append((self.now, key, priority))
            if key == AGAIN and is_to_come_again(self.expected):
                self.add(key, self.now + 1.0, priority)
        self.now = end

    @rule()
    def clear(self) -> None:
        self.alarm.clear()
        self.waiting.clear()

    @invariant()
    def what_came_is_what_was_due(self) -> None:
        assert self.came == self.expected
        assert len(self.log.lines) == self.lost

    @invariant()
    def the_rest_waits_with_one_timer(self) -> None:
        assert len(self.alarm.keys) == len(self.waiting)
        moments = [max(when, self.now) for when, _, _ in self.waiting.values()]
        assert self.clock.next_timer == min(moments, default=None)
        assert sum(not timer.is_cancelled for timer in self.clock._timers) == bool(moments)

    def teardown(self) -> None:
        self.log.leave()
        self.runner.close()


def is_to_come_again(came: list[tuple[float, int, int]]) -> bool:
    return sum(key == AGAIN for _, key, _ in came) % 3 != 0


TestAlarm = AlarmMachine.TestCase
TestAlarm.settings = settings(max_examples=25, stateful_step_count=20)
