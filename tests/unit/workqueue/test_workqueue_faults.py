"""Hooks, buckets, limiters and errors of the user's that fail: no key is lost, and none is stuck."""

import logging
from collections.abc import Hashable

import anyio
import pytest

from kinformer.hooks import KeyAdded, KeyDone, KeyParked, KeyResumed, KeyRetried, KeyTaken, NoHooks
from kinformer.testing import FakeClock, settle
from kinformer.workqueue import ExponentialLimiter, MaxAttempts, WorkQueue
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
