"""Silence against the moment of the last sound."""

import asyncio

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.reflector._silence import Silence
from kinformer.testing import FakeClock

LIMIT = 75


class SilenceMachine(RuleBasedStateMachine):
    """Noticed after each LIMIT without a sound, at the very second, and only while somebody listens."""

    @initialize()
    def begin(self) -> None:
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.start = self.clock.monotonic()
        self.noticed: list[float] = []
        self.silence = Silence(self.clock, LIMIT, lambda: self.noticed.append(self.now()))
        self.silence.__enter__()
        self.heard: float | None = None
        self.expected: list[float] = []
        self.is_over = False

    def now(self) -> float:
        return self.clock.monotonic() - self.start

    @rule(seconds=st.sampled_from([1, 40, 74, 75, 76, 200]))
    def pass_time(self, seconds: int) -> None:
        if self.heard is not None and not self.is_over:
            begin, end = self.now() - self.heard, self.now() - self.heard + seconds
            self.expected += [self.heard + at for at in range(LIMIT, int(end) + 1, LIMIT) if at > begin]
        self.runner.run(self.clock.advance(float(seconds)))

    @rule()
    def hear(self) -> None:
        self.silence.hear()
        if self.heard is not None:
            self.heard = self.now()

    @rule(gaps=st.lists(st.sampled_from([1, 40, 74]), min_size=1, max_size=3))
    def hear_now_and_then(self, gaps: list[int]) -> None:
        for gap in gaps:
            self.pass_time(gap)
            self.hear()

    @precondition(lambda self: not self.is_over)
    @rule()
    def listen(self) -> None:
        self.silence.listen()
        if self.heard is None:
            self.heard = self.now()

    @precondition(lambda self: not self.is_over)
    @rule(is_meant=st.sampled_from([False, False, True]), leaves=st.booleans())
    def end(self, is_meant: bool, leaves: bool) -> None:
        if is_meant and leaves:
            self.silence.__exit__(None, None, None)
        elif is_meant:
            self.silence.ignore()
        self.is_over = is_meant and (leaves or self.heard is not None)

    @invariant()
    def it_is_noticed_when_it_should_be(self) -> None:
        assert self.noticed == self.expected
        assert (self.clock.next_timer is None) == (self.heard is None or self.is_over)
        if self.heard is not None:
            assert self.silence.duration == self.now() - self.heard

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.close()


SilenceMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=20)
TestSilence = SilenceMachine.TestCase
