"""Waiting for a claim: what moves the time, what counts as not yet, and what the error says."""

import anyio
import anyio.to_thread
import pytest

from kinformer.clock import Clock
from kinformer.errors import NotFoundError
from kinformer.system_clock import SystemClock
from kinformer.testing import FakeClock, settle
from kinformer.testing._waiting import wait_until


async def later(clock: Clock, delay: float, event: anyio.Event) -> None:
    await clock.sleep(delay)
    event.set()


async def test_a_claim_that_holds_costs_no_time() -> None:
    clock = FakeClock()
    clock.call_at(1, anyio.Event().set)
    await wait_until(lambda: True, timeout=5, clock=clock)
    assert clock.monotonic() == 0


async def test_what_can_run_without_time_runs_before_time_is_moved() -> None:
    clock, done = FakeClock(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(later, clock, 0, done)
        await wait_until(done.is_set, timeout=5, clock=clock)
    assert clock.monotonic() == 0


async def test_time_goes_from_timer_to_timer_and_no_further() -> None:
    clock, done = FakeClock(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        for delay in (1, 2.5, 4):
            tasks.start_soon(later, clock, delay, done if delay == 2.5 else anyio.Event())
        await wait_until(done.is_set, timeout=5, clock=clock)
        assert clock.monotonic() == 2.5
        tasks.cancel_scope.cancel()


async def test_an_async_claim_may_itself_wait_for_time() -> None:
    clock = FakeClock()

    async def slow() -> bool:
        await clock.sleep(3)
        return True

    await wait_until(slow, timeout=5, clock=clock)
    assert clock.monotonic() == 3


async def test_a_claim_that_never_answers_ends_with_the_time_and_is_cancelled() -> None:
    clock = FakeClock()
    cancelled: list[float] = []

    async def stuck() -> bool:
        try:
            await anyio.Event().wait()
        finally:
            cancelled.append(clock.monotonic())
        return True

    with pytest.raises(TimeoutError, match=r"not true within 5 fake seconds: .*stuck"):
        await wait_until(stuck, timeout=5, clock=clock)
    assert cancelled == [5]


async def test_the_claim_is_tested_at_the_very_end() -> None:
    clock = FakeClock()
    moments: list[float] = []

    def claim() -> bool:
        moments.append(clock.monotonic())
        return clock.monotonic() == 5

    await wait_until(claim, timeout=5, clock=clock)
    assert moments == [0, 5]


@pytest.mark.parametrize("error", [AssertionError("nothing there"), NotFoundError(404, "NotFound", "no pod")])
async def test_an_objection_is_not_yet_and_becomes_the_cause(error: Exception) -> None:
    def claim() -> bool:
        raise error

    with pytest.raises(TimeoutError) as raised:
        await wait_until(claim, timeout=1, clock=FakeClock())
    assert raised.value.__cause__ is error


async def test_any_other_error_of_a_claim_comes_out_at_once() -> None:
    clock = FakeClock()

    async def claim() -> bool:
        raise KeyError("typo")

    with pytest.raises(KeyError, match="typo"):
        await wait_until(claim, timeout=5, clock=clock)
    assert clock.monotonic() == 0


async def test_the_error_shows_a_lambda_by_its_source_and_place() -> None:
    with pytest.raises(TimeoutError) as raised:
        await wait_until(lambda: len("pods") == 3, timeout=1, clock=FakeClock())
    assert 'lambda: len("pods") == 3' in str(raised.value)
    assert "test_waiting.py:" in str(raised.value)


async def test_threads_at_work_are_waited_for_in_real_time() -> None:
    clock, done = FakeClock(), anyio.Event()

    async def work() -> None:
        await anyio.to_thread.run_sync(lambda: sum(range(100_000)))
        done.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        await wait_until(done.is_set, timeout=5, clock=clock)
    assert clock.monotonic() == 0


async def test_a_real_clock_is_waited_for() -> None:
    clock, done = SystemClock(), anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(later, clock, 0.02, done)
        await wait_until(done.is_set, timeout=5, clock=clock)
    with pytest.raises(TimeoutError, match=r"not true within 0\.02 seconds"):
        await wait_until(lambda: False, timeout=0.02, clock=clock)


async def test_a_wait_that_is_cancelled_takes_its_claim_along() -> None:
    clock = FakeClock()
    ended = anyio.Event()

    async def claim() -> bool:
        try:
            await clock.sleep(3600)
        finally:
            ended.set()
        return True

    async with anyio.create_task_group() as tasks:
        clock.call_at(2, tasks.cancel_scope.cancel)
        await wait_until(claim, timeout=5, clock=clock)
    assert ended.is_set()
    await settle()
    assert (clock.monotonic(), clock.next_timer) == (2, None)
