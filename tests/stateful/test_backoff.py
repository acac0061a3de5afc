"""The opening bucket and the backoff against plain models."""

from fractions import Fraction
from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.reflector._backoff import Backoff, Openings

SECONDS = st.integers(0, 400)


class OpeningsMachine(RuleBasedStateMachine):
    """A bucket of six tokens that gains one every ten seconds; who finds it empty queues for the next one."""

    def __init__(self) -> None:
        super().__init__()
        self.openings = Openings()
        self.now = 0
        self.tokens = Fraction(6)
        self.used: list[float] = []

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: int) -> None:
        self.now += seconds
        self.tokens = min(Fraction(6), self.tokens + Fraction(seconds, 10))

    @rule()
    def take(self) -> None:
        self.tokens -= 1
        expected = max(Fraction(0), -self.tokens * 10)
        delay = self.openings.take(self.now)
        assert delay == float(expected)
        self.used.append(self.now + delay)

    @rule(which=st.integers(0, 20))
    def give_back(self, which: int) -> None:
        """One of those whose time has not come."""
        waiting = [moment for moment in self.used if moment > self.now]
        if waiting:
            self.used.remove(waiting[which % len(waiting)])
            self.tokens += 1
            self.openings.give_back()

    @rule(tries=st.integers(1, 30))
    def take_one_after_the_other(self, tries: int) -> None:
        """A loop that fails at once, as fast as it is let."""
        for _ in range(tries):
            self.take()
            self.pass_time(round(self.used[-1]) - self.now)

    @invariant()
    def it_is_full_when_the_last_token_is_back(self) -> None:
        assert self.openings.fills_in(self.now) == float((6 - self.tokens) * 10)

    @invariant()
    def openings_become_usable_in_order(self) -> None:
        assert self.used == sorted(self.used)

    @invariant()
    def no_minute_has_more_than_twelve(self) -> None:
        for start, end in zip(self.used, self.used[12:], strict=False):
            assert end - start >= 60.0


class BackoffMachine(RuleBasedStateMachine):
    """The whole history is kept, and the expected base is counted from it each time."""

    def __init__(self) -> None:
        super().__init__()
        self.backoff = Backoff(Random(1))
        self.now = 0
        self.story: list[tuple[str, int]] = []

    @rule(seconds=SECONDS)
    def pass_time(self, seconds: int) -> None:
        self.now += seconds

    @rule()
    def succeed(self) -> None:
        self.backoff.succeed(self.now)
        self.story.append(("success", self.now))

    @rule(at_least=st.sampled_from([0.0, 0.0, 5.0, 300.0]))
    def fail(self, at_least: float) -> None:
        delay = self.backoff.fail(self.now, at_least=at_least)
        self.story.append(("failure", self.now))
        base = min(30.0, 0.8 * 2 ** (self.failures_in_a_row() - 1))
        if delay != at_least:
            assert max(base, at_least) <= delay < 2 * base
        else:
            assert delay >= base

    def failures_in_a_row(self) -> int:
        """Failures since the last stretch of two minutes that began with a success and had no failure in it."""
        count = 0
        healthy_since: int | None = None
        for what, moment in self.story:
            if what == "success":
                healthy_since = moment if healthy_since is None else healthy_since
                continue
            is_forgiven = healthy_since is not None and moment - healthy_since >= 120
            count = 1 if is_forgiven else count + 1
            healthy_since = None
        return count


TestOpenings = OpeningsMachine.TestCase
TestBackoff = BackoffMachine.TestCase
