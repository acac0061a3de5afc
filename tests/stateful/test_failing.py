"""Failing: what is gone is found within one round, and nothing else is lost."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.workqueue._failing import Failing


class FailingMachine(RuleBasedStateMachine):
    """Keys fail, recover, are forgotten and go. The model holds for each that is gone how many failures it may see."""

    def __init__(self) -> None:
        super().__init__()
        self.failing = Failing[int]()
        self.keys: set[int] = set()
        self.gone: dict[int, int] = {}
        self.number = 0

    def fail(self, key: int) -> None:
        """As the queue does: each failure looks at the next two."""
        self.failing.add(key)
        self.keys.add(key)
        self.gone.pop(key, None)
        self.gone = {other: left - 1 for other, left in self.gone.items()}
        self.sweep(2)
        assert all(left > 0 for left in self.gone.values()), "a whole round is over"

    def sweep(self, count: int) -> None:
        looked_at: list[int] = []

        def is_gone(key: int) -> bool:
            looked_at.append(key)
            return key in self.gone

        found = self.failing.sweep(count, is_gone)
        assert len(set(looked_at)) == len(looked_at) == min(count, len(self.keys))
        assert found == [key for key in looked_at if key in self.gone]
        for key in found:
            self.keys.remove(key)
            del self.gone[key]

    @rule(count=st.integers(1, 12))
    def fail_for_the_first_time(self, count: int) -> None:
        for _ in range(count):
            self.number += 1
            self.fail(self.number)

    @precondition(lambda self: self.keys)
    @rule(data=st.data())
    def fail_again(self, data: st.DataObject) -> None:
        self.fail(data.draw(st.sampled_from(sorted(self.keys))))

    @precondition(lambda self: self.keys)
    @rule(data=st.data())
    def go(self, data: st.DataObject) -> None:
        """They are all found before half as many failures have come as there are keys now."""
        keys = data.draw(st.sets(st.sampled_from(sorted(self.keys)), min_size=1))
        self.gone |= {key: self.gone.get(key, len(self.keys) // 2 + 1) for key in keys}

    @precondition(lambda self: self.keys)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([*sorted(self.keys), 0]))
        self.failing.discard(key)
        self.keys.discard(key)
        self.gone.pop(key, None)

    @rule(count=st.integers(0, 3))
    def look_at_some(self, count: int) -> None:
        self.sweep(count)

    @invariant()
    def it_holds_what_failed_and_was_not_found_gone(self) -> None:
        assert len(self.failing) == len(self.keys)
        assert set(self.failing.ring) == self.keys


TestFailing = FailingMachine.TestCase
TestFailing.settings = settings(max_examples=40, stateful_step_count=25)
