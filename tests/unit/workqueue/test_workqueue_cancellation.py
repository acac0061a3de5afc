"""Cancelling at each await of the work queue."""

import anyio

from kinformer.testing import settle
from tests.unit.workqueue.stage import Getter, queue_of


async def test_cancelling_a_waiting_get_leaves_the_queue_whole() -> None:
    queue = queue_of()
    async with anyio.create_task_group() as group:
        first, second = Getter(queue), Getter(queue)
        group.start_soon(first.run)
        group.start_soon(second.run)
        await settle()
        first.scope.cancel()
        await settle()
        assert len(queue._sleeping) == 1
        queue.add("x")
        await settle()
        assert second.got == "x"
    assert first.got is None
    assert not queue._sleeping


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
    assert not queue._sleeping


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
    assert not queue._sleeping


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
    assert not queue._sleeping


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
