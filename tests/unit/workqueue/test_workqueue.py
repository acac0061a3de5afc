import gc
import math
import weakref
from asyncio import Task, all_tasks, current_task
from collections.abc import Callable

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.clock import Timer
from kinformer.errors import ClosedError
from kinformer.hooks import KeyAdded, KeyDone, KeyRetried, KeyTaken, NoHooks
from kinformer.system_clock import SystemClock
from kinformer.testing import FakeClock, settle
from kinformer.workqueue import ExponentialLimiter, Ready, WorkQueue


class Heard(NoHooks):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def key_added(self, event: KeyAdded, /) -> None:
        self.events.append(event)

    def key_taken(self, event: KeyTaken, /) -> None:
        self.events.append(event)

    def key_done(self, event: KeyDone, /) -> None:
        self.events.append(event)

    def key_retried(self, event: KeyRetried, /) -> None:
        self.events.append(event)


class Getter:
    """One call of ``get`` in its own scope: ``got`` is what it gave, or the error that it raised."""

    def __init__(self, queue: WorkQueue[str]) -> None:
        self.queue = queue
        self.scope = anyio.CancelScope()
        self.task: Task[None] | None = None
        self.got: str | ClosedError | None = None

    async def run(self) -> None:
        self.task = current_task()
        with self.scope:
            try:
                self.got = await self.queue.get()
            except ClosedError as error:
                self.got = error


class TimedClock(FakeClock):
    """Counts the timers that were set."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[float] = []

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        self.timers.append(when)
        return super().call_at(when, callback)


def queue_of(*keys: str, clock: FakeClock | None = None) -> WorkQueue[str]:
    queue = WorkQueue[str]("test", clock=FakeClock() if clock is None else clock)
    for key in keys:
        queue.add(key)
    return queue


async def test_keys_come_in_order_and_each_once() -> None:
    queue = queue_of("b", "a", "b")
    assert len(queue) == 2
    assert [await queue.get(), await queue.get()] == ["b", "a"]
    assert len(queue) == 0


async def test_a_key_added_while_held_is_handed_out_again_after_done_and_not_before() -> None:
    queue = queue_of("x")
    assert await queue.get() == "x"
    queue.add("x")
    queue.add("x")
    assert len(queue) == 0
    async with anyio.create_task_group() as group:
        second = Getter(queue)
        group.start_soon(second.run)
        await settle()
        assert second.got is None
        queue.done("x")
        assert len(queue) == 1
        await settle()
        assert second.got == "x"
    queue.done("x")
    assert len(queue) == 0


async def test_a_key_added_while_held_goes_behind_those_that_were_queued() -> None:
    queue = queue_of("x")
    await queue.get()
    queue.add("y")
    queue.add("x")
    queue.done("x")
    assert [await queue.get(), await queue.get()] == ["y", "x"]


async def test_done_of_a_key_that_nobody_holds_is_an_error() -> None:
    heard = Heard()
    queue = WorkQueue[str](hooks=heard)
    queue.add("x")
    with pytest.raises(ValueError, match=r"done\('x'\): nobody holds this key"):
        queue.done("x")
    assert len(queue) == 1
    assert heard.events == [KeyAdded("", 1)]


async def test_another_order_can_be_plugged_in() -> None:
    class NewestFirst(Ready[str]):
        def take(self) -> str:
            self.order.rotate(1)
            return super().take()

    queue = WorkQueue[str](ready=NewestFirst())
    for key in "abc":
        queue.add(key)
    assert [await queue.get() for _ in range(3)] == ["c", "b", "a"]


async def test_an_empty_order_that_is_plugged_in_is_used() -> None:
    ready = Ready[str]()
    queue = WorkQueue[str](ready=ready)
    queue.add("x")
    assert len(ready) == 1


async def test_a_key_that_is_done_is_let_go_of() -> None:
    class Key:
        pass

    clock = FakeClock()
    queue = WorkQueue[Key](clock=clock, hooks=Heard())
    key = Key()
    watcher = weakref.ref(key)
    queue.add_after(key, 1.0)
    await clock.advance(1.0)
    queue.done(await queue.get())
    del key
    gc.collect()
    assert watcher() is None


async def test_get_waits_for_a_key() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        getter = Getter(queue)
        group.start_soon(getter.run)
        await settle()
        assert getter.got is None
        queue.add("x")
        await settle()
        assert getter.got == "x"


async def test_each_key_wakes_one_waiter() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        getters = [Getter(queue) for _ in range(3)]
        for getter in getters:
            group.start_soon(getter.run)
        await settle()
        queue.add("a")
        queue.add("b")
        await settle()
        assert [getter.got for getter in getters] == ["a", "b", None]
        queue.shut_down()


async def test_a_key_that_cannot_be_taken_yet_wakes_nobody() -> None:
    queue = queue_of("a")
    await queue.get()
    async with anyio.create_task_group() as group:
        getters = [Getter(queue) for _ in range(3)]
        for getter in getters:
            group.start_soon(getter.run)
        await settle()
        queue.add("b")
        queue.add("a")
        assert len(queue._getters) == 2
        await settle()
        queue.done("a")
        await settle()
        assert [getter.got for getter in getters] == ["b", "a", None]
        queue.shut_down()


async def test_a_waiter_that_comes_too_late_waits_on() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        getter = Getter(queue)
        group.start_soon(getter.run)
        await settle()
        queue.add("a")
        assert await queue.get() == "a"  # without a turn of the loop: quicker than the waiter that was woken
        await settle()
        assert getter.got is None
        queue.add("b")
        await settle()
        assert getter.got == "b"


async def test_a_full_queue_leaves_the_loop_a_turn_every_64_keys() -> None:
    queue = queue_of(*(str(number) for number in range(1000)))
    turns = 0
    most = 0

    async def bystander() -> None:
        nonlocal turns
        while len(queue):
            turns += 1
            await checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(bystander)
        await checkpoint()
        in_a_row, seen = 0, turns
        while len(queue):
            queue.done(await queue.get())
            in_a_row = in_a_row + 1 if turns == seen else 1
            seen = turns
            most = max(most, in_a_row)
    assert most == 64
    assert turns >= 1000 // 64


async def test_without_hooks_or_with_silent_ones_nothing_is_measured() -> None:
    assert WorkQueue[str]()._meter is None
    assert WorkQueue[str](hooks=NoHooks())._meter is None


async def test_cancelling_a_waiting_get_leaves_the_queue_whole() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        first, second = Getter(queue), Getter(queue)
        group.start_soon(first.run)
        group.start_soon(second.run)
        await settle()
        first.scope.cancel()
        await settle()
        assert len(queue._getters) == 1
        queue.add("x")
        await settle()
        assert second.got == "x"
    assert first.got is None
    assert not queue._getters


async def test_a_key_that_comes_to_a_waiter_being_cancelled_goes_to_the_next() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        first, second = Getter(queue), Getter(queue)
        group.start_soon(first.run)
        group.start_soon(second.run)
        await settle()
        first.scope.cancel()
        queue.add("x")  # wakes the first, which has not heard of its end yet
        await settle()
        assert first.got is None
        assert second.got == "x"
    assert not queue._getters


async def test_a_waiter_that_is_woken_and_then_cancelled_by_its_scope_still_gets_its_key() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        getter = Getter(queue)
        group.start_soon(getter.run)
        await settle()
        queue.add("x")
        getter.scope.cancel()  # anyio lets a task go on whose wait is over; the next await ends it
    assert getter.got == "x"
    queue.done("x")
    await queue.drain()


async def test_a_waiter_that_is_woken_and_then_cancelled_as_a_task_passes_the_key_on() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        first, second = Getter(queue), Getter(queue)
        group.start_soon(first.run)
        group.start_soon(second.run)
        await settle()
        queue.add("x")
        assert first.task is not None
        first.task.cancel()  # as asyncio does for timeouts and interrupts, with no regard for what has come
        await settle()
        assert first.got is None
        assert second.got == "x"
    assert not queue._getters


async def test_the_key_of_a_waiter_that_is_cancelled_stays_where_nobody_else_waits() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        getter = Getter(queue)
        group.start_soon(getter.run)
        await settle()
        getter.scope.cancel()
        queue.add("x")
    assert getter.got is None
    assert len(queue) == 1
    assert await queue.get() == "x"


async def test_cancelling_get_in_the_turn_that_it_gives_the_loop_takes_nothing() -> None:
    queue = queue_of(*(str(number) for number in range(65)))
    for _ in range(64):
        queue.done(await queue.get())
    getter = Getter(queue)
    getter.scope.cancel()
    await getter.run()
    assert getter.got is None
    assert await queue.get() == "64"


async def test_cancelling_a_worker_puts_its_key_down() -> None:
    queue = queue_of("x")
    scope = anyio.CancelScope()

    async def worker() -> None:
        with scope:
            async for lease in queue:
                with lease:
                    await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(worker)
        await settle()
        queue.add("x")
        assert len(queue) == 0
        scope.cancel()
    assert len(queue) == 1


async def test_cancelling_an_iteration_that_waits_leaves_no_waiter() -> None:
    queue = queue_of()
    scope = anyio.CancelScope()

    async def worker() -> None:
        with scope:
            async for lease in queue:
                with lease:
                    pass

    async with anyio.create_task_group() as group:
        group.start_soon(worker)
        await settle()
        scope.cancel()
    assert not queue._getters


async def test_cancelling_one_drain_does_not_disturb_another() -> None:
    queue = queue_of("x")
    await queue.get()
    scope = anyio.CancelScope()
    drained: list[str] = []

    async def drain(name: str) -> None:
        await queue.drain()
        drained.append(name)

    async def cancelled_drain() -> None:
        with scope:
            await drain("first")

    async with anyio.create_task_group() as group:
        group.start_soon(cancelled_drain)
        group.start_soon(drain, "second")
        await settle()
        scope.cancel()
        await settle()
        assert drained == []
        queue.done("x")
    assert drained == ["second"]


async def test_a_lease_puts_its_key_down_at_the_end_of_the_block() -> None:
    queue = queue_of("x")
    async for lease in queue:
        with lease as key:
            assert key == "x"
            queue.shut_down()
            assert not queue._ready.is_idle
    assert queue._ready.is_idle


@pytest.mark.parametrize("way", ["break", "continue", "raise"])
async def test_a_lease_puts_its_key_down_on_every_path(way: str) -> None:
    queue = queue_of("x")
    queue.shut_down()

    async def work() -> None:
        async for lease in queue:
            with lease:
                match way:
                    case "break":
                        break
                    case "continue":
                        continue
                    case _:
                        raise RuntimeError("no luck")

    if way == "raise":
        with pytest.raises(RuntimeError, match="no luck"):
            await work()
    else:
        await work()
    assert queue._ready.is_idle


async def test_iteration_ends_for_every_worker_when_the_queue_is_shut_down() -> None:
    queue = queue_of(*"abcdef")
    seen: list[str] = []

    async def worker() -> None:
        async for lease in queue:
            with lease as key:
                seen.append(key)
                await checkpoint()

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(worker)
        await settle()
        queue.add("g")
        queue.shut_down()
    assert seen == list("abcdefg")


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


async def test_hooks_hear_of_every_step_with_depth_and_durations() -> None:
    clock, heard = FakeClock(), Heard()
    queue = WorkQueue[str]("pods", clock=clock, hooks=heard, limiter=ExponentialLimiter(2.0, 8.0))
    queue.add("x")
    queue.add("x")
    queue.add("y")
    await clock.advance(1.0)
    await queue.get()
    queue.add("x")
    queue.add("x")
    await clock.advance(3.0)
    queue.done("x")
    queue.add_rate_limited("z")
    queue.add_after("z", -5.0)
    queue.shut_down()
    queue.add_after("z", 1.0)
    assert heard.events == [
        KeyAdded("pods", 1),
        KeyAdded("pods", 2),
        KeyTaken("pods", 1, 1.0),
        KeyAdded("pods", 2),
        KeyDone("pods", 3.0),
        KeyRetried("pods", 2.0),
        KeyAdded("pods", 3),
        KeyRetried("pods", 0.0),
    ]


async def test_the_queue_never_has_a_task_of_its_own() -> None:
    before = all_tasks()
    queue = WorkQueue[str]()
    queue.add_after("x", 60.0)
    await checkpoint()
    assert all_tasks() == before
    queue.shut_down()
