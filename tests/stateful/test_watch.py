"""Watches against lists: whatever is written, a watcher that adds up its events has what a list shows."""

import asyncio
from random import Random
from typing import Any

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
from kinformer.apiserver.storage import KeyRange, MemoryKV
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
        self.verbs = Verbs(self.kv, registry, clock=FakeClock(), random=Random(1))
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
        for revision in range(5, last + 1):
            state = await self.state(labels, revision)
            options = ListOptions(version=str(revision), labels=labels)
            async with self.verbs.watch(self.all, options, bookmarks=True) as stream:
                if (await self.kv.range(KeyRange.prefix(self.all.served.prefix()))).revision > revision:
                    await self.add_up(stream, state, revision, final)
        async with self.verbs.watch(self.all, ListOptions(labels=labels), bookmarks=True) as stream:
            *added, end = await anext(stream)
            assert end.type == "BOOKMARK"
            assert {name(event): body(event)["metadata"]["resourceVersion"] for event in added} == final

    async def state(self, labels: LabelSelector, revision: int) -> dict[str, str]:
        options = ListOptions(version=str(revision), version_match="Exact", labels=labels)
        page = await self.verbs.list(self.all, options)
        return {item.content["metadata"]["name"]: str(item.version) for item in page.items}

    async def add_up(self, stream: Any, state: dict[str, str], revision: int, final: dict[str, str]) -> None:
        stream._watch.request_progress()  # so that a watcher without events does not wait for ever
        stream._is_bookmark_due = True
        before = revision
        for event in await anext(stream):
            version = body(event)["metadata"]["resourceVersion"]
            assert int(version) > before or event.type == "BOOKMARK"
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
TestWatch.settings = settings(max_examples=40, stateful_step_count=25)
