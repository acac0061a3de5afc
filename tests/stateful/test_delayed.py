"""Delayed, against the plainest model that could be right: a dict of moments, sorted when asked."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.workqueue import Delayed

KEYS = st.integers(0, 2)
MOMENTS = st.integers(0, 8)


class DelayedMachine(RuleBasedStateMachine):
    """Each key has the earliest moment asked for, and the number of the call that asked for it."""

    def __init__(self) -> None:
        super().__init__()
        self.delayed = Delayed[int]()
        self.moments: dict[int, tuple[float, int]] = {}
        self.calls = 0

    def record(self, key: int, when: float) -> None:
        self.delayed.add(key, when)
        self.calls += 1
        if key not in self.moments or when < self.moments[key][0]:
            self.moments[key] = (when, self.calls)

    @rule(key=KEYS, when=MOMENTS)
    def add(self, key: int, when: int) -> None:
        self.record(key, float(when))

    @rule(key=KEYS, start=st.integers(9, 30), steps=st.integers(20, 22))
    def bring_forward_many_times(self, key: int, start: int, steps: int) -> None:
        for step in range(steps):
            self.record(key, float(start - step))

    @rule(key=KEYS, early=MOMENTS, late=MOMENTS, later=MOMENTS)
    def come_early_and_then_again(self, key: int, early: int, late: int, later: int) -> None:
        self.record(key, float(late))
        self.record(key, float(early))
        self.take(early, 100)
        self.record(key, float(later))

    @rule(now=MOMENTS, limit=st.sampled_from([0, 1, 2, 100]))
    def take(self, now: int, limit: int) -> None:
        order = sorted(self.moments, key=self.moments.__getitem__)
        due = [key for key in order if self.moments[key][0] <= now][:limit]
        assert self.delayed.take_due(float(now), limit) == due
        for key in due:
            del self.moments[key]

    @rule()
    def clear(self) -> None:
        self.delayed.clear()
        self.moments.clear()

    @invariant()
    def each_key_has_its_earliest_moment(self) -> None:
        assert len(self.delayed) == len(self.moments)
        assert self.delayed.next_due == min((when for when, _ in self.moments.values()), default=None)

    @invariant()
    def stale_entries_are_bounded(self) -> None:
        assert len(self.delayed._heap) <= 2 * len(self.moments) + 16

    def teardown(self) -> None:
        order = sorted(self.moments, key=self.moments.__getitem__)
        assert self.delayed.take_due(1000.0, 1000) == order


TestDelayed = DelayedMachine.TestCase
TestDelayed.settings = settings(stateful_step_count=50, deadline=None)
