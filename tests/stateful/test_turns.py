"""The line for a rate limit against a list of people and a bucket of fractions."""

import asyncio
from fractions import Fraction

import anyio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.client import RateLimit
from kinformer.client._turns import Turns
from kinformer.testing import FakeClock, settle


class TurnsMachine(RuleBasedStateMachine):
    """People come, wait, give up and are served in order; the numbers are such that floats are exact."""

    @initialize(rate=st.sampled_from([0.25, 1.0, 8.0]), burst=st.integers(1, 4))
    def begin(self, rate: float, burst: int) -> None:
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.rate, self.burst = Fraction(rate), burst
        self.turns = Turns(RateLimit(rate, burst), self.clock)
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.served: list[tuple[int, float]] = []
        # The model: tokens, who waits, and who was served when.
        self.now = Fraction(0)
        self.tokens = Fraction(burst)
        self.line: list[int] = []
        self.expected: list[tuple[int, float]] = []
        self.people = 0

    def pass_turns(self) -> None:
        while self.line and self.tokens >= 1:
            self.tokens -= 1
            self.expected.append((self.line.pop(0), float(self.now)))

    @rule(count=st.integers(1, 5))
    def come(self, count: int) -> None:
        async def take(person: int) -> None:
            await self.turns.take()
            self.served.append((person, self.clock.monotonic()))

        async def arrive() -> None:
            for _ in range(count):
                self.people += 1
                self.tasks[self.people] = asyncio.get_running_loop().create_task(take(self.people))
                self.line.append(self.people)
            await settle()

        self.runner.run(arrive())
        self.pass_turns()

    @precondition(lambda self: self.line)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        person = data.draw(st.sampled_from(self.line))

        async def leave() -> None:
            self.tasks[person].cancel()
            await settle()

        self.runner.run(leave())
        self.line.remove(person)
        self.pass_turns()

    @rule(eighths=st.sampled_from([1, 4, 8, 12, 80, 400]))
    def pass_time(self, eighths: int) -> None:
        until = self.now + Fraction(eighths, 8)
        self.runner.run(self.clock.advance(eighths / 8))
        while True:
            due = (1 - self.tokens) / self.rate if self.line else until
            step = min(max(due, Fraction(0)), until - self.now)
            self.now += step
            self.tokens = min(Fraction(self.burst), self.tokens + step * self.rate)
            self.pass_turns()
            if self.now == until:
                break

    @invariant()
    def all_are_served_in_order_and_at_their_moment(self) -> None:
        if not hasattr(self, "turns"):
            return
        assert self.served == self.expected
        assert len(self.turns) == len(self.line)
        if not self.line:
            assert self.clock.next_timer is None

    def teardown(self) -> None:
        if hasattr(self, "runner"):

            async def end() -> None:
                for task in self.tasks.values():
                    task.cancel()
                await anyio.lowlevel.checkpoint()

            self.runner.run(end())
            self.runner.close()


TestTurns = TurnsMachine.TestCase
