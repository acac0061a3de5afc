"""A listener tells its handler, and delays nobody."""

import logging
from collections.abc import Callable
from typing import Any

import anyio
import msgspec
import pytest

from kinformer.errors import ClosedError
from kinformer.hooks import HandlerFailed, HandlerLagging, ObjectQuarantined
from kinformer.informer import Added, Deleted, Handler, Handlers, Notification, Registration, Updated
from kinformer.informer._backlog import Coalesced, InOrder, Waiting
from kinformer.informer._handlers import calls_of
from kinformer.informer._listener import Listener
from kinformer.informer._views import Views
from kinformer.meta import Object, Record, Resource
from kinformer.testing import FakeClock, settle
from tests.unit.informer.stage import Heard

PODS = Resource.builtin("Pod")


class Spec(msgspec.Struct):
    replicas: int


class Model(msgspec.Struct):
    spec: Spec


def record(name: str, *, version: str = "1", replicas: object = 1) -> Record:
    metadata = {"name": name, "namespace": "default", "uid": name, "resourceVersion": version}
    return Record.decode(msgspec.json.encode({"metadata": metadata, "spec": {"replicas": replicas}}), PODS)


def added(name: str, *, is_initial: bool = False, at: float = 0.0) -> Waiting:
    return Waiting(at, Added(record(name), is_initial))


class Bench:
    """A listener with a clock and hooks."""

    def __init__(self, handler: Handler[Any], *, model: type = Object, coalesce: bool = False) -> None:
        self.clock = FakeClock()
        self.hooks = Heard()
        self.listener: Listener[Any] = Listener(
            "h",
            calls_of(handler),
            Coalesced() if coalesce else InOrder(),
            Views(model).notification,
            informer="pods",
            clock=self.clock,
            hooks=self.hooks,
        )
        self.registration = Registration(self.listener)

    def offer(self, *names: str, is_initial: bool = False) -> None:
        for name in names:
            self.listener.offer(added(name, is_initial=is_initial, at=self.clock.monotonic()))


class Told:
    """A handler that remembers, and waits for a gate when it is closed."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.gate = anyio.Event()
        self.gate.set()

    async def __call__(self, told: Notification[Object]) -> None:
        self.names.append(told.new.key.name if isinstance(told, Updated) else told.obj.key.name)
        await self.gate.wait()

    def stop(self) -> None:
        self.gate = anyio.Event()


async def test_what_is_offered_before_and_during_the_run_is_told_in_order() -> None:
    told = Told()
    bench = Bench(told)
    bench.offer("a", "b")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.offer("c")
        await settle()
        assert told.names == ["a", "b", "c"]
        assert bench.registration.delivered == 3
        bench.listener.close()


async def test_a_plain_handler_and_separate_functions_are_told_as_well() -> None:
    names: list[str] = []
    bench = Bench(Handlers[Object](on_add=lambda told: names.append(told.obj.key.name)))
    bench.offer("a")
    bench.listener.offer(Waiting(0, Deleted(record("a"))))
    bench.offer("b")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        assert names == ["a", "b"]
        assert bench.registration.backlog == 0
        bench.listener.close()


async def test_the_backlog_of_a_slow_handler_is_visible() -> None:
    told = Told()
    told.stop()
    bench = Bench(told)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        bench.offer("a", "b", "c")
        await settle()
        await bench.clock.advance(5)
        assert (bench.registration.backlog, bench.registration.high_water) == (2, 3)
        assert bench.registration.oldest_age == 5.0
        told.gate.set()
        await settle()
        assert (bench.registration.backlog, bench.registration.high_water) == (0, 3)
        assert bench.registration.oldest_age == 0.0
        bench.listener.close()


async def test_a_handler_that_never_waits_lets_others_run() -> None:
    turns: list[int] = []
    bench = Bench(lambda told: None)

    async def count() -> None:
        while bench.registration.backlog:
            turns.append(bench.registration.backlog)
            await anyio.lowlevel.checkpoint()

    bench.offer(*(str(number) for number in range(1000)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        tasks.start_soon(count)
        await settle()
        bench.listener.close()
    assert len(turns) > 10


async def test_a_failing_handler_loses_that_notification_only(caplog: pytest.LogCaptureFixture) -> None:
    names: list[str] = []

    def handler(told: Notification[Object]) -> None:
        assert isinstance(told, Added)
        names.append(told.obj.key.name)
        if names[-1] == "b":
            raise ValueError("no b")

    bench = Bench(handler)
    bench.offer("a", "b", "c")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.close()
    assert names == ["a", "b", "c"]
    assert (bench.registration.delivered, bench.registration.failures) == (2, 1)
    [event] = bench.hooks.events
    assert isinstance(event, HandlerFailed)
    assert (event.informer, event.handler, str(event.error)) == ("pods", "h", "no b")
    assert "pods: handler h failed" in caplog.text
    assert "no b" in caplog.text


async def test_a_cancellation_that_is_not_ours_fails_the_call_and_no_more() -> None:
    names: list[str] = []

    async def handler(told: Notification[Object]) -> None:
        assert isinstance(told, Added)
        names.append(told.obj.key.name)
        raise anyio.get_cancelled_exc_class()

    bench = Bench(handler)
    bench.offer("a", "b")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.close()
    assert names == ["a", "b"]
    assert bench.registration.failures == 2


async def test_an_object_that_does_not_fit_the_model_is_not_told_but_named() -> None:
    replicas: list[int] = []
    bench = Bench(Handlers[Model](on_add=lambda told: replicas.append(told.obj.spec.replicas)), model=Model)
    bench.listener.offer(Waiting(0, Added(record("a", replicas="many"), is_initial=True)))
    bench.listener.offer(Waiting(0, Added(record("b", replicas=7), is_initial=True)))
    bench.listener.source_synced()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await bench.registration.wait_synced()
        bench.listener.close()
    assert replicas == [7]
    assert bench.registration.failures == 1
    [event] = bench.hooks.events
    assert isinstance(event, ObjectQuarantined)
    assert event.key == "default/a"


async def test_it_is_synced_once_the_last_initial_add_has_been_told() -> None:
    told = Told()
    told.stop()
    bench = Bench(told)
    bench.offer("a", "b", is_initial=True)
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
    bench.offer("a", is_initial=True)
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


async def test_an_initial_add_that_fails_counts_as_told() -> None:
    def handler(told: Notification[Object]) -> None:
        raise ValueError("always")

    bench = Bench(handler)
    bench.offer("a", is_initial=True)
    bench.listener.source_synced()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await bench.registration.wait_synced()
        bench.listener.close()


async def test_closing_drops_what_waits_and_lets_the_present_call_finish() -> None:
    told = Told()
    told.stop()
    bench = Bench(told)
    bench.offer("a", "b", "c", is_initial=True)
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


async def test_a_coalescing_listener_tells_what_is_left() -> None:
    told = Told()
    bench = Bench(told, coalesce=True)
    bench.offer("a", "b", is_initial=True)
    bench.listener.offer(Waiting(0, Deleted(record("a"))))
    assert bench.registration.backlog == 1
    bench.listener.source_synced()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await bench.registration.wait_synced()
        bench.listener.close()
    assert told.names == ["b"]


async def test_an_initial_add_that_is_merged_away_ends_the_wait() -> None:
    bench = Bench(Told(), coalesce=True)
    bench.offer("a", is_initial=True)
    bench.listener.source_synced()
    assert not bench.registration.is_synced
    bench.listener.offer(Waiting(0, Deleted(record("a"))))
    await bench.registration.wait_synced()


async def test_a_lagging_handler_is_named_once_until_it_has_caught_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench: Bench

    async def handler(told: Notification[Object]) -> None:
        await bench.clock.sleep(0.2)

    bench = Bench(handler)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        for _ in range(2):
            bench.offer(*(str(number) for number in range(1030)))
            with caplog.at_level(logging.WARNING, "kinformer.informer"):
                await bench.clock.advance(250)
            assert bench.registration.backlog == 0
        bench.listener.close()
    first, second = bench.hooks.events
    assert isinstance(first, HandlerLagging)
    assert (first.backlog, round(first.duration, 3)) == (1029, 0.2)
    assert isinstance(second, HandlerLagging)
    assert caplog.text.count("is slow") == 2


async def test_many_that_wait_for_a_quick_handler_are_no_lag() -> None:
    bench = Bench(lambda told: None)
    bench.offer(*(str(number) for number in range(2000)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.close()
    assert bench.hooks.events == []


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
    bench.offer("a", is_initial=True)
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


def test_a_registration_says_how_its_handler_is_doing() -> None:
    bench = Bench(Told())
    bench.offer("a")
    assert repr(bench.registration) == "<handler h: 1 waiting, 0 told, 0 lost>"
