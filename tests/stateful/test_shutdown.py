"""The budget of an ending, against sums."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinformer.controller._runnables import Shutdown


class ShutdownMachine(RuleBasedStateMachine):
    @initialize(grace=st.integers(0, 30))
    def begin_to_run(self, grace: int) -> None:
        self.grace = grace
        self.shutdown = Shutdown(grace)
        self.now = 100
        self.began: int | None = None
        self.names: list[str] = []

    @rule(seconds=st.integers(0, 20))
    def wait(self, seconds: int) -> None:
        self.now += seconds

    @rule()
    def ask(self) -> None:
        self.shutdown.begin(self.now)
        self.began = self.now if self.began is None else self.began

    @rule(names=st.lists(st.sampled_from("abc"), max_size=2))
    def cut(self, names: list[str]) -> None:
        self.shutdown.cut(names)
        self.names += names

    @invariant()
    def what_is_spent_is_not_left(self) -> None:
        if hasattr(self, "shutdown"):
            spent = 0 if self.began is None else self.now - self.began
            assert self.shutdown.spent(self.now) == spent
            assert self.shutdown.left(self.now) == max(0, self.grace - spent)
            assert self.shutdown.was_cut == tuple(self.names)


TestShutdown = ShutdownMachine.TestCase
TestShutdown.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
