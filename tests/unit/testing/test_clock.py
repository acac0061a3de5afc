"""FakeClock and settle: time that moves only when a test says so."""

import asyncio
import math
import threading
from datetime import UTC, datetime, timedelta
from functools import partial

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.clock import Clock, Timer
from kinformer.testing import FakeClock, settle


async def test_time_stands_still_until_it_is_advanced() -> None:
    clock = FakeClock()
    await settle()
    assert clock.monotonic() == 0
    await clock.advance(2.5)
    assert clock.monotonic() == 2.5


async def test_the_wall_time_moves_with_it_and_is_in_utc() -> None:
    start = datetime(2030, 5, 6, 7, 8, tzinfo=UTC)
    clock = FakeClock(start)
    await clock.advance(90)
    assert clock.now() == start + timedelta(seconds=90)
    assert clock.now().tzinfo is UTC


async def test_each_sleeper_wakes_at_its_own_moment() -> None:
    clock = FakeClock()
    woken: list[tuple[str, float]] = []

    async def sleep(name: str, delay: float) -> None:
        await clock.sleep(delay)
        woken.append((name, clock.monotonic()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleep, "late", 3)
        tasks.start_soon(sleep, "early", 1)
        tasks.start_soon(sleep, "middle", 2)
        await clock.advance(10)
    assert woken == [("early", 1), ("middle", 2), ("late", 3)]


async def test_a_sleeper_that_sleeps_again_within_one_advance_wakes_each_time() -> None:
    clock = FakeClock()
    ticks: list[float] = []

    async def tick() -> None:
        for _ in range(4):
            await clock.sleep(0.5)
            ticks.append(clock.monotonic())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await clock.advance(1.6)
        assert ticks == [0.5, 1.0, 1.5]
        await clock.advance(0.4)
    assert ticks == [0.5, 1.0, 1.5, 2.0]


async def test_timers_of_one_moment_fire_in_the_order_they_were_set() -> None:
    clock = FakeClock()
    fired: list[str] = []
    for name in "abc":
        clock.call_at(1, partial(fired.append, name))
    await clock.advance(1)
    assert fired == ["a", "b", "c"]


async def test_timers_of_one_moment_fire_before_anything_that_they_wake_runs() -> None:
    clock = FakeClock()
    seen: list[bool] = []
    other = anyio.Event()

    async def sleep() -> None:
        await clock.sleep(1)
        seen.append(other.is_set())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(sleep)
        await settle()
        clock.call_at(1, other.set)
        await clock.advance(1)
    assert seen == [True]


async def test_a_timer_set_for_the_past_fires_at_the_next_advance_without_turning_time_back() -> None:
    clock = FakeClock()
    await clock.advance(5)
    moments: list[float] = []
    clock.call_at(1, lambda: moments.append(clock.monotonic()))
    assert moments == []
    await clock.advance(0)
    assert moments == [5]


async def test_a_timer_that_a_timer_sets_for_the_same_moment_fires_too() -> None:
    clock = FakeClock()
    fired: list[str] = []

    def again() -> None:
        clock.call_at(1, partial(fired.append, "second"))

    clock.call_at(1, again)
    await clock.advance(1)
    assert fired == ["second"]


async def test_a_cancelled_timer_never_fires_and_is_no_next_timer() -> None:
    clock = FakeClock()
    fired: list[str] = []
    timer = clock.call_at(1, lambda: fired.append("it"))
    before = clock.next_timer
    timer.cancel()
    timer.cancel()
    assert (before, clock.next_timer) == (1, None)
    await clock.advance(2)
    assert fired == []


async def test_a_timer_may_cancel_its_neighbour_of_the_same_moment() -> None:
    clock = FakeClock()
    fired: list[str] = []
    neighbours: list[Timer] = []
    clock.call_at(1, lambda: neighbours.pop().cancel())
    neighbours.append(clock.call_at(1, partial(fired.append, "neighbour")))
    await clock.advance(1)
    assert fired == []


async def test_a_timer_at_infinity_never_fires_and_is_no_next_timer() -> None:
    clock = FakeClock()
    fired: list[str] = []
    clock.call_at(math.inf, partial(fired.append, "it"))
    assert clock.next_timer is None
    await clock.advance(1e9)
    assert fired == []


async def test_time_does_not_go_back() -> None:
    clock = FakeClock()
    with pytest.raises(ValueError, match="time does not go back"):
        await clock.advance(-1)


@pytest.mark.parametrize("delay", [0, -1])
async def test_a_sleep_of_nothing_lets_others_run_once_and_needs_no_advance(delay: float) -> None:
    clock = FakeClock()
    ran: list[str] = []

    async def other() -> None:
        ran.append("other")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        await clock.sleep(delay)
        assert ran == ["other"]


async def test_a_cancelled_sleep_leaves_no_timer() -> None:
    clock = FakeClock()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(clock.sleep, 60)
        await settle()
        assert clock.next_timer == 60
        tasks.cancel_scope.cancel()
    assert clock.next_timer is None


async def test_a_deadline_cuts_its_block_short_at_its_moment() -> None:
    clock = FakeClock()
    ended: list[float] = []

    async def work() -> None:
        with clock.move_on_after(3) as scope:
            await clock.sleep(10)
        assert scope.cancelled_caught
        ended.append(clock.monotonic())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        await clock.advance(5)
    assert ended == [3]


async def test_a_block_that_ends_in_time_leaves_no_deadline_behind() -> None:
    clock = FakeClock()
    with clock.move_on_after(3) as scope:
        await checkpoint()
    assert not scope.cancelled_caught
    assert clock.next_timer is None


async def test_a_deadline_of_zero_cuts_at_the_first_await() -> None:
    clock = FakeClock()
    reached: list[str] = []
    with clock.move_on_after(0) as scope:
        await checkpoint()
        reached.append("the line behind the await")
    assert scope.cancelled_caught
    assert reached == []


async def test_an_infinite_deadline_is_none() -> None:
    clock = FakeClock()
    with clock.move_on_after(math.inf) as scope:
        await checkpoint()
    assert not scope.cancelled_caught


async def test_a_block_can_be_cut_short_by_hand() -> None:
    with FakeClock().move_on_after(60) as scope:
        scope.cancel()
        await checkpoint()
    assert scope.cancelled_caught


async def test_an_advance_that_is_cancelled_stops_at_a_timer_and_the_rest_fires_later() -> None:
    clock = FakeClock()
    fired: list[float] = []
    with anyio.CancelScope() as scope:
        clock.call_at(1, scope.cancel)
        clock.call_at(2, lambda: fired.append(clock.monotonic()))
        await clock.advance(5)
    assert scope.cancelled_caught
    assert clock.monotonic() == 1
    assert fired == []
    await clock.advance(1)
    assert fired == [2]


async def test_settle_returns_when_every_task_waits() -> None:
    steps: list[int] = []

    async def work() -> None:
        for step in range(100):
            steps.append(step)
            await checkpoint()
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work)
        await settle()
        assert steps == list(range(100))
        tasks.cancel_scope.cancel()


async def test_settle_names_a_task_that_never_rests() -> None:
    async def spin() -> None:
        while True:
            await checkpoint()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(spin)
        with pytest.raises(RuntimeError, match="one of them is spinning"):
            await settle()
        tasks.cancel_scope.cancel()


def test_settle_says_which_event_loop_it_needs() -> None:
    class Loop:
        pass

    failures: list[str] = []

    def run() -> None:
        asyncio._set_running_loop(Loop())  # type: ignore[arg-type]  # a loop without a queue to look at
        try:
            settle().send(None)
        except RuntimeError as error:
            failures.append(str(error))
        finally:
            asyncio._set_running_loop(None)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert failures == ["settle() needs asyncio's own event loop, not Loop"]


async def test_it_is_a_clock() -> None:
    clock: Clock = FakeClock()
    assert clock.monotonic() == 0


async def test_a_clock_needs_a_time_zone_and_goes_on_for_a_finite_time() -> None:
    with pytest.raises(ValueError, match="must have a time zone"):
        FakeClock(datetime(2026, 1, 1))  # noqa: DTZ001 -- the point
    for delay in (math.nan, math.inf):
        with pytest.raises(ValueError, match="cannot advance by"):
            await FakeClock().advance(delay)
