"""The mapper against a server whose kinds come and go, and which takes its time and fails."""

import asyncio
from dataclasses import dataclass, field

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.client import Catalog, Mapper, ServedResource
from kinformer.errors import NoMatchError, TransportError
from kinformer.meta import Resource
from kinformer.testing import FakeClock, settle

NAMES = ("apples", "boxes", "cars")
KINDS = {name: Resource("example.dev", "v1", name, name.capitalize()) for name in NAMES}


@dataclass
class Read:
    """What one request to the server saw, and when."""

    began: int
    moment: float
    saw: frozenset[str]
    failed: bool
    ended: int | None = None


@dataclass
class Question:
    """One name, and what came of it."""

    name: str
    asked: int
    task: "asyncio.Task[None] | None" = field(default=None, repr=False)
    answer: object = None


class MapperMachine(RuleBasedStateMachine):
    """Time that orders what happened is a count; time that passes is the clock's."""

    @initialize(latency=st.sampled_from([0.0, 0.5, 7.0]))
    def begin(self, latency: float) -> None:
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.latency = latency
        self.mapper = Mapper(self.read, clock=self.clock)
        self.served = frozenset({"apples"})
        self.ever = {"apples"}
        self.is_down = False
        self.now = 0
        self.forgot = 0
        self.forgotten: list[float] = []
        self.reads: list[Read] = []
        self.at_once = 0
        self.questions: list[Question] = []

    def tick(self) -> int:
        self.now += 1
        return self.now

    async def read(self) -> Catalog:
        read = Read(self.tick(), self.clock.monotonic(), self.served, self.is_down)
        self.reads.append(read)
        self.at_once += 1
        assert self.at_once == 1, "two read at once"
        try:
            await self.clock.sleep(self.latency)
        finally:
            self.at_once -= 1
        read.ended = self.tick()
        if read.failed:
            raise TransportError("down")
        return Catalog(tuple(ServedResource(KINDS[name]) for name in sorted(read.saw)))

    async def ask_it(self, question: Question) -> None:
        try:
            question.answer = await self.mapper.find(question.name)
        except (NoMatchError, TransportError) as error:
            question.answer = error
        self.check(question)

    def check(self, question: Question) -> None:
        later = [read for read in self.reads if read.began > question.asked and read.ended]
        match question.answer:
            case NoMatchError():
                assert any(question.name not in read.saw and not read.failed for read in later)
            case TransportError():
                assert any(read.failed for read in later)
            case found:
                assert found == KINDS[question.name]
                reads = [read for read in self.reads if read.began > self.forgot and read.ended]
                assert any(question.name in read.saw and not read.failed for read in reads)

    @rule(names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4))
    def ask(self, names: list[str]) -> None:
        async def begin() -> None:
            for name in names:
                question = Question(name, self.tick())
                self.questions.append(question)
                question.task = asyncio.get_running_loop().create_task(self.ask_it(question))
            await settle()

        self.runner.run(begin())

    @precondition(lambda self: any(q.answer is None for q in self.questions))
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        question = data.draw(st.sampled_from([q for q in self.questions if q.answer is None]))

        async def cancel() -> None:
            assert question.task is not None
            question.task.cancel()
            await settle()

        self.questions.remove(question)
        self.runner.run(cancel())

    @rule(name=st.sampled_from(NAMES))
    def define_or_withdraw(self, name: str) -> None:
        self.tick()
        self.served ^= {name}

    @rule()
    def break_or_mend(self) -> None:
        self.is_down = not self.is_down

    @rule()
    def forget(self) -> None:
        async def invalidate() -> None:
            self.forgot = self.tick()
            self.forgotten.append(self.clock.monotonic())
            self.mapper.invalidate()
            await settle()

        self.runner.run(invalidate())

    @rule(seconds=st.sampled_from([0.25, 1.0, 5.0, 60.0]))
    def pass_time(self, seconds: float) -> None:
        self.runner.run(self.clock.advance(seconds))

    @invariant()
    def the_server_is_spared(self) -> None:
        if not hasattr(self, "reads"):
            return
        moments = [read.moment for read in self.reads]
        for index, first in enumerate(moments):
            for count, last in enumerate(moments[index:], start=1):
                fresh = sum(first <= moment <= last for moment in self.forgotten)
                assert count <= 3 + (last - first) / 5.0 + min(fresh + 1, 3 + (last - first)) + 1e-9
                if not self.forgotten:
                    assert count <= 3 + (last - first) / 5.0 + 1e-9

    @invariant()
    def nobody_waits_for_nothing(self) -> None:
        if not hasattr(self, "reads"):
            return
        waiting = [question for question in self.questions if question.answer is None]
        assert bool(waiting) == (self.clock.next_timer is not None)

    def teardown(self) -> None:
        if not hasattr(self, "runner"):
            return
        self.runner.run(self.clock.advance(300.0))
        assert all(question.answer is not None for question in self.questions)

        async def raise_what_failed() -> None:
            for question in self.questions:
                assert question.task is not None
                await question.task

        self.runner.run(raise_what_failed())
        self.runner.close()


TestMapper = MapperMachine.TestCase
