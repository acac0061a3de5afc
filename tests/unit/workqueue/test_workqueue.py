"""Each key once, in order, in one pair of hands; leases, hooks."""

import gc
import weakref
from asyncio import all_tasks

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.hooks import KeyAdded, KeyDone, KeyRetried, KeyTaken, NoHooks
from kinformer.testing import FakeClock, settle
from kinformer.workqueue import ExponentialLimiter, Ready, WorkQueue
from tests.unit.workqueue.stage import Getter, Heard, queue_of


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
        def take(self, now: float = 0.0, /) -> str:
            self.order.rotate(1)
            return super().take(now)

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
        assert len(queue._sleeping) == 2
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


async def test_a_worker_woken_when_the_turn_is_used_up_does_not_end_the_giving_of_turns() -> None:
    queue = queue_of()
    woken = Getter(queue)
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while len(queue):
            turns += 1
            await checkpoint()

    async with anyio.create_task_group() as group:
        group.start_soon(woken.run)
        await settle()
        for number in range(65):
            queue.add(str(number))
        for _ in range(64):
            queue.done(await queue.get())
        await settle()
        assert woken.got == "64"
        for number in range(1000):
            queue.add(str(number))
        group.start_soon(count_turns)
        while len(queue):
            await queue.get()
    assert turns >= 1000 // 64


async def test_without_hooks_or_with_silent_ones_nothing_is_measured() -> None:
    assert WorkQueue[str]()._meter is None
    assert WorkQueue[str](hooks=NoHooks())._meter is None


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


async def test_two_leases_are_never_equal_and_may_be_kept_in_a_set() -> None:
    queue = queue_of("x", "y")
    leases = {await anext(queue), await anext(queue)}
    assert len(leases) == 2
    for lease in leases:
        with lease:
            pass
    assert queue._ready.is_idle
