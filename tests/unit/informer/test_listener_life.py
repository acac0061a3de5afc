"""When a listener is synced, when it ends, and what is left of it after a cancellation."""

from collections.abc import Callable

import anyio
import pytest

from kinformer.errors import ClosedError
from kinformer.hooks import HandlerFailed
from kinformer.informer import Notification
from kinformer.meta import Object
from kinformer.testing import settle
from tests.unit.informer.listener_stage import Bench, Told, record


async def test_it_is_synced_once_the_last_initial_add_has_been_told() -> None:
    told = Told()
    told.stop()
    bench = Bench(told)
    bench.begin(record("a"), record("b"))
    bench.offer("c")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        bench.listener.source_synced()
        told.names.clear()
        await settle()
        before = bench.registration.is_synced
        told.gate.set()
        await settle()
        assert (before, bench.registration.is_synced) == (False, True)
        bench.listener.close()


async def test_it_is_not_synced_while_the_last_initial_add_is_being_told() -> None:
    told = Told()
    told.stop()
    bench = Bench(told)
    bench.begin(record("a"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.source_synced()
        assert told.names == ["a"]
        assert not bench.registration.is_synced
        told.gate.set()
        await bench.registration.wait_synced()
        bench.listener.close()


async def test_with_nothing_there_it_is_synced_when_the_informer_is() -> None:
    bench = Bench(Told())
    assert not bench.registration.is_synced
    bench.listener.source_synced()
    await bench.registration.wait_synced()
    assert bench.registration.is_synced


async def test_closing_drops_what_waits_and_lets_the_present_call_finish() -> None:
    told = Told()
    told.stop()
    bench = Bench(told)
    bench.begin(record("a"), record("b"), record("c"))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.close()
        bench.offer("d")
        bench.listener.source_synced()
        assert bench.registration.backlog == 0
        told.gate.set()
    assert told.names == ["a"]
    assert bench.registration.delivered == 1
    assert not bench.registration.is_synced
    with pytest.raises(ClosedError, match="handler 'h' of pods was removed"):
        await bench.registration.wait_synced()


async def test_a_handler_may_close_its_own_listener() -> None:
    close: list[Callable[[], None]] = []
    bench = Bench(lambda told: close[0]())
    close.append(bench.listener.close)
    bench.offer("a", "b")
    await bench.listener.run()
    assert bench.registration.delivered == 1


async def test_cancelled_while_it_waits_it_leaves_the_backlog_whole() -> None:
    bench = Bench(Told())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        tasks.cancel_scope.cancel()
    bench.offer("a")
    assert bench.registration.backlog == 1


async def test_cancelled_in_a_call_it_ends_and_is_not_synced() -> None:
    told = Told()
    told.stop()
    bench = Bench(told)
    bench.begin(record("a"))
    bench.listener.source_synced()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        tasks.cancel_scope.cancel()
    assert (bench.registration.delivered, bench.registration.failures) == (0, 0)
    assert not bench.registration.is_synced
    assert bench.hooks.events == []


async def test_cancelled_between_turns_it_ends() -> None:
    bench = Bench(lambda told: None)
    bench.offer(*(str(number) for number in range(200)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        tasks.cancel_scope.cancel()
    assert 0 <= bench.registration.delivered < 200


async def test_a_wait_for_the_sync_can_be_cancelled() -> None:
    bench = Bench(Told())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.registration.wait_synced)
        await settle()
        tasks.cancel_scope.cancel()
    assert not bench.registration.is_synced


async def test_one_may_wait_until_it_has_ended() -> None:
    told = Told()
    told.stop()
    bench = Bench(told)
    ended: list[str] = []

    async def wait(name: str) -> None:
        await bench.registration.wait_ended()
        ended.append(name)

    bench.offer("a")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        tasks.start_soon(wait, "early")
        await settle()
        bench.listener.close()
        await settle()
        assert ended == []
        told.gate.set()
    assert ended == ["early"]
    await wait("late")


async def test_one_that_never_ran_ends_when_it_is_closed() -> None:
    bench = Bench(Told())
    bench.listener.close()
    await bench.registration.wait_ended()
    await bench.listener.run()
    await bench.registration.wait_ended()


async def test_a_cancelled_one_has_ended() -> None:
    bench = Bench(Told())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        tasks.cancel_scope.cancel()
    await bench.registration.wait_ended()


async def test_a_wait_for_the_end_can_be_cancelled() -> None:
    bench = Bench(Told())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.registration.wait_ended)
        await settle()
        tasks.cancel_scope.cancel()
    bench.listener.close()
    await bench.registration.wait_ended()


async def test_a_handler_cannot_wait_for_its_own_end() -> None:
    bench: Bench

    async def handler(told: Notification[Object]) -> None:
        bench.listener.close()
        await bench.registration.wait_ended()

    bench = Bench(handler)
    bench.offer("a")
    await bench.listener.run()
    [event] = bench.hooks.events
    assert isinstance(event, HandlerFailed)
    assert isinstance(event.error, RuntimeError)
    assert "cannot wait for its own end" in str(event.error)


async def test_what_is_found_after_the_end_is_dropped() -> None:
    bench = Bench(Told())
    bench.listener.close()
    bench.begin(record("a"))
    assert bench.registration.backlog == 0
