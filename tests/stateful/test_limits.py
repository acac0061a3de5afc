"""The limiters against counters in a dict and a bucket of fractions."""

import asyncio
from fractions import Fraction
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinformer.testing import FakeClock
from kinformer.workqueue import ExponentialLimiter, FastSlow, MaxWait, SlowestOf, TokenBucket

KEYS = st.sampled_from("abc")


class LimitsMachine(RuleBasedStateMachine):
    """Each limiter by itself and all of them stacked; the numbers are such that floats are exact."""

    @initialize(
        base=st.sampled_from([0.125, 1.0, 3.0]),
        cap=st.sampled_from([3.0, 64.0, 100.0]),
        rate=st.sampled_from([0.25, 1.0, 8.0]),
        burst=st.integers(1, 4),
        most=st.sampled_from([0.0, 2.0, 50.0]),
    )
    def begin(self, base: float, cap: float, rate: float, burst: int, most: float) -> None:
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.base, self.cap, self.rate, self.burst, self.most = base, cap, rate, burst, most
        self.plain = ExponentialLimiter(base, cap)
        self.jittery = ExponentialLimiter(base, cap, random=Random(1))
        self.fast_slow = FastSlow(base, cap, burst)
        self.bucket = TokenBucket(rate, burst, self.clock)
        self.stack = MaxWait[str](
            SlowestOf(ExponentialLimiter(base, cap), TokenBucket(rate, burst, self.clock)), most
        )
        self.failures: dict[str, int] = {}
        self.tokens = Fraction(burst)

    @rule(seconds=st.integers(0, 30))
    def pass_time(self, seconds: int) -> None:
        self.runner.run(self.clock.advance(float(seconds)))
        self.tokens = min(Fraction(self.burst), self.tokens + seconds * Fraction(self.rate))

    @rule(key=KEYS, times=st.integers(1, 5))
    def fail(self, key: str, times: int) -> None:
        for _ in range(times):
            count = self.failures[key] = self.failures.get(key, 0) + 1
            self.tokens -= 1
            step = min(self.base * 2 ** (count - 1), self.cap)
            until_token = float(max(Fraction(0), -self.tokens / Fraction(self.rate)))
            assert self.plain.delay(key) == step
            high = min(self.base * 2**count, self.cap)
            assert max(self.base, high / 2) <= self.jittery.delay(key) <= high
            assert self.fast_slow.delay(key) == (self.base if count <= self.burst else self.cap)
            assert self.bucket.delay(key) == until_token
            assert self.stack.delay(key) == min(max(step, until_token), self.most)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.failures.pop(key, None)
        for limiter in (self.plain, self.jittery, self.fast_slow, self.bucket, self.stack):
            limiter.forget(key)

    @invariant()
    def failures_are_counted_by_key(self) -> None:
        for key in "abc":
            count = self.failures.get(key, 0)
            assert [limiter.requeues(key) for limiter in (self.plain, self.jittery, self.stack)] == [
                count
            ] * 3
            assert self.bucket.requeues(key) == 0

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.close()


LimitsMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=20)
TestLimits = LimitsMachine.TestCase
