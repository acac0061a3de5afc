"""Pending, ready, stopped. A number in a name is that of the behaviour in the reference's list."""

import anyio
import pytest

from kinformer.apiserver.cacher import NotReadyError, Readiness, StoppedError
from kinformer.testing import FakeClock, settle


@pytest.mark.parametrize(
    ("downtime", "seconds"), [(0.0, 1), (11.0, 1), (12.0, 2), (14.0, 2), (40.0, 11), (57.0, 30), (1e9, 30)]
)
async def test_behaviour_25_the_longer_it_is_down_the_later_to_come_again(
    downtime: float, seconds: int
) -> None:
    clock = FakeClock()
    readiness = Readiness(clock)
    readiness.set()
    await clock.advance(100.0)
    readiness.fail("cut")
    await clock.advance(downtime)
    readiness.fail("cut again")
    with pytest.raises(NotReadyError, match=r"storage is \(re\)initializing: cut again") as caught:
        readiness.check()
    assert caught.value.retry_after == seconds


def test_before_the_first_time_there_is_no_cause() -> None:
    with pytest.raises(NotReadyError, match=r"^storage is \(re\)initializing$"):
        Readiness(FakeClock()).check()


def test_each_time_it_is_ready_is_a_generation_of_its_own() -> None:
    readiness = Readiness(FakeClock())
    assert (readiness.generation, readiness.is_ready) == (0, False)
    for generation in (1, 2):
        readiness.set()
        readiness.set()
        readiness.check()
        assert (readiness.generation, readiness.is_ready) == (generation, True)
        readiness.fail("")
        assert not readiness.is_ready


def test_stopped_is_final() -> None:
    readiness = Readiness(FakeClock())
    readiness.set()
    readiness.stop()
    readiness.set()
    readiness.fail("cut")
    assert (readiness.is_stopped, readiness.is_ready, readiness.generation) == (True, False, 1)
    with pytest.raises(StoppedError):
        readiness.check()


async def test_all_who_wait_go_on_when_it_is_ready_and_when_it_is_stopped() -> None:
    readiness = Readiness(FakeClock())
    ended: list[bool] = []

    async def wait() -> None:
        try:
            await readiness.wait()
        except StoppedError:
            ended.append(False)
        else:
            ended.append(True)

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(wait)
        await settle()
        assert ended == []
        readiness.fail("cut")
        readiness.set()
    readiness.fail("cut")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await settle()
        readiness.stop()
    assert ended == [True, True, True, False]
