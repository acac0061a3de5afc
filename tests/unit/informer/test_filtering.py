"""A handler that is told only of some objects, as the listener tells it and as an informer does."""

from itertools import pairwise
from typing import Any

import anyio
import pytest

from kinformer.hooks import HandlerFailed
from kinformer.informer import Added, Deleted, FilteringHandler, Handlers, Notification, Updated
from kinformer.meta import Object, Record
from kinformer.testing import HOLD, added, deleted, modified, settle
from tests.unit.informer.listener_stage import Bench as ListenerBench
from tests.unit.informer.listener_stage import Model, Spec, record
from tests.unit.informer.stage import EXPIRED, Log, MakeBench, pod, snapshot


def is_large(obj: Object) -> bool:
    return int(obj["spec"]["replicas"]) > 1


async def tell(bench: ListenerBench, *told: Notification[Record]) -> None:
    for each in told:
        bench.tell(each)
    bench.listener.source_synced()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.listener.run)
        await settle()
        bench.listener.close()


@pytest.mark.parametrize("coalesce", [False, True])
async def test_objects_begin_and_cease_to_be_there_for_it(make: MakeBench, coalesce: bool) -> None:
    bench = make(
        [
            *snapshot(9, pod("a", 1, replicas=2), pod("b", 2), pod("c", 3, replicas=2), pod("d", 4)),
            1.0,
            [modified(pod("a", 11, replicas=3)), modified(pod("b", 12, replicas=2)), modified(pod("c", 13))],
            1.0,
            [deleted(pod("a", 21)), deleted(pod("c", 23)), deleted(pod("d", 24, replicas=9))],
            1.0,
            EXPIRED,
        ],
        [*snapshot(30, pod("e", 25)), HOLD],
    )
    registration = bench.informer.add_handler(FilteringHandler(is_large, bench.log), coalesce=coalesce)
    assert registration.name == "Log"
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await registration.wait_synced()
        stories = [bench.log.take()]
        for _ in range(2):
            await bench.clock.advance(1)
            stories.append(bench.log.take())
        await bench.clock.advance(60)
        stories.append(bench.log.take())
        bench.informer.close()
    assert stories == [
        ["add a(1) initially", "add c(3) initially"],
        ["update a(1) to a(11)", "add b(12)", "delete c(3)"],
        ["delete a(21)"],
        ["delete b(12) as tombstone"],
    ]
    assert (registration.delivered, registration.failures) == (7, 0)


async def test_one_that_joins_late_is_told_of_what_passes_then(make: MakeBench) -> None:
    bench = make([*snapshot(9, pod("a", 1, replicas=2), pod("b", 2)), 1.0, added(pod("c", 10)), HOLD])
    shared = FilteringHandler(is_large, bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        for expected in (["add a(1) initially"], ["add a(1) initially"]):
            await bench.informer.add_handler(shared).wait_synced()
            assert bench.log.take() == expected
        await bench.clock.advance(1)
        assert bench.log.take() == []
        bench.informer.close()


async def test_a_resync_shows_what_passes(make: MakeBench) -> None:
    bench = make([*snapshot(9, pod("a", 1, replicas=2), pod("b", 2)), HOLD], resync=10.0)
    bench.informer.add_handler(FilteringHandler(is_large, bench.log))
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(15)
        assert bench.log.take() == ["add a(1) initially", "update a(1) to a(1)"]
        bench.informer.close()


async def test_a_predicate_that_raises_costs_that_notification_and_is_reported() -> None:
    """Those whose number is a text: the next state of the object is judged as if that had not been."""
    log = Log()
    bench = ListenerBench(FilteringHandler(lambda obj: obj.at("spec", "replicas") > 1, log))
    odd = record("a", version="2", replicas="x")
    await tell(
        bench,
        Added(record("a", replicas=2)),
        Updated(record("a", replicas=2), odd),
        Added(record("b", replicas=2)),
        Updated(odd, record("a", version="3", replicas=1)),
    )
    assert log.take() == ["add a(1)", "add b(1)", "delete a(2)"]
    assert (bench.registration.delivered, bench.registration.failures) == (3, 1)
    [event] = bench.hooks.events
    assert isinstance(event, HandlerFailed)
    assert isinstance(event.error, TypeError)


async def test_an_initial_add_that_does_not_pass_counts_as_told() -> None:
    bench = ListenerBench(FilteringHandler(is_large, Log()))
    bench.begin(record("a"), record("b"))
    await tell(bench)
    assert bench.registration.is_synced
    assert (bench.registration.delivered, bench.registration.failures) == (0, 0)


async def test_functions_for_some_kinds_are_told_of_what_becomes_of_a_notification() -> None:
    story: list[str] = []
    handlers = Handlers[Any](
        on_add=lambda told: story.append("add"), on_delete=lambda told: story.append("delete")
    )
    bench = ListenerBench(FilteringHandler(is_large, handlers))
    small, large = record("a", replicas=1), record("a", version="2", replicas=2)
    await tell(bench, Added(small), Updated(small, large), Updated(large, large), Updated(large, small))
    assert story == ["add", "delete"]


async def test_the_predicate_is_given_the_model() -> None:
    told: list[Notification[Model]] = []
    handler: FilteringHandler[Model] = FilteringHandler(lambda obj: obj.spec.replicas > 1, told.append)
    bench = ListenerBench(handler, model=Model)
    await tell(bench, Added(record("a", replicas=1)), Added(record("b", replicas=2)))
    assert told == [Added(Model(Spec(2)))]


async def test_a_predicate_that_cancels_its_task_ends_nothing() -> None:
    """As a handler that does so."""

    def cancel(obj: Object) -> bool:
        raise anyio.get_cancelled_exc_class()

    bench = ListenerBench(FilteringHandler(cancel, Log()))
    await tell(bench, Added(record("a")), Added(record("b")))
    assert bench.registration.failures == 2


@pytest.mark.parametrize("kinds", [["on_add"], ["on_add", "on_update"]], ids=str)
async def test_what_begins_to_fit_is_told_to_the_function_for_adds(
    kinds: list[str],
) -> None:
    told: list[Any] = []
    bench = ListenerBench(Handlers[Any](**dict.fromkeys(kinds, told.append)), model=Model)
    await tell(bench, Updated(record("a", replicas="x"), record("a", version="2", replicas=2)))
    assert told == [Added(Model(Spec(2)))]


async def test_what_ceases_to_fit_the_model_ceases_to_pass_and_comes_back_once() -> None:
    told: list[Notification[Model]] = []
    handler: FilteringHandler[Model] = FilteringHandler(lambda obj: obj.spec.replicas > 1, told.append)
    bench = ListenerBench(handler, model=Model)
    sizes = [2, 3, "x", "y", 1, 4, "x"]
    states = [record("a", version=str(at), replicas=size) for at, size in enumerate(sizes)]
    await tell(
        bench,
        Added(states[0]),
        *(Updated(old, new) for old, new in pairwise(states)),
        Deleted(states[-1]),
    )
    assert told == [
        Added(Model(Spec(2))),
        Updated(Model(Spec(2)), Model(Spec(3))),
        Deleted(Model(Spec(3))),
        Added(Model(Spec(4))),
        Deleted(Model(Spec(4))),
    ]
    assert (bench.registration.delivered, bench.registration.failures) == (5, 3)
