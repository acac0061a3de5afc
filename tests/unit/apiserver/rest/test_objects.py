"""Writes that are not broken off before what follows from them is done."""

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.apiserver.registry import Registry, StatusError
from kinformer.apiserver.rest._objects import Objects
from kinformer.apiserver.storage import MemoryKV
from kinformer.testing import FakeClock, settle


def objects_on(clock: FakeClock) -> Objects:
    return Objects(MemoryKV(), Registry(), clock=clock)


async def test_a_cancellation_waits_for_an_unbroken_block_to_end() -> None:
    clock, steps = FakeClock(), list[str]()
    with anyio.CancelScope() as scope:
        with objects_on(clock).unbroken():
            scope.cancel()
            await checkpoint()
            steps.append("written")
        await checkpoint()
        steps.append("never")
    assert steps == ["written"]
    assert clock.next_timer is None


async def test_a_storage_that_never_answers_is_given_up_after_half_a_minute() -> None:
    clock, codes = FakeClock(), list[int]()

    async def write() -> None:
        with pytest.raises(StatusError) as caught, objects_on(clock).unbroken():
            await anyio.sleep_forever()
        codes.append(caught.value.code)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(write)
        await settle()
        tasks.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await clock.advance(29.0)
            assert codes == []
            await clock.advance(1.0)
    assert codes == [504]
