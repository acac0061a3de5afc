"""Watches against lists: whatever is written, a watcher that adds up its events has what a list shows."""

import asyncio
from collections.abc import Sequence
from random import Random
from typing import Any

import anyio
import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, rule

from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import (
    DeleteOptions,
    Event,
    ListOptions,
    PatchKind,
    StatusError,
    StoredObject,
    Target,
    Verbs,
    WriteOptions,
)
from kinformer.apiserver.storage import MemoryKV
from kinformer.meta import LabelSelector
from kinformer.testing import FakeClock

NAMES, COLORS = ("a", "b", "c"), ("red", "blue")


class WatchModel(RuleBasedStateMachine):
    """Writes are played one after the other; at the end a watcher is opened at every revision that there was."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        registry = Registry()
        self.kv = MemoryKV()
        self.clock = FakeClock()
        self.verbs = Verbs(self.kv, registry, clock=self.clock, random=Random(1))
        served = registry.find("", "v1", "configmaps")
        assert served is not None
        self.all = Target(served, "default")
        self.run(self.verbs.bootstrap())

    def run(self, work: Any, *, may_be: str = "") -> None:
        """Do it; an error of the reason ``may_be`` is fine too."""
        try:
            self.loop.run_until_complete(work)
        except StatusError as error:
            if error.reason != may_be:
                raise

    def target(self, name: str) -> Target:
        return Target(self.all.served, "default", name)

    @rule(name=st.sampled_from(NAMES), color=st.sampled_from(COLORS), held=st.booleans())
    def create(self, name: str, color: str, held: bool) -> None:
        metadata = {"name": name, "labels": {"color": color}, "finalizers": ["example.dev/x"] if held else []}
        work = self.verbs.create(self.all, {"metadata": metadata}, WriteOptions())
        self.run(work, may_be="AlreadyExists")

    @rule(name=st.sampled_from(NAMES), color=st.sampled_from(COLORS), release=st.booleans())
    def change(self, name: str, color: str, release: bool) -> None:
        metadata: dict[str, Any] = {"labels": {"color": color}, **({"finalizers": None} if release else {})}
        patch = {"metadata": metadata}
        work = self.verbs.patch(self.target(name), PatchKind.MERGE, patch, WriteOptions())
        self.run(work, may_be="NotFound")

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        self.run(self.verbs.delete(self.target(name), DeleteOptions()), may_be="NotFound")

    def teardown(self) -> None:
        try:
            for text in ("", "color=red"):
                self.run(self.check(LabelSelector.parse(text)))
        finally:
            self.loop.close()

    async def check(self, labels: LabelSelector) -> None:
        last = await self.kv.revision()
        final = await self.state(labels, last)
        async with anyio.create_task_group() as tasks:
            await tasks.start(self.verbs.run)
            for revision in range(5, last + 1):
                state = await self.state(labels, revision)
                self.add_up(await self.events(labels, str(revision)), state, revision, final)
            state = {}
            self.add_up(await self.events(labels, ""), state, 0, final)
            tasks.cancel_scope.cancel()

    async def events(self, labels: LabelSelector, version: str) -> list[Event]:
        """What a watch from a version tells until it has told everything."""
        found: list[Event] = []
        options = ListOptions(version=version, labels=labels)
        async with self.verbs.watch(self.all, options, bookmarks=True) as stream:
            await self.clock.advance(61.5)  # by then a bookmark has come
            while not found or found[-1].type != "BOOKMARK":
                found += await anext(stream)
        return found

    async def state(self, labels: LabelSelector, revision: int) -> dict[str, str]:
        options = ListOptions(version=str(revision), version_match="Exact", labels=labels)
        page = await self.verbs.list(self.all, options)
        return {item.content["metadata"]["name"]: str(item.version) for item in page.items}

    def add_up(
        self, events: Sequence[Event], state: dict[str, str], revision: int, final: dict[str, str]
    ) -> None:
        before = revision
        for event in events:
            version = body(event)["metadata"]["resourceVersion"]
            assert int(version) > before or event.type == "BOOKMARK" or not revision
            before = int(version)
            if event.type == "DELETED":
                del state[name(event)]
            elif event.type != "BOOKMARK":
                assert (event.type == "MODIFIED") is (name(event) in state)
                state[name(event)] = version
        assert state == final


def body(event: Event) -> dict[str, Any]:
    assert isinstance(event.obj, StoredObject)
    return event.obj.content


def name(event: Event) -> str:
    text: str = body(event)["metadata"]["name"]
    return text


TestWatch = WatchModel.TestCase
TestWatch.settings = settings(max_examples=20, stateful_step_count=25)
