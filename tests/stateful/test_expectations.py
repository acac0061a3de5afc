"""Expectations, against multisets."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.controller import Expectations

KEYS = st.sampled_from("ab")
UIDS = st.sampled_from(["u", "v", "w"])


class ExpectationsMachine(RuleBasedStateMachine):
    """The model is a list of what is still to come, and when the last was added."""

    def __init__(self) -> None:
        super().__init__()
        self.expectations: Expectations[str] = Expectations(timeout=300)
        self.now = 0
        self.awaited: dict[str, list[str]] = {"a": [], "b": []}
        self.since = {"a": 0, "b": 0}

    @rule(key=KEYS, count=st.integers(0, 3))
    def create(self, key: str, count: int) -> None:
        self.expectations.expect_creations(key, count, self.now)
        self.awaited[key] += ["new"] * count
        self.since[key] = self.now if count else self.since[key]

    @rule(key=KEYS, uids=st.sets(UIDS, max_size=2))
    def delete(self, key: str, uids: set[str]) -> None:
        self.expectations.expect_deletions(key, uids, self.now)
        self.awaited[key] += [uid for uid in uids if uid not in self.awaited[key]]
        self.since[key] = self.now if uids else self.since[key]

    @rule(key=KEYS, what=UIDS | st.just("new"))
    def see(self, key: str, what: str) -> None:
        if what == "new":
            self.expectations.saw_creation(key)
        else:
            self.expectations.saw_deletion(key, what)
        if what in self.awaited[key]:
            self.awaited[key].remove(what)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.expectations.forget(key)
        self.awaited[key] = []

    @rule(seconds=st.sampled_from([1, 299, 300]))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @invariant()
    def it_is_met_when_all_has_come_or_it_is_too_late(self) -> None:
        for key, awaited in self.awaited.items():
            if self.now - self.since[key] >= 300:
                awaited.clear()
            assert self.expectations.are_met(key, self.now) == (not awaited)
        assert len(self.expectations) == sum(map(bool, self.awaited.values()))


TestExpectations = ExpectationsMachine.TestCase
TestExpectations.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
