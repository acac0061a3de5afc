"""Delayed, against the plainest model that could be right: a dict of moments, sorted when asked."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.workqueue import Delayed

KEYS = st.sampled_from([1j, 2j, 3j])  # which cannot be sorted
MOMENTS = st.integers(0, 8)


class DelayedMachine(RuleBasedStateMachine):
    """Each key has the earliest moment asked for, the number of the call that asked for it, and the top priority."""

    def __init__(self) -> None:
        super().__init__()
        self.delayed = Delayed[complex]()
        self.moments: dict[complex, tuple[float, int]] = {}
        self.priorities: dict[complex, int] = {}
        self.calls = 0

    def record(self, key: complex, when: float, priority: int = 0) -> None:
        self.delayed.add(key, when, priority)
        self.calls += 1
        if key not in self.moments or when < self.moments[key][0]:
            self.moments[key] = (when, self.calls)
        self.priorities[key] = max(priority, self.priorities.get(key, priority))

    @rule(key=KEYS, when=MOMENTS, priority=st.integers(-1, 1))
    def add(self, key: complex, when: int, priority: int) -> None:
        self.record(key, float(when), priority)

    @rule(key=KEYS, when=MOMENTS, start=st.integers(1, 9), steps=st.integers(20, 22))
    def raise_many_times(self, key: complex, when: int, start: int, steps: int) -> None:
        for step in range(steps):
            self.record(key, float(when), start + step)

    @rule(key=KEYS, start=st.integers(9, 30), steps=st.integers(20, 22))
    def bring_forward_many_times(self, key: complex, start: int, steps: int) -> None:
        for step in range(steps):
            self.record(key, float(start - step))

    @rule(key=KEYS, early=MOMENTS, late=MOMENTS, later=MOMENTS)
    def come_early_and_then_again(self, key: complex, early: int, late: int, later: int) -> None:
        self.record(key, float(late))
        self.record(key, float(early))
        self.take(early, 100)
        self.record(key, float(later))

    @rule(now=MOMENTS, limit=st.sampled_from([0, 1, 2, 100]))
    def take(self, now: int, limit: int) -> None:
        due = [(key, priority) for key, when, priority in self.in_order() if when <= now][:limit]
        assert self.delayed.take_due(float(now), limit) == due
        for key, _ in due:
            del self.moments[key], self.priorities[key]

    def in_order(self) -> list[tuple[complex, float, int]]:
        order = sorted(self.moments, key=self.moments.__getitem__)
        return [(key, self.moments[key][0], self.priorities[key]) for key in order]

    @rule()
    def clear(self) -> None:
        self.delayed.clear()
        self.moments.clear()
        self.priorities.clear()

    @invariant()
    def each_key_has_its_earliest_moment(self) -> None:
        assert len(self.delayed) == len(self.moments)
        assert self.delayed.waiting() == self.in_order()
        assert self.delayed.waiting(2) == self.in_order()[:2]
        assert {key for key in (1j, 2j, 3j) if key in self.delayed} == self.moments.keys()
        assert self.delayed.next_due == min((when for when, _ in self.moments.values()), default=None)

    @invariant()
    def stale_entries_are_bounded(self) -> None:
        assert len(self.delayed._heap) <= 2 * len(self.moments) + 16

    def teardown(self) -> None:
        order = [(key, priority) for key, _, priority in self.in_order()]
        assert self.delayed.take_due(1000.0, 1000) == order


TestDelayed = DelayedMachine.TestCase
