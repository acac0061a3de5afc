"""The sweep itself: what it sees when something is left, and where it finds a task that waits."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.meta import Resource
from kinformer.testing import FakeClock, ScriptedSource
from tests.scenario.cancelling.haste import HastyLoop
from tests.scenario.cancelling.points import chain, points
from tests.scenario.cancelling.sweep import Sweep

ROOMS = "testing/"
KEPT: list[object] = []


def in_haste(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test where a second, for which what is left might yet go, is short."""

    @wraps(test)
    def run(*args: Any, **options: Any) -> None:
        with asyncio.Runner(loop_factory=HastyLoop) as runner:
            runner.run(test(*args, **options))

    return run


async def swept(work: Callable[[], Awaitable[None]], held: Callable[[], object] = lambda: None) -> Sweep:
    sweep = Sweep(ROOMS)
    with sweep.observer.installed():
        await sweep.of(work, held=held)
    return sweep


async def wait_somewhere() -> None:
    """A point of the rooms."""
    await FakeClock().sleep(0.0)


async def leave_a_timer() -> None:
    KEPT.append(asyncio.get_running_loop().call_later(60.0, print))
    await wait_somewhere()


async def leave_a_descriptor() -> None:
    KEPT.append(os.open(os.devnull, os.O_RDONLY))
    await wait_somewhere()


async def leave_a_generator() -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 1

    generator = numbers()
    KEPT.append(generator)
    await anext(generator)
    await wait_somewhere()


async def swallow() -> None:
    try:
        await wait_somewhere()
    except asyncio.CancelledError:
        await checkpoint()


@pytest.mark.parametrize("work", [leave_a_timer, leave_a_descriptor, leave_a_generator, swallow])
@in_haste
async def test_what_is_left_and_what_is_swallowed_is_seen(work: Callable[[], Awaitable[None]]) -> None:
    with pytest.raises(AssertionError, match="cancel"):
        await swept(work)
    for one in KEPT:
        if isinstance(one, int):
            os.close(one)
        if isinstance(one, asyncio.TimerHandle):
            one.cancel()
    KEPT.clear()


@in_haste
async def test_a_task_that_is_left_is_seen() -> None:
    async with anyio.create_task_group() as tasks:

        async def leave_a_task() -> None:
            tasks.start_soon(anyio.sleep_forever)
            await wait_somewhere()

        with pytest.raises(AssertionError, match="Task pending"):
            await swept(leave_a_task)
        tasks.cancel_scope.cancel()


@in_haste
async def test_what_the_stage_holds_is_seen() -> None:
    held: list[int] = []

    async def hold() -> None:
        held.append(1)
        await wait_somewhere()

    with pytest.raises(AssertionError, match="of_the_stage"):
        await swept(hold, lambda: len(held))


@in_haste
async def test_work_that_leaves_nothing_is_cancelled_at_each_of_its_points_and_comes_to_its_end() -> None:
    ends: list[str] = []

    async def wait_twice() -> None:
        clock = FakeClock()
        try:
            await clock.sleep(0.0)
            await clock.advance(1.0)
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise
        ends.append("done")

    sweep = await swept(wait_twice)
    assert {str(point) for point in sweep.observer.struck} == {
        "testing/_clock.py, FakeClock.sleep: await checkpoint()",
        "testing/_clock.py, FakeClock.advance: await settle()",
        "testing/_clock.py, settle: await checkpoint()",
    }
    assert ends == ["cancelled", "cancelled", "done"] * 2


@in_haste
async def test_a_chain_leads_through_generators_and_what_drives_them() -> None:
    clock = FakeClock()
    source = ScriptedSource(Resource.builtin("Pod"), watches=[[1.0, []]], clock=clock)

    async def read() -> None:
        async with source.watch() as batches:
            await anext(batches)

    reading = read()
    reading.send(None)
    assert [str(point) for point in chain(reading)] == [
        "testing/_source.py, ScriptedSource._play: await self._clock.sleep(step)",
        "testing/_clock.py, FakeClock.sleep: await woken.wait()",
    ]
    await clock.advance(1.0)
    with pytest.raises(StopIteration):
        reading.send(None)


def test_every_kind_of_waiting_is_found_in_the_source() -> None:
    beginnings = {point.text.partition(" ")[0] for point in points()}
    assert {"await", "async", "enter", "leave"} <= beginnings
