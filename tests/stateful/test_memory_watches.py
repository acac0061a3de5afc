"""Watches of the storage in memory against the list of all changes that ever were."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinformer.apiserver.storage import Batch, CompactedError, MemoryKV, Watch
from kinformer.testing import settle

T = TypeVar("T")

STEPS = [
    "write",
    "write",
    "delete",
    "write elsewhere",
    "write elsewhere",
    "compact",
    "read",
    "read",
    "read",
    "read",
    "ask for progress",
    "give up",
    "rest",
    "rest",
]
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

    @initialize(history=st.sampled_from([2, 12, 20]), first=st.sampled_from([1, 50]))
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
    def open_one(self, prefix: str, back: int) -> None:
        self.open(prefix, back)

    def open(self, prefix: str, back: int) -> None:
        start = max(1, self.now + 1 - back)
        cm = self.kv.watch(prefix, start)
        if start < self.compacted:
            with pytest.raises(CompactedError):
                at_once(cm.__aenter__())
        elif len(self.followers) < 4:
            self.followers.append(Follower(at_once(self.stack.enter_async_context(cm)), prefix, start))

    @rule(steps=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 3)), min_size=4, max_size=16))
    def go_on(self, steps: list[tuple[str, int]]) -> None:
        if len(self.followers) < 2:
            self.open("/a/", 0)
            self.open("/b/", 0)
        for step, number in steps:
            match step:
                case "compact":
                    self.compact(self.now - 4 * number)
                case "write":
                    self.change(f"/{'aab'[number % 3]}/1")
                case "delete":
                    self.change("/a/1", is_deleted=True)
                case "write elsewhere":
                    for _ in range(number * 8):
                        self.change("/c/1")
                case "rest":
                    self.rest()
                case "read":
                    for one in self.followers[: number + 1]:
                        one.task = one.task or self.runner.get_loop().create_task(anext_of(one.watch))
                case "ask for progress":
                    for one in self.followers[: number + 1]:
                        one.watch.request_progress()
                        one.wants_progress = True
                        self.wake(one)
                case _:
                    self.give_up(self.followers[: number + 1])

    def compact(self, revision: int) -> None:
        if revision > self.compacted:
            at_once(self.kv.compact(revision))
            self.asked = revision

    def change(self, key: str, *, is_deleted: bool = False) -> None:
        if not is_deleted:
            at_once(self.kv.put(key, b""))
        elif at_once(self.kv.delete(key)) is None:
            return
        self.log.append(key)
        for one in self.followers:
            if one.is_idle and one.floor <= self.now and key.startswith(one.prefix):
                one.is_idle, one.floor = False, self.now

    def give_up(self, followers: list[Follower]) -> None:
        """Cancel what they read: it waits, or was woken and has not had its turn, or has not even begun."""
        tasks = []
        for one in followers:
            if one.task is not None:
                one.task.cancel()
                tasks.append(one.task)
                one.task = None
                self.wake(one)
        self.rest()
        assert all(task.cancelled() for task in tasks)

    def wake(self, one: Follower) -> None:
        """All that has come while it was idle is known to be of no interest to it."""
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
TestMemoryWatches.settings = settings(max_examples=40, stateful_step_count=12, deadline=None)
