"""Hooks, buckets, limiters and errors of the user's that fail: no key is lost, and none is stuck."""

import logging
import sys
from collections.abc import Hashable

import anyio
import pytest

from kinformer.hooks import KeyAdded, KeyDone, KeyParked, KeyResumed, KeyRetried, KeyTaken, NoHooks
from kinformer.testing import FakeClock, settle
from kinformer.workqueue import ExponentialLimiter, MaxAttempts, PriorityReady, WorkQueue
from tests.unit.workqueue.stage import Getter


class Failing(NoHooks):
    """Hooks that all raise."""

    def key_added(self, event: KeyAdded, /) -> None:
        raise RuntimeError("added")

    def key_taken(self, event: KeyTaken, /) -> None:
        raise RuntimeError("taken")

    def key_done(self, event: KeyDone, /) -> None:
        raise RuntimeError("done")

    def key_retried(self, event: KeyRetried, /) -> None:
        raise RuntimeError("retried")

    def key_parked(self, event: KeyParked, /) -> None:
        raise RuntimeError("parked")

    def key_resumed(self, event: KeyResumed, /) -> None:
        raise RuntimeError("resumed")


def parking() -> MaxAttempts[Hashable]:
    return MaxAttempts(ExponentialLimiter(1.0, 2.0), 1)


async def test_hooks_that_raise_are_logged_and_disturb_neither_keys_nor_waiters(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock = FakeClock()
    queue = WorkQueue[str]("sites", hooks=Failing(), clock=clock, limiter=parking())
    waiter = Getter(queue)
    drained: list[float] = []

    async def drain() -> None:
        await queue.drain()
        drained.append(clock.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(waiter.run)
        await settle()
        queue.add("x")
        queue.add_after("y", 1.0)
        queue.add_after("z", 2.0)
        await settle()
        assert waiter.got == "x"
        queue.add_rate_limited("x", error=ValueError("no"))
        assert queue.is_parked("x")
        group.start_soon(drain)
        await settle()
        queue.done("x")
        await settle()
        assert drained == [0.0]
        queue.add("x")
        assert not queue.is_parked("x")
        await clock.advance(2.0)
        assert [await queue.get(), await queue.get(), await queue.get()] == ["x", "y", "z"]
    failed = [str(record.exc_info[1]) for record in caplog.records if record.exc_info and record.exc_info[1]]
    assert set(failed) == {"added", "taken", "done", "retried", "parked", "resumed"}
    assert {record.levelno for record in caplog.records if record.exc_info} == {logging.ERROR}


async def test_a_key_that_cannot_be_let_in_at_its_moment_keeps_no_other_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def bucket(key: str) -> str:
        if key == "bad":
            raise ValueError("no bucket")
        return ""

    clock = FakeClock()
    queue = WorkQueue[str]("sites", ready=PriorityReady(bucket=bucket), clock=clock)
    for key, delay in {"a": 1.0, "bad": 1.0, "b": 1.0, "late": 5.0}.items():
        queue.add_after(key, delay)
    await clock.advance(5.0)
    assert [ready.key for ready in queue.snapshot().ready] == ["a", "b", "late"]
    assert queue.delayed == 0
    assert "'bad' was due and is lost" in caplog.text


async def test_a_limiter_that_cannot_forget_keys_that_are_gone_holds_up_no_key_in_hands() -> None:
    class Grudging(ExponentialLimiter):
        def forget(self, key: Hashable, /) -> None:
            raise ValueError(f"{key} is not forgotten")

    clock = FakeClock()
    queue = WorkQueue[str](limiter=Grudging(1.0, 2.0), clock=clock)
    queue.add("gone")
    queue.add_rate_limited(await queue.get())
    queue.done("gone")
    await clock.advance(1.0)
    queue.done(await queue.get())
    queue.add("x")
    await queue.get()
    with pytest.raises(ValueError, match="gone is not forgotten"):
        queue.done("x")
    assert queue.snapshot().running == ()
    queue.add("x")
    assert await queue.get() == "x"


async def test_an_error_without_a_text_parks_its_key() -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    queue = WorkQueue[str](limiter=parking(), clock=FakeClock())
    queue.add("x")
    queue.add_rate_limited(await queue.get(), error=MuteError())
    queue.done("x")
    assert [(parked.key, parked.error) for parked in queue.snapshot().parked] == [
        ("x", "MuteError, whose text failed")
    ]


async def test_parked_keys_that_are_resumed_give_their_memory_back() -> None:
    keys = [str(number) for number in range(2_000)]
    queue = WorkQueue[str](limiter=parking(), clock=FakeClock())
    for key in keys:
        queue.add_rate_limited(key)
    assert queue.parked == len(keys)
    for key in keys:
        queue.forget(key)
    assert sys.getsizeof(queue._parked) == sys.getsizeof({})


async def test_a_hook_may_add_and_shut_down_in_the_midst_of_a_call() -> None:
    class Restless(NoHooks):
        def key_taken(self, event: KeyTaken, /) -> None:
            queue.add("taken")

        def key_done(self, event: KeyDone, /) -> None:
            queue.add("done")

        def key_resumed(self, event: KeyResumed, /) -> None:
            queue.add_after("resumed", 1.0)

        def key_parked(self, event: KeyParked, /) -> None:
            queue.add("x")

    clock = FakeClock()
    queue = WorkQueue[str](hooks=Restless(), limiter=parking(), clock=clock)
    queue.add("x")
    queue.add_rate_limited(await queue.get())
    assert queue.parked == 0
    queue.done("x")
    await clock.advance(1.0)
    assert {ready.key for ready in queue.snapshot().ready} == {"taken", "x", "done", "resumed"}
