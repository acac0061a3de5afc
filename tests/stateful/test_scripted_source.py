"""A scripted source against its script, played beforehand into a list of what is heard when."""

import asyncio
from collections.abc import Sequence
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.errors import ForbiddenError, TransportError
from kinformer.meta import ObjectList, Resource, WatchEvent
from kinformer.testing import HOLD, After, FakeClock, ScriptedRequest, ScriptedSource, bookmark, settle

PODS = Resource.builtin("Pod")
CLOSED = "closed"
Heard = list[tuple[float, Any]]
"""Moments, with an answer, a batch, the type of an error, or ``CLOSED``."""

PAUSES = st.sampled_from([1.0, 2.0])
PAGES = st.sampled_from([ObjectList[Any]((), "1"), ObjectList[Any]((), "2")])
ERRORS = st.sampled_from([ForbiddenError(403), TransportError("reset")])
STEPS = st.lists(
    st.sampled_from([bookmark("1"), [bookmark("2"), bookmark("3")], HOLD]) | PAUSES | ERRORS, max_size=4
)
LISTS = PAGES | ERRORS | st.just(HOLD)
WATCHES = STEPS | ERRORS | st.just(HOLD)


def late(answers: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return answers | st.builds(After, PAUSES, answers.filter(lambda answer: answer is not HOLD))


class Request:
    """One request: what was heard of it, and what the script makes of it."""

    def __init__(self, at: float, answer: Any) -> None:
        self.heard: Heard = []
        self.expected = list(played(at, answer))
        self.task: asyncio.Task[None] | None = None

    def expected_by(self, now: float) -> Heard:
        return [entry for entry in self.expected if entry[0] <= now]

    def is_over(self, now: float) -> bool:
        return any(not isinstance(entry, Sequence) or entry == CLOSED for _, entry in self.expected_by(now))


def played(at: float, answer: Any) -> Heard:
    """What comes of an answer to a request that was made at ``at``."""
    if isinstance(answer, After):
        return played(at + answer.delay, answer.answer)
    if answer is HOLD:
        return []
    if isinstance(answer, Exception):
        return [(at, type(answer))]
    if isinstance(answer, ObjectList):
        return [(at, answer)]
    heard: Heard = []
    for step in answer:
        match step:
            case float():
                at += step
            case Exception():
                return [*heard, (at, type(step))]
            case WatchEvent():
                heard.append((at, [step]))
            case list():
                heard.append((at, step))
            case _:
                return heard
    return [*heard, (at, CLOSED)]


class ScriptMachine(RuleBasedStateMachine):
    """Requests come one upon the other, and some are given up."""

    @initialize(lists=st.lists(late(LISTS), max_size=4), watches=st.lists(late(WATCHES), max_size=4))
    def begin(self, lists: list[Any], watches: list[Any]) -> None:
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.source = ScriptedSource(PODS, lists=iter(lists), watches=watches, clock=self.clock)
        self.lists, self.watches = [*lists], [*watches]
        self.requests: list[Request] = []
        self.asked: list[ScriptedRequest] = []

    @rule(limit=st.integers(0, 3))
    def list_it(self, limit: int) -> None:
        now = self.clock.monotonic()
        self.asked.append(ScriptedRequest("list", now, version="7", limit=limit))
        request = Request(now, self.lists.pop(0) if self.lists else HOLD)
        self.start(request, self.read_a_list(request, limit))

    async def read_a_list(self, request: Request, limit: int) -> None:
        try:
            answer: Any = await self.source.list(version="7", limit=limit)
        except (ForbiddenError, TransportError) as error:
            answer = type(error)
        request.heard.append((self.clock.monotonic(), answer))

    @rule(timeout=st.integers(0, 3))
    def watch_it(self, timeout: int) -> None:
        now = self.clock.monotonic()
        self.asked.append(ScriptedRequest("watch", now, version="7", timeout=timeout, bookmarks=True))
        request = Request(now, self.watches.pop(0) if self.watches else HOLD)
        self.start(request, self.read_a_watch(request, timeout))

    async def read_a_watch(self, request: Request, timeout: int) -> None:
        end: Any = CLOSED
        try:
            async with self.source.watch(version="7", timeout=timeout) as batches:
                async for batch in batches:
                    request.heard.append((self.clock.monotonic(), list(batch)))
        except (ForbiddenError, TransportError) as error:
            end = type(error)
        request.heard.append((self.clock.monotonic(), end))

    def start(self, request: Request, work: Any) -> None:
        self.requests.append(request)
        request.task = self.runner.get_loop().create_task(work)
        self.runner.run(settle())

    @precondition(lambda self: self.requests)
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self.requests))
        assert request.task is not None
        request.task.cancel()
        self.requests.remove(request)
        self.runner.run(settle())
        assert request.task.done()

    @rule(delay=PAUSES)
    def advance(self, delay: float) -> None:
        self.runner.run(self.clock.advance(delay))

    @invariant()
    def all_is_heard_at_its_moment(self) -> None:
        if not hasattr(self, "source"):
            return
        now = self.clock.monotonic()
        for request in self.requests:
            assert request.heard == request.expected_by(now)
        assert self.source.requests == self.asked
        assert self.source.lists == [asked for asked in self.asked if asked.verb == "list"]
        assert self.source.watches == [asked for asked in self.asked if asked.verb == "watch"]
        assert self.source.pending == sum(not request.is_over(now) for request in self.requests)

    def teardown(self) -> None:
        if hasattr(self, "runner"):
            self.runner.run(self.end())
            self.runner.close()

    async def end(self) -> None:
        for request in self.requests:
            if request.task is not None:
                request.task.cancel()
        await settle()
        assert self.source.pending == 0


TestScript = ScriptMachine.TestCase
TestScript.settings = settings(max_examples=40, stateful_step_count=15)
