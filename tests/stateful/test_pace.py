"""Pace against its whole story: how often a wait begins anew after rounds that were no good."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from kinformer.client._pace import Pace


class PaceMachine(RuleBasedStateMachine):
    """Rounds of any length, some of which tell something; the pauses are told from how many in a row were no good."""

    def __init__(self) -> None:
        super().__init__()
        self.pace = Pace()
        self.now = 0.0
        self.bad = 0
        self.begun = [0.0]  # since the last good round, that one included

    @rule(
        lasted=st.sampled_from([0.0, 0.0, 0.5, 3.0, 29.0, 30.0, 300.0]),
        told=st.sampled_from([False, False, False, True]),
        retry_after=st.sampled_from([0.0, 0.0, 0.0, 5.0, 100.0]),
    )
    def end_a_round(self, lasted: float, told: bool, retry_after: float) -> None:
        if told or lasted >= 30.0:
            self.bad, self.begun = 0, self.begun[-1:]
        apart = min(2.0**self.bad, 30.0)
        pause = self.pace.pause(lasted, told=told, retry_after=retry_after)
        assert pause >= max(retry_after, 0.0)
        assert pause == retry_after or lasted + pause == apart
        self.bad += 1
        self.now += lasted + pause
        self.begun.append(self.now)

    @rule(count=st.integers(1, 12))
    def end_many_at_once(self, count: int) -> None:
        """A server that fails at once is asked rarely, whatever was before."""
        for _ in range(count):
            self.end_a_round(0.0, told=False, retry_after=0.0)
        for start, seventh in zip(self.begun, self.begun[6:], strict=False):
            assert seventh - start >= 30.0


TestPace = PaceMachine.TestCase
TestPace.settings = settings(max_examples=40, stateful_step_count=15)
