"""One cache and many handlers: what the store holds and what is told, and when."""

import math
from typing import Any

import anyio
import msgspec
import pytest

from kinformer.errors import DecodeError, InvalidError, NotSyncedError
from kinformer.informer import Added, Notification, SharedInformer
from kinformer.meta import Object, ObjectKey, ObjectList, Record
from kinformer.reflector import Ages
from kinformer.testing import (
    HOLD,
    FakeClock,
    ListAnswer,
    ScriptedSource,
    WatchAnswer,
    added,
    bookmark,
    deleted,
    error_event,
    modified,
    settle,
)
from tests.unit.informer.stage import EXPIRED, PODS, Bench, Log, MakeBench, Quarantine, pod, shown, snapshot


async def test_the_initial_content_and_each_change_reach_the_store_and_the_handlers(make: MakeBench) -> None:
    bench = make(
        [
            *snapshot(9, pod("a", 1), pod("b", 2)),
            1.0,
            modified(pod("a", 10)),
            added(pod("c", 11)),
            deleted(pod("b", 12)),
            HOLD,
        ]
    )
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        assert bench.content == {"a(1)", "b(2)"}
        await settle()
        assert bench.log.take() == ["add a(1) initially", "add b(2) initially"]
        await bench.clock.advance(1)
        assert bench.log.take() == ["update a(1) to a(10)", "add c(11)", "delete b(12)"]
        assert bench.content == {"a(10)", "c(11)"}
        bench.informer.close()
    assert bench.source.pending == 0


async def test_it_is_synced_with_the_first_list_even_an_empty_one(make: MakeBench) -> None:
    bench = make([1.0, *snapshot(9), HOLD])
    registration = bench.informer.add_handler(bench.log)
    with pytest.raises(NotSyncedError):
        bench.informer.lister.list()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await settle()
        flags = [(bench.informer.is_synced, registration.is_synced)]
        await bench.clock.advance(1)
        flags.append((bench.informer.is_synced, registration.is_synced))
        assert flags == [(False, False), (True, True)]
        assert bench.informer.lister.list() == ()
        assert bench.informer.store.version == "9"
        assert bench.informer.conditions["Synced"].status
        bench.informer.close()
    assert bench.log.take() == []


async def test_its_ages_are_those_of_what_it_hears_and_infinite_before_it_runs(make: MakeBench) -> None:
    bench = make([*snapshot(9, pod("a", 1)), 5.0, bookmark("12"), HOLD])
    assert bench.informer.ages == Ages(math.inf, math.inf)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(12.0)
        assert bench.informer.ages == Ages(12.0, 7.0)
        bench.informer.close()


async def test_a_handler_is_synced_after_its_last_initial_call_and_the_informer_before(
    make: MakeBench,
) -> None:
    gate = anyio.Event()

    async def slow(told: Notification[Object]) -> None:
        await gate.wait()

    bench = make([*snapshot(9, pod("a", 1), pod("b", 2)), HOLD])
    registration = bench.informer.add_handler(slow)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        assert bench.content == {"a(1)", "b(2)"}
        assert not registration.is_synced
        gate.set()
        await registration.wait_synced()
        bench.informer.close()


async def test_a_relist_is_visible_at_once_and_only_what_changed_is_told(make: MakeBench) -> None:
    bench = make(
        [*snapshot(5, pod("a", 1), pod("b", 2), pod("c", 3)), 1.0, EXPIRED],
        [*snapshot(9, pod("d", 9), pod("b", 8), pod("a", 1)), HOLD],
    )
    bench.log.informer = bench.informer
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.log.take()
        bench.log.stores.clear()
        await bench.clock.advance(60)
        assert sorted(bench.log.take()) == ["add d(9)", "delete c(3) as tombstone", "update b(2) to b(8)"]
        assert bench.log.stores == [{"a(1)", "b(8)", "d(9)"}] * 3
        assert bench.informer.store.version == "9"
        bench.informer.close()


@pytest.mark.parametrize(
    ("queue", "story"),
    [
        ("delta", ["add d(9)", "update b(2) to b(8)", "delete c(3) as tombstone"]),
        ("in-order", ["delete c(3) as tombstone", "add d(9)", "update b(2) to b(8)"]),
    ],
)
async def test_a_relist_is_told_in_the_order_of_the_list_with_deletions_last_or_first(
    queue: str, story: list[str]
) -> None:
    bench = Bench(
        [*snapshot(5, pod("a", 1), pod("b", 2), pod("c", 3)), 1.0, EXPIRED],
        [*snapshot(9, pod("d", 9), pod("b", 8), pod("a", 1)), HOLD],
        queue=queue,
    )
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(60)
        assert bench.log.take()[3:] == story
        bench.informer.close()


@pytest.mark.parametrize(
    ("queue", "story"),
    [
        ("delta", ["add a(11)", "update a(11) to a(13)", "add b(12)"]),
        ("in-order", ["add a(11)", "add b(12)", "update a(11) to a(13)"]),
    ],
)
async def test_changes_of_several_keys_are_told_key_by_key_or_as_they_came(
    queue: str, story: list[str]
) -> None:
    changes = [added(pod("a", 11)), added(pod("b", 12)), modified(pod("a", 13))]
    bench = Bench([*snapshot(5), changes, HOLD], queue=queue)
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        assert bench.log.take() == story
        bench.informer.close()


async def test_an_unchanged_object_keeps_its_record_over_a_relist(make: MakeBench) -> None:
    bench = make([*snapshot(5, pod("a", 1)), 1.0, EXPIRED], [*snapshot(9, pod("a", 1)), HOLD])
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        [before] = bench.informer.store
        await bench.clock.advance(60)
        [after] = bench.informer.store
        assert bench.informer.store.version == "9"
        assert before is after
        bench.informer.close()


async def test_an_object_that_was_recreated_unseen_is_told_as_deletion_and_add(make: MakeBench) -> None:
    bench = make(
        [*snapshot(5, pod("a", 5, uid="U1")), 1.0, EXPIRED], [*snapshot(50, pod("a", 50, uid="U2")), HOLD]
    )
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(60)
        assert bench.log.take() == ["add a(5) initially", "delete a(5) as tombstone", "add a(50)"]
        bench.informer.close()


@pytest.mark.parametrize("is_listed", [False, True], ids=["watch-list", "list"])
async def test_what_a_relist_holds_illegibly_is_not_told_as_deleted(make: MakeBench, is_listed: bool) -> None:
    unread = [DecodeError("metadata", key="default/a"), DecodeError("odd", key="a/b/c")]
    watches: list[WatchAnswer] = [[*snapshot(5, pod("a", 1), pod("b", 2)), 1.0, EXPIRED]]
    lists: list[ListAnswer] = []
    if is_listed:
        watches.append(InvalidError(422, "Invalid", "sendInitialEvents is forbidden"))
        lists.append(ObjectList((), "9", rejected=(*unread, DecodeError("no key"))))
    else:
        watches.append([*map(error_event, unread), *snapshot(9), HOLD])
    bench = make(*watches, [modified(pod("a", 10)), HOLD], lists=lists)
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.log.take()
        await bench.clock.advance(60)
        assert bench.log.take()[0] == "delete b(2) as tombstone"
        assert ObjectKey("default", "a") in bench.informer.store
        bench.informer.close()


async def test_a_plain_list_does_as_well_as_a_watch_list(make: MakeBench) -> None:
    refused = InvalidError(422, "Invalid", "sendInitialEvents is forbidden")
    bench = make(refused, [modified(pod("a", 10)), HOLD], lists=[ObjectList((pod("a", 1),), "9")])
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(120)
        assert bench.log.take() == ["add a(1) initially", "update a(1) to a(10)"]
        bench.informer.close()


async def test_a_resync_shows_everything_to_those_that_are_due_and_asks_nobody(make: MakeBench) -> None:
    bench = make([*snapshot(5, pod("a", 1)), HOLD], resync=10.0)
    rare, never = Log(), Log()
    bench.informer.add_handler(bench.log)
    bench.informer.add_handler(rare, resync=25)
    bench.informer.add_handler(never, resync=0)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(60)
        bench.informer.close()
    shown = "update a(1) to a(1)"
    assert bench.log.take() == ["add a(1) initially", *[shown] * 6]
    assert rare.take() == ["add a(1) initially", *[shown] * 2]
    assert never.take() == ["add a(1) initially"]
    assert len(bench.source.requests) == 1


async def test_a_model_is_decoded_at_delivery_and_what_does_not_fit_is_named(make: MakeBench) -> None:
    class Spec(msgspec.Struct):
        replicas: int

    class Model(msgspec.Struct):
        spec: Spec

    hooks, clock = Quarantine(), FakeClock()
    source = ScriptedSource(
        PODS, watches=[[*snapshot(5, pod("a", 1, replicas=3), pod("b", 2, replicas="x")), HOLD]], clock=clock
    )
    informer = SharedInformer(source, model=Model, clock=clock, hooks=hooks)
    told: list[Notification[Model]] = []
    registration = informer.add_handler(told.append)
    async with anyio.create_task_group() as tasks:
        await tasks.start(informer.run)
        await registration.wait_synced()
        assert informer.lister.get("default/a") == Model(Spec(3))
        informer.close()
    assert told == [Added(Model(Spec(3)), is_initial=True)]
    assert (registration.delivered, registration.failures) == (1, 1)
    assert hooks.keys == ["default/b"]


async def test_a_transform_shapes_what_the_store_holds_and_one_that_fails_stops_nobody(
    make: MakeBench,
) -> None:
    def transform(content: dict[str, Any]) -> None:
        if content["metadata"]["name"] == "bad":
            raise ValueError("bad")
        del content["spec"]

    hooks = Quarantine()
    bench = make([*snapshot(5, pod("a", 1), pod("bad", 2)), HOLD], transform=transform, hooks=hooks)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        [found] = bench.informer.lister.list()
        assert "spec" not in found
        bench.informer.close()
    assert hooks.keys == ["default/bad"]


async def test_indexes_may_be_added_while_it_runs(make: MakeBench) -> None:
    def by_replicas(record: Record) -> list[str]:
        return [str(Object(record).at("spec", "replicas"))]

    bench = make([*snapshot(5, pod("a", 1, replicas=3), pod("b", 2)), HOLD], indexers={"early": by_replicas})
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        bench.informer.add_indexers({"replicas": by_replicas})
        for index in ("early", "replicas"):
            assert [shown(obj) for obj in bench.informer.lister.by_index(index, "3")] == ["a(1)"]
        bench.informer.close()


async def test_an_index_function_that_fails_costs_that_object_its_place_in_the_index(make: MakeBench) -> None:
    def by_body(record: Record) -> list[str]:
        return [str(Object(record)["status"])]

    hooks = Quarantine()
    bench = make([*snapshot(5, pod("a", 1)), HOLD], indexers={"status": by_body}, hooks=hooks)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        assert bench.content == {"a(1)"}
        bench.informer.close()
    assert hooks.keys == ["default/a"]


async def test_one_may_wait_for_a_version(make: MakeBench) -> None:
    bench = make([*snapshot(5), 1.0, added(pod("a", 10)), bookmark("20"), 1.0, bookmark("100"), HOLD])
    reached: list[tuple[str, float]] = []

    async def wait(version: str) -> None:
        await bench.informer.wait_for(version)
        reached.append((version, bench.clock.monotonic()))

    async with anyio.create_task_group() as tasks:
        for version in ("", "5", "15", "99"):
            tasks.start_soon(wait, version)
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(5)
        bench.informer.close()
    assert sorted(reached) == [("", 0.0), ("15", 1.0), ("5", 0.0), ("99", 2.0)]


async def test_a_wait_for_a_version_of_a_synced_informer_may_be_cancelled(make: MakeBench) -> None:
    bench = make([*snapshot(5), 1.0, bookmark("20"), HOLD])
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        with anyio.CancelScope() as scope:
            tasks.start_soon(bench.informer.wait_for, "20")
            bench.clock.call_at(0.5, scope.cancel)
            async with anyio.create_task_group() as both:
                both.start_soon(bench.clock.advance, 0.5)
                await bench.informer.wait_for("20")
        assert scope.cancelled_caught
        await bench.clock.advance(1)  # the other one, who was not cancelled, is let go
        bench.informer.close()


async def test_versions_that_cannot_be_compared_must_be_equal(make: MakeBench) -> None:
    bench = make([added(pod("a", 1)), bookmark("x1", ends_initial_events=True), HOLD])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await bench.informer.wait_for("x1")
        assert bench.informer.store.version == "x1"
        bench.informer.close()


async def test_a_wait_for_a_version_may_have_an_end(make: MakeBench) -> None:
    bench = make([1.0, *snapshot(5), 1.0, bookmark("20"), HOLD])
    ended: list[tuple[float, str]] = []

    async def wait(version: str, timeout: float) -> None:
        try:
            await bench.informer.wait_for(version, timeout=timeout)
            ended.append((bench.clock.monotonic(), "reached"))
        except TimeoutError as error:
            ended.append((bench.clock.monotonic(), str(error)))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, "20", 0.5)
        tasks.start_soon(wait, "20", 1.5)
        tasks.start_soon(wait, "20", 2.5)
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(5)
        await bench.informer.wait_for("20", timeout=0)
        bench.informer.close()
    assert ended == [
        (0.5, "informer pods is not synced after 0.5 s, and not at version 20"),
        (1.5, "informer pods is at version 5 after 1.5 s, and not at version 20"),
        (2.0, "reached"),
    ]
    assert bench.clock.next_timer is None


async def test_its_numbers_say_what_it_holds_and_how_often_it_had_to_begin_again(make: MakeBench) -> None:
    bench = make(
        [*snapshot(5, pod("a", 1), pod("b", 2)), 1.0, modified(pod("a", 10)), EXPIRED],
        [*snapshot(20, pod("a", 10)), 1.0],
        [HOLD],
    )
    before = bench.informer.stats
    assert (before.objects, before.size, before.relists, before.watch_restarts) == (0, 0, 0, 0)
    assert before.event_age == math.inf
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(0.5)
        first = bench.informer.stats
        await bench.clock.advance(60)
        second = bench.informer.stats
        bench.informer.close()
    assert (first.objects, first.size) == (2, len(pod("a", 1).raw) + len(pod("b", 2).raw))
    assert (first.event_age, first.relists, first.watch_restarts) == (0.5, 0, 0)
    assert (second.objects, second.relists, second.watch_restarts) == (1, 1, 2)
    assert second.size == len(pod("a", 10).raw)
    assert (second.queued, second.queue_high_water) == (0, 1)
