"""Keys that come later, and the end of the work queue: shut_down and drain."""

import math

import anyio
import pytest

from kinformer.errors import ClosedError
from kinformer.system_clock import SystemClock
from kinformer.testing import FakeClock, settle
from kinformer.workqueue import ExponentialLimiter, WorkQueue
from tests.unit.workqueue.stage import Getter, TimedClock, queue_of


async def test_a_delayed_key_comes_at_its_moment_and_once() -> None:
    clock = FakeClock()
    queue = queue_of(clock=clock)
    queue.add_after("x", 0.05)
    assert (len(queue), queue.delayed) == (0, 1)
    await clock.advance(0.049)
    assert len(queue) == 0
    await clock.advance(0.002)
    assert (len(queue), queue.delayed) == (1, 0)
    queue.done(await queue.get())
    await clock.advance(10.0)
    assert len(queue) == 0


async def test_a_delayed_key_wakes_a_waiting_worker() -> None:
    clock = FakeClock()
    queue = queue_of(clock=clock)
    async with anyio.create_task_group() as group:
        getter = Getter(queue)
        group.start_soon(getter.run)
        queue.add_after("x", 1.0)
        await clock.advance(0.999)
        assert getter.got is None
        await clock.advance(0.001)
        assert getter.got == "x"


@pytest.mark.parametrize("delays", [(0.05, 0.02, 0.08), (0.02, 0.05), (0.05, 0.02)])
async def test_the_earliest_of_several_delays_wins(delays: tuple[float, ...]) -> None:
    clock = FakeClock()
    queue = queue_of(clock=clock)
    for delay in delays:
        queue.add_after("x", delay)
    await clock.advance(0.02)
    assert len(queue) == 1
    queue.done(await queue.get())
    await clock.advance(10.0)
    assert len(queue) == 0


async def test_delayed_keys_come_in_order_of_their_moments() -> None:
    clock = FakeClock()
    queue = queue_of(clock=clock)
    for key, delay in (("c", 1.0), ("b", 0.5), ("a", 0.25)):
        queue.add_after(key, delay)
    await clock.advance(1.0)
    assert [await queue.get() for _ in range(3)] == ["a", "b", "c"]


@pytest.mark.parametrize("delay", [0.0, -1.0, -math.inf])
async def test_a_delay_of_nothing_is_an_add(delay: float) -> None:
    clock = FakeClock()
    queue = queue_of(clock=clock)
    queue.add_after("x", delay)
    assert (len(queue), queue.delayed) == (1, 0)
    assert clock.next_timer is None


@pytest.mark.parametrize("delay", [math.inf, math.nan])
async def test_a_delay_that_never_ends_is_refused(delay: float) -> None:
    queue = queue_of()
    with pytest.raises(ValueError, match=f"the delay of 'x' must be a finite number of seconds, not {delay}"):
        queue.add_after("x", delay)
    assert queue.delayed == 0


async def test_a_moment_is_apart_from_a_place_in_the_queue() -> None:
    clock = FakeClock()
    queue = queue_of(clock=clock)
    queue.add_after("x", 1.0)
    queue.add("x")
    queue.forget("x")
    queue.done(await queue.get())
    assert queue.delayed == 1
    await clock.advance(1.0)
    assert await queue.get() == "x"


async def test_a_key_whose_moment_comes_while_it_is_held_runs_once_more() -> None:
    clock = FakeClock()
    queue = queue_of("x", clock=clock)
    await queue.get()
    queue.add_after("x", 1.0)
    await clock.advance(1.0)
    assert (len(queue), queue.delayed) == (0, 0)
    queue.done("x")
    assert len(queue) == 1


async def test_there_is_one_timer_and_it_is_for_the_earliest_moment() -> None:
    clock = TimedClock()
    queue = queue_of(clock=clock)
    for number in range(100):
        queue.add_after(f"later-{number}", 100.0 + number)
    queue.add_after("soon", 1.0)
    queue.add_after("later-50", 50.0)
    assert clock.timers == [100.0, 1.0]
    await clock.advance(1.0)
    assert clock.timers == [100.0, 1.0, 50.0]
    assert clock.next_timer == 50.0
    await clock.advance(1000.0)
    assert queue.delayed == 0
    assert clock.next_timer is None


async def test_keys_that_are_due_together_are_let_in_by_slices_in_order() -> None:
    clock = FakeClock()
    queue = WorkQueue[int](clock=clock)
    for key in range(2000):
        queue.add_after(key, 1.0)
    lengths: list[int] = []
    clock.call_at(
        1.0, lambda: lengths.append(len(queue))
    )  # set after the queue's timer, so called after its first slice
    await clock.advance(1.0)
    assert lengths == [512]
    assert queue.delayed == 0
    assert [await queue.get() for _ in range(2000)] == list(range(2000))


def test_a_delay_without_an_event_loop_is_an_error_that_keeps_nothing() -> None:
    queue = WorkQueue[str](clock=SystemClock())
    with pytest.raises(RuntimeError, match="no running event loop"):
        queue.add_after("x", 1.0)
    assert queue.delayed == 0
    queue.add("x")
    assert len(queue) == 1


async def test_a_failing_key_is_retried_as_the_limiter_says() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](clock=clock, limiter=ExponentialLimiter(1.0, 8.0))
    moments: list[float] = []
    for _ in range(5):
        queue.add_rate_limited("x")
        while not len(queue):
            await clock.advance(0.5)
        moments.append(clock.monotonic())
        queue.done(await queue.get())
    assert moments == [1.0, 3.0, 7.0, 15.0, 23.0]
    assert queue.requeues("x") == 5
    queue.forget("x")
    assert queue.requeues("x") == 0
    queue.add_rate_limited("x")
    await clock.advance(1.0)
    assert len(queue) == 1


async def test_without_a_limiter_the_waits_are_those_of_client_go() -> None:
    clock = FakeClock()
    queue = queue_of(clock=clock)
    queue.add_rate_limited("x")
    assert clock.next_timer == 0.005


async def test_shut_down_delivers_what_is_queued_and_drops_what_is_delayed() -> None:
    clock = FakeClock()
    queue = queue_of("a", "b", clock=clock)
    queue.add_after("c", 1.0)
    queue.shut_down()
    assert clock.next_timer is None
    assert queue.is_shut_down
    queue.add("d")
    queue.add_after("d", 0.0)
    queue.add_after("d", 1.0)
    queue.add_rate_limited("d")
    assert queue.requeues("d") == 0
    assert [await queue.get(), await queue.get()] == ["a", "b"]
    for _ in range(2):
        with pytest.raises(ClosedError, match="work queue 'test' was shut down and has nothing left"):
            await queue.get()
    await clock.advance(10.0)
    assert (len(queue), queue.delayed) == (0, 0)


async def test_shut_down_wakes_everybody_and_may_be_called_again() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        getters = [Getter(queue) for _ in range(3)]
        for getter in getters:
            group.start_soon(getter.run)
        await settle()
        queue.shut_down()
        queue.shut_down()
    assert all(isinstance(getter.got, ClosedError) for getter in getters)


async def test_a_key_added_again_before_shut_down_is_handed_out_again_after_it() -> None:
    queue = queue_of("x")
    await queue.get()
    queue.add("x")
    queue.shut_down()
    with pytest.raises(ClosedError):
        await queue.get()
    queue.done("x")
    assert await queue.get() == "x"


async def test_drain_of_an_idle_queue_returns_at_once() -> None:
    queue = queue_of()
    queue.add_after("later", 100.0)
    await queue.drain()
    queue.shut_down()
    await queue.drain()


async def test_drain_waits_for_what_is_held_and_for_what_is_queued_and_serves_every_caller() -> None:
    queue = queue_of("a", "b")
    drained: list[int] = []

    async def drain(number: int) -> None:
        await queue.drain()
        drained.append(number)

    await queue.get()
    async with anyio.create_task_group() as group:
        group.start_soon(drain, 1)
        group.start_soon(drain, 2)
        await settle()
        queue.shut_down()
        queue.done("a")
        await settle()
        assert drained == []
        assert await queue.get() == "b"
        await settle()
        assert drained == []
        queue.done("b")
        await settle()
        assert drained == [1, 2]


async def test_drain_waits_for_a_key_that_was_added_again_while_held() -> None:
    queue = queue_of("x")
    await queue.get()
    queue.add("x")
    queue.shut_down()
    drained: list[bool] = []

    async def drain() -> None:
        await queue.drain()
        drained.append(True)

    async with anyio.create_task_group() as group:
        group.start_soon(drain)
        await settle()
        queue.done("x")
        await settle()
        assert drained == []
        queue.done(await queue.get())
        await settle()
        assert drained == [True]


async def test_a_key_added_between_the_last_done_and_the_waking_of_drain_is_waited_for() -> None:
    queue = queue_of("x")
    await queue.get()
    drained: list[bool] = []

    async def drain() -> None:
        await queue.drain()
        drained.append(True)

    async with anyio.create_task_group() as group:
        group.start_soon(drain)
        await settle()
        queue.done("x")
        queue.add("y")
        await settle()
        assert drained == []
        queue.done(await queue.get())
        await settle()
        assert drained == [True]
