"""Watches of the storage in memory against the list of all changes that ever were."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.apiserver.storage import Batch, CompactedError, MemoryKV, Watch
from kinformer.testing import settle

T = TypeVar("T")

KEYS = st.sampled_from(["/a/1", "/a/1", "/b/1"])
PREFIXES = st.sampled_from(["/a/", "/b/", "/"])


@dataclass
class Follower:
    """A watch, what reads from it, and what the model knows of it."""

    watch: Watch
    prefix: str
    floor: int
    """From here on nothing is known to be of no interest."""
    wants_progress: bool = False
    is_idle: bool = False
    task: asyncio.Task[Batch] | None = None


class MemoryWatchesMachine(RuleBasedStateMachine):
    """Followers that read one batch at a time, or do not, or give up in the midst of waiting."""

    @initialize(history=st.integers(2, 12), first=st.sampled_from([1, 50]))
    def begin(self, history: int, first: int) -> None:
        self.runner = asyncio.Runner()
        self.stack = AsyncExitStack()
        self.history = history
        self.kv = MemoryKV(history=history, first=first)
        self.log: list[str] = [""] * (first + 1)  # the key that changed, by revision
        self.begun = first + 1
        self.asked = 0
        self.followers: list[Follower] = []

    @property
    def now(self) -> int:
        return len(self.log) - 1

    @property
    def compacted(self) -> int:
        return self.kv._core.compacted

    @rule(prefix=PREFIXES, back=st.integers(-3, 15))
    def open(self, prefix: str, back: int) -> None:
        start = max(1, self.now + 1 - back)
        cm = self.kv.watch(prefix, start)
        if start < self.compacted:
            with pytest.raises(CompactedError):
                at_once(cm.__aenter__())
        elif len(self.followers) < 4:
            self.followers.append(Follower(at_once(self.stack.enter_async_context(cm)), prefix, start))

    @rule(keys=st.lists(KEYS, min_size=1, max_size=6), deletes=st.booleans(), rests=st.booleans())
    def write(self, keys: list[str], deletes: bool, rests: bool) -> None:
        for key in keys:
            if not deletes:
                at_once(self.kv.put(key, b""))
            elif at_once(self.kv.delete(key)) is None:
                continue
            self.log.append(key)
            for one in self.followers:
                if one.is_idle and one.floor <= self.now and key.startswith(one.prefix):
                    one.is_idle, one.floor = False, self.now
        if rests:
            self.rest()

    @rule(back=st.integers(0, 15))
    def compact(self, back: int) -> None:
        revision = self.now - back
        if revision > self.compacted:
            at_once(self.kv.compact(revision))
            self.asked = revision

    @precondition(lambda self: self.followers)
    @rule(data=st.data(), rests=st.booleans())
    def read(self, data: st.DataObject, rests: bool) -> None:
        one = data.draw(st.sampled_from(self.followers))
        if one.task is None:
            one.task = self.runner.get_loop().create_task(anext_of(one.watch))
        if rests:
            self.rest()

    @precondition(lambda self: self.followers)
    @rule(data=st.data())
    def ask_for_progress(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.followers))
        one.watch.request_progress()
        one.wants_progress = True
        if one.is_idle:
            one.is_idle, one.floor = False, max(one.floor, self.now + 1)

    @precondition(lambda self: any(one.task for one in self.followers))
    @rule(data=st.data())
    def give_up(self, data: st.DataObject) -> None:
        """Whether it still waits, or was woken and has not had its turn, or has not even begun."""
        one = data.draw(st.sampled_from([one for one in self.followers if one.task]))
        assert one.task is not None
        task, one.task = one.task, None
        task.cancel()
        self.rest()
        assert task.cancelled()
        if one.is_idle:
            one.is_idle, one.floor = False, max(one.floor, self.now + 1)

    def rest(self) -> None:
        """Every reader has its turn; what each must have got follows from the log."""
        self.runner.run(settle())
        for one in list(self.followers):
            if one.task is None:
                continue
            if one.is_idle:
                assert not one.task.done()
                continue
            revisions = range(max(one.floor, self.begun), self.now + 1)
            expected = [revision for revision in revisions if self.log[revision].startswith(one.prefix)]
            if one.floor < self.compacted:
                assert isinstance(one.task.exception(), CompactedError)
                self.followers.remove(one)
            elif expected or one.wants_progress:
                batch = one.task.result()
                assert [change.revision for change in batch.changes] == expected
                assert [change.key for change in batch.changes] == [self.log[at] for at in expected]
                assert batch.revision == self.now
                one.task, one.wants_progress, one.floor = None, False, max(one.floor, self.now + 1)
            else:
                assert not one.task.done()
                one.is_idle = True

    @invariant()
    def the_history_is_as_long_as_was_promised(self) -> None:
        if hasattr(self, "kv"):
            assert self.compacted <= max(self.asked, self.begun - 1, self.now + 1 - self.history)
            assert len(self.kv._core) <= self.history + self.history // 10
            assert len(self.kv._idle) == sum(one.is_idle for one in self.followers)

    def teardown(self) -> None:
        if hasattr(self, "kv"):
            self.runner.run(self.end())
            self.runner.close()

    async def end(self) -> None:
        for one in self.followers:
            if one.task is not None:
                one.task.cancel()
        await settle()
        await self.stack.aclose()
        assert not self.kv._idle


def at_once(work: Coroutine[Any, Any, T]) -> T:
    """Do what never waits, without giving any reader a turn."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    raise AssertionError("it waits")


async def anext_of(watch: Watch) -> Batch:
    return await anext(watch)


TestMemoryWatches = MemoryWatchesMachine.TestCase
TestMemoryWatches.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
