"""A listener tells its handler, and delays nobody."""

import logging
from typing import ClassVar

import anyio
import pytest

from kinformer.hooks import HandlerFailed, HandlerLagging, ObjectQuarantined
from kinformer.informer import Added, Deleted, Handlers, Notification, Updated
from kinformer.meta import Object
from kinformer.testing import settle
from tests.unit.informer.listener_stage import Bench, Model, Spec, Told, record


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
    bench.tell(Deleted(record("a")))
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
    bench.begin(record("a", replicas="many"), record("b", replicas=7))
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


@pytest.mark.parametrize("coalesce", [False, True])
async def test_an_object_that_ceases_to_fit_the_model_is_told_as_deleted_and_named(
    coalesce: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """In the last state that was told; where more has been merged meanwhile as well."""
    story: list[Notification[Model]] = []
    bench = Bench(story.append, model=Model, coalesce=coalesce)
    states = [
        record("a", version=str(version), replicas=size) for version, size in enumerate([1, 2, "x", "y"])
    ]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        bench.tell(Added(states[0]))
        await settle()
        bench.tell(Updated(states[0], states[1]))
        bench.tell(Updated(states[1], states[2]))
        bench.tell(Deleted(states[3]))
        await settle()
        bench.listener.close()
    last = Model(Spec(1 if coalesce else 2))
    assert story == [
        Added(Model(Spec(1))),
        *([] if coalesce else [Updated(Model(Spec(1)), last)]),
        Deleted(last),
    ]
    assert bench.registration.failures == 1
    [event] = bench.hooks.events
    assert isinstance(event, ObjectQuarantined)
    assert event.key == "default/a"
    assert "handler h is not told of an object: Pod default/a is no Model" in caplog.text


async def test_a_function_for_deletions_alone_hears_just_of_what_has_fitted() -> None:
    story: list[Notification[Model]] = []
    bench = Bench(Handlers[Model](on_delete=story.append), model=Model)
    bench.begin(record("a"), record("b", replicas="x"))
    bench.tell(Deleted(record("a")))
    bench.tell(Deleted(record("b")))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.close()
    assert story == [Deleted(Model(Spec(1)))]


async def test_a_model_that_changes_its_mind_is_named_and_ends_nothing() -> None:
    class Fickle(Model):
        """Takes each number of replicas once."""

        seen: ClassVar[set[int]] = set()

        def __post_init__(self) -> None:
            if self.spec.replicas in Fickle.seen:
                raise ValueError("seen before")
            Fickle.seen.add(self.spec.replicas)

    story: list[Notification[Fickle]] = []
    bench = Bench(story.append, model=Fickle)
    bench.begin(record("a", replicas=1), record("b", replicas=2))
    bench.tell(Deleted(record("a", replicas=1)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.close()
    assert len(story) == 2
    assert [type(event) for event in bench.hooks.events] == [ObjectQuarantined] * 2


async def test_an_initial_add_that_fails_counts_as_told() -> None:
    def handler(told: Notification[Object]) -> None:
        raise ValueError("always")

    bench = Bench(handler)
    bench.begin(record("a"))
    bench.listener.source_synced()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await bench.registration.wait_synced()
        bench.listener.close()


async def test_a_coalescing_listener_tells_what_is_left() -> None:
    told = Told()
    bench = Bench(told, coalesce=True)
    bench.begin(record("a"), record("b"))
    bench.tell(Deleted(record("a")))
    assert bench.registration.backlog == 1
    bench.listener.source_synced()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await bench.registration.wait_synced()
        bench.listener.close()
    assert told.names == ["b"]


async def test_an_initial_add_that_is_merged_away_ends_the_wait() -> None:
    bench = Bench(Told(), coalesce=True)
    bench.begin(record("a"))
    bench.listener.source_synced()
    assert not bench.registration.is_synced
    bench.tell(Deleted(record("a")))
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


async def test_a_handler_that_hangs_is_named_while_it_hangs(caplog: pytest.LogCaptureFixture) -> None:
    async def hang(told: Notification[Object]) -> None:
        await anyio.sleep_forever()

    bench = Bench(hang)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        bench.offer("first")
        await settle()
        bench.offer(*map(str, range(1024)))
        await bench.clock.advance(0.2)
        assert bench.hooks.events == []
        with caplog.at_level(logging.WARNING, "kinformer.informer"):
            for name in ("one too many", "and another"):
                bench.offer(name)
        tasks.cancel_scope.cancel()
    [event] = bench.hooks.events
    assert isinstance(event, HandlerLagging)
    assert (event.handler, event.backlog, event.duration) == ("h", 1025, 0.2)
    assert "handler h is slow: 1025 notifications wait, its present call has taken 0.200 s" in caplog.text


async def test_many_that_wait_for_a_quick_handler_are_no_lag() -> None:
    bench = Bench(lambda told: None)
    bench.offer(*(str(number) for number in range(2000)))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.close()
    assert bench.hooks.events == []


async def test_what_it_finds_is_offered_as_one_thing_and_counted_as_what_it_is() -> None:
    told = Told()
    bench = Bench(told)
    await bench.clock.advance(3)
    bench.begin(record("a"), record("b"))
    await bench.clock.advance(2)
    bench.offer("c")
    assert (bench.registration.backlog, bench.registration.high_water) == (3, 3)
    assert bench.registration.oldest_age == 2.0
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.close()
    assert told.names == ["a", "b", "c"]
