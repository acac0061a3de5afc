"""The informer factory against a list of who holds what."""

import asyncio
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.errors import ClosedError
from kinformer.informer import InformerFactory, SharedInformer
from kinformer.meta import Object, Resource
from kinformer.testing import HOLD, FakeClock, ScriptedSource, WatchAnswer, bookmark, settle

SYNCED: WatchAnswer = [bookmark("9", ends_initial_events=True), HOLD]
PODS, NODES = Resource.builtin("Pod"), Resource.builtin("Node")
WISHES: list[tuple[str, dict[str, Any]]] = [
    ("pods", {"resource": PODS}),
    ("pods", {"resource": PODS, "model": dict}),
    ("nodes", {"resource": NODES}),
    ("two", {"resource": PODS, "namespaces": ["a", "b"]}),
    ("two", {"resource": PODS, "namespaces": ["b", "a"], "model": dict}),
    ("web", {"resource": PODS, "labels": "app=web"}),
    ("web", {"resource": PODS, "labels": "app==web", "model": dict}),
]


class Client:
    """Serves nothing, and has every watch held open."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.sources: list[ScriptedSource] = []

    def resource(self, resource: Resource, /) -> "Narrowed":
        return Narrowed(self, resource)


@dataclass
class Narrowed:
    client: Client
    resource: Resource

    def where(self, **filters: str | None) -> ScriptedSource:
        source = ScriptedSource(self.resource, watches=repeat(SYNCED), clock=self.client.clock)
        self.client.sources.append(source)
        return source


@dataclass(eq=False)
class Holder:
    """One who has acquired an informer."""

    name: str
    model: type
    resync: float
    block: AbstractContextManager[SharedInformer[Any]]
    informer: SharedInformer[Any]
    sources: list[ScriptedSource]

    @property
    def pending(self) -> list[int]:
        return [source.pending for source in self.sources]


class FactoryMachine(RuleBasedStateMachine):
    """Who asks for the same gets the same, in each model; what nobody holds any more has ended."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.client = Client()
        self.factory = InformerFactory(self.client, clock=self.client.clock)
        self.holders: list[Holder] = []
        self.let_go: list[Holder] = []
        self.task: asyncio.Task[None] | None = None
        self.has_ended = False

    @property
    def runs(self) -> bool:
        return self.task is not None and not self.has_ended

    @rule(wish=st.sampled_from(WISHES), resync=st.sampled_from([0.0, 0.0, 5.0]))
    def acquire(self, wish: tuple[str, dict[str, Any]], resync: float) -> None:
        name, arguments = wish
        block = self.factory.acquire(**arguments, resync=resync)
        self.runner.run(self.enter(name, arguments.get("model", Object), block, resync))

    async def enter(
        self, name: str, model: type, block: AbstractContextManager[SharedInformer[Any]], resync: float
    ) -> None:
        same = [holder for holder in self.holders if holder.name == name]
        if self.has_ended:
            with pytest.raises(ClosedError):
                block.__enter__()
        elif same and same[0].resync != resync:
            with pytest.raises(ValueError, match="ask for the same"):
                block.__enter__()
        else:
            before = len(self.client.sources)
            informer = block.__enter__()
            made = self.client.sources[before:]
            assert len(made) == (0 if same else 1 + (name == "two"))
            for holder in same:
                assert informer.store is holder.informer.store
                assert (informer is holder.informer) == (model is holder.model)
            sources = same[0].sources if same else made
            self.holders.append(Holder(name, model, resync, block, informer, sources))

    @precondition(lambda self: not self.has_ended)
    @rule(name=st.sampled_from(["leases", "jobs"]), again=st.booleans())
    def acquire_for_a_moment(self, name: str, again: bool) -> None:
        """And let go before anything had a turn."""
        self.runner.run(self.pass_by(Resource.builtin({"leases": "Lease", "jobs": "Job"}[name]), again))

    async def pass_by(self, resource: Resource, again: bool) -> None:
        for _ in range(1 + again):
            with self.factory.acquire(resource) as informer:
                pass
            assert informer.is_closed

    @precondition(lambda self: self.holders)
    @rule(data=st.data(), fails=st.booleans())
    def release(self, data: st.DataObject, fails: bool) -> None:
        holder = data.draw(st.sampled_from(self.holders))
        self.runner.run(self.leave(holder, ValueError("the block failed") if fails else None))

    async def leave(self, holder: Holder, error: Exception | None) -> None:
        self.holders.remove(holder)
        self.let_go.append(holder)
        if error is None:
            holder.block.__exit__(None, None, None)
        else:
            with pytest.raises(ValueError, match="the block failed"):
                holder.block.__exit__(type(error), error, None)
                raise error

    @rule()
    def run_it(self) -> None:
        if self.task is None:
            self.task = self.runner.get_loop().create_task(self.factory.run())
        else:
            with pytest.raises(RuntimeError, match="runs once"):
                self.runner.run(self.factory.run())

    @precondition(lambda self: self.runs and len(self.let_go) > 1)
    @rule()
    def end_it(self) -> None:
        assert self.task is not None
        self.task.cancel()
        self.has_ended = True

    @rule()
    def rest(self) -> None:
        self.runner.run(settle())

    @invariant()
    def what_is_held_runs_and_nothing_else(self) -> None:
        self.rest()
        assert self.task is None or self.task.done() == self.has_ended
        held = {holder.name: holder for holder in self.holders}
        assert len(self.factory._held) == len(held)
        for holder in held.values():
            assert holder.informer.is_synced or not self.runs
            assert holder.informer.is_closed == self.has_ended
            assert holder.pending == [self.runs] * len(holder.sources)
        for holder in self.let_go:
            is_held = any(holder.informer is other.informer for other in self.holders)
            assert holder.informer.is_closed == (not is_held or self.has_ended)
            if all(holder.sources is not other.sources for other in self.holders):
                assert not any(holder.pending)

    def teardown(self) -> None:
        self.runner.run(self.end())
        self.runner.close()

    async def end(self) -> None:
        for holder in self.holders:
            holder.block.__exit__(None, None, None)
        if self.task is not None:
            self.task.cancel()
        await settle()
        assert self.task is None or self.task.done()
        assert not any(source.pending for source in self.client.sources)


TestFactory = FactoryMachine.TestCase
TestFactory.settings = settings(max_examples=40, stateful_step_count=20)
