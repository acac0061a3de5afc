"""Waiting for a state that comes and goes."""

import anyio
import pytest

from kinformer.apiserver.storage._readiness import Readiness
from kinformer.testing import settle


@pytest.mark.parametrize("waiters", [1, 16])
@pytest.mark.parametrize("direction", ["ready", "not ready"])
async def test_all_who_wait_are_woken_though_it_changes_back_at_once(waiters: int, direction: str) -> None:
    readiness = Readiness()
    wait, there, back = readiness.wait_ready, readiness.set, readiness.reset
    if direction == "not ready":
        readiness.set()
        wait, there, back = readiness.wait_not_ready, readiness.reset, readiness.set
    woken: list[int] = []

    async def one(number: int) -> None:
        await wait()
        woken.append(number)

    async with anyio.create_task_group() as tasks:
        for number in range(waiters):
            tasks.start_soon(one, number)
        await settle()
        assert woken == []
        there()
        back()
    assert len(woken) == waiters


async def test_nobody_waits_for_what_is_there() -> None:
    readiness = Readiness()
    await readiness.wait_not_ready()
    readiness.set()
    await readiness.wait_ready()
    assert readiness.is_ready


def test_each_time_that_it_becomes_ready_is_counted_once() -> None:
    readiness = Readiness()
    for _ in range(2):
        readiness.set()
        readiness.set()
        readiness.reset()
        readiness.reset()
    assert (readiness.generation, readiness.is_ready) == (2, False)
