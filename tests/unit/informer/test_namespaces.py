"""One informer of several namespaces: a watch for each, one store, and what happens to one is its own matter."""

import math
from typing import Any

import anyio
import msgspec
import pytest

from kinformer.errors import ClosedError, ForbiddenError, NotSyncedError
from kinformer.informer import Added, Handlers, Notification
from kinformer.meta import Object, ObjectKey
from kinformer.testing import (
    HOLD,
    added,
    bookmark,
    deleted,
    modified,
    settle,
)
from tests.unit.informer.namespaces_stage import Bench, holding, of
from tests.unit.informer.stage import EXPIRED, Log, shown, snapshot

FORBIDDEN = ForbiddenError(403, "Forbidden", "pods is forbidden")
QUEUES = pytest.mark.parametrize("queue", ["delta", "in-order"])


@QUEUES
async def test_the_store_holds_them_all_and_a_handler_hears_of_them_all(queue: str) -> None:
    changes = [modified(of("b", "y", 12)), deleted(of("b", "z", 13))]
    bench = Bench(
        a=[[*snapshot(9, of("a", "x", 1)), 2.0, added(of("a", "w", 20)), HOLD]],
        b=[[*snapshot(9, of("b", "y", 2), of("b", "z", 3)), 1.0, changes, HOLD]],
        queue=queue,
    )
    registration = bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await registration.wait_synced()
        assert bench.content == {"a/x(1)", "b/y(2)", "b/z(3)"}
        assert sorted(bench.log.take()) == [f"add {name} initially" for name in ("x(1)", "y(2)", "z(3)")]
        await bench.clock.advance(3)
        assert bench.log.take() == ["update y(2) to y(12)", "delete z(13)", "add w(20)"]
        assert bench.content == {"a/x(1)", "a/w(20)", "b/y(12)"}
        lister = bench.informer.lister
        assert [shown(obj) for obj in lister.by_namespace("b")] == ["y(12)"]
        assert lister.get("b/y") is not None
        assert lister.get("c/y") is None
        bench.informer.close()
    assert [source.pending for source in bench.sources.values()] == [0, 0]
    assert [len(source.requests) for source in bench.sources.values()] == [1, 1]


async def test_it_is_synced_when_all_are_and_handlers_hear_of_each_before() -> None:
    bench = Bench(a=[holding(9, of("a", "x", 1))], b=[[1.0, *holding(9, of("b", "y", 2))]])
    registration = bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await settle()
        assert bench.log.take() == ["add x(1) initially"]
        flags = [(bench.informer.is_synced, registration.is_synced)]
        with pytest.raises(NotSyncedError):
            bench.informer.lister.list()
        late = Log()
        joined = bench.informer.add_handler(late, coalesce=True)
        await settle()
        assert late.take() == ["add x(1) initially"]
        flags.append((bench.informer.is_synced, joined.is_synced))
        await bench.clock.advance(1)
        flags.append((bench.informer.is_synced, registration.is_synced and joined.is_synced))
        assert flags == [(False, False), (False, False), (True, True)]
        assert bench.log.take() == late.take() == ["add y(2) initially"]
        bench.informer.close()


@pytest.mark.parametrize("coalesce", [False, True])
async def test_a_handler_that_is_behind_is_synced_after_the_last_initial_add_of_the_last_namespace(
    coalesce: bool,
) -> None:
    gate = anyio.Event()
    told: list[str] = []

    async def slow(notification: Added[Object]) -> None:
        told.append(f"{shown(notification.obj)} {notification.is_initial}")
        await gate.wait()

    bench = Bench(
        a=[[*snapshot(9, of("a", "x", 1)), 1.0, added(of("a", "w", 11)), HOLD]],
        b=[[2.0, *holding(9, of("b", "y", 2))]],
    )
    registration = bench.informer.add_handler(Handlers(on_add=slow), coalesce=coalesce)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(3)
        assert bench.informer.is_synced
        assert not registration.is_synced
        assert (registration.backlog, registration.oldest_age) == (2, 1.0)
        gate.set()
        await registration.wait_synced()
        await settle()
        assert told == ["x(1) True", "y(2) True", "w(11) False"]
        bench.informer.close()


@QUEUES
async def test_a_relist_of_one_replaces_only_its_part(queue: str) -> None:
    bench = Bench(
        a=[holding(9, of("a", "x", 1), of("a", "z", 2))],
        b=[
            [*snapshot(9, of("b", "x", 3), of("b", "y", 4)), 1.0, EXPIRED],
            holding(30, of("b", "y", 4), of("b", "v", 22)),
        ],
        queue=queue,
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        bench.informer.add_handler(bench.log)
        await settle()
        bench.log.take()
        kept = bench.informer.store.get(ObjectKey("a", "x"))
        await bench.clock.advance(60)
        assert sorted(bench.log.take()) == ["add v(22)", "delete x(3) as tombstone"]
        assert bench.content == {"a/x(1)", "a/z(2)", "b/y(4)", "b/v(22)"}
        assert bench.informer.store.get(ObjectKey("a", "x")) is kept
        assert bench.informer.stats.relists == 1
        bench.informer.close()


@pytest.mark.parametrize("coalesce", [False, True])
async def test_a_late_handler_hears_of_them_all_and_then_of_every_change(coalesce: bool) -> None:
    bench = Bench(
        a=[[*snapshot(9, of("a", "x", 1)), 1.0, modified(of("a", "x", 11)), HOLD]],
        b=[[*snapshot(9, of("b", "y", 2)), 1.0, deleted(of("b", "y", 12)), HOLD]],
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        registration = bench.informer.add_handler(bench.log, coalesce=coalesce)
        assert (registration.is_synced, registration.backlog) == (False, 2)
        await registration.wait_synced()
        assert bench.log.take() == ["add x(1) initially", "add y(2) initially"]
        await bench.clock.advance(1)
        assert bench.log.take() == ["update x(1) to x(11)", "delete y(12)"]
        bench.informer.close()


async def test_one_that_is_forbidden_says_so_and_stops_no_other() -> None:
    bench = Bench(
        a=[[*snapshot(9, of("a", "x", 1)), 1.0, modified(of("a", "x", 10)), HOLD]],
        b=[FORBIDDEN, holding(9, of("b", "y", 2))],
    )
    assert bench.informer.namespace_conditions == {"a": {}, "b": {}}
    assert bench.informer.conditions == {}
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await settle()
        assert bench.troubles == {"a": ["Synced"], "b": ["Forbidden"]}
        forbidden, synced = bench.informer.conditions["Forbidden"], bench.informer.conditions["Synced"]
        assert forbidden.status
        assert forbidden.message.startswith("b: pods is forbidden")
        assert not synced.status
        assert bench.log.take() == ["add x(1) initially"]
        await bench.clock.advance(60)
        assert sorted(bench.log.take()) == ["add y(2) initially", "update x(1) to x(10)"]
        assert bench.troubles == {"a": ["Synced"], "b": ["Synced"]}
        assert bench.informer.conditions["Synced"].status
        assert not bench.informer.conditions["Forbidden"].status
        bench.informer.close()


async def test_one_that_is_forbidden_later_leaves_all_to_be_read() -> None:
    bench = Bench(
        a=[holding(9, of("a", "x", 1))], b=[[*snapshot(9, of("b", "y", 2)), 1.0, EXPIRED], FORBIDDEN]
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(60)
        assert bench.troubles == {"a": ["Synced"], "b": ["Synced", "Forbidden"]}
        assert bench.informer.is_synced
        assert bench.content == {"a/x(1)", "b/y(2)"}
        bench.informer.close()


async def test_numbers_and_ages_are_of_all_of_them() -> None:
    bench = Bench(
        a=[[*snapshot(9, of("a", "x", 1)), 1.0], [HOLD]],
        b=[[*snapshot(9, of("b", "y", 2)), 5.0, bookmark("12"), HOLD]],
    )
    assert (bench.informer.ages.event, bench.informer.stats.event_age) == (math.inf, math.inf)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(8)
        stats = bench.informer.stats
        assert (stats.objects, stats.size) == (2, len(of("a", "x", 1).raw) * 2)
        assert (stats.relists, stats.watch_restarts) == (0, 1)
        assert (bench.informer.ages.event, bench.informer.ages.bookmark) == (8.0, 8.0)
        bench.informer.close()


async def test_one_may_wait_for_a_version_of_all_or_of_one() -> None:
    bench = Bench(
        a=[[*snapshot(5), 1.0, added(of("a", "x", 10)), HOLD]], b=[[*snapshot(5), 3.0, bookmark("20"), HOLD]]
    )
    reached: list[tuple[str | None, float]] = []

    async def wait(namespace: str | None) -> None:
        await bench.informer.wait_for("10", namespace=namespace)
        reached.append((namespace, bench.clock.monotonic()))

    async def fail() -> None:
        with pytest.raises(TimeoutError, match=r"informer pods in b is at version 5 after 2 s"):
            await bench.informer.wait_for("10", timeout=2)
        reached.append(("late", bench.clock.monotonic()))

    async with anyio.create_task_group() as tasks:
        for namespace in ("a", "b", None):
            tasks.start_soon(wait, namespace)
        tasks.start_soon(fail)
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(2)
        assert bench.informer.store.version == "5"
        await bench.clock.advance(2)
        assert bench.informer.store.version == "10"
        with pytest.raises(ValueError, match="does not watch namespace 'c', but a, b"):
            await bench.informer.wait_for("10", namespace="c")
        bench.informer.close()
        with pytest.raises(ClosedError, match="informer pods in a ended before it was at version 99"):
            await bench.informer.wait_for("99")
    assert sorted(reached, key=str) == [("a", 1.0), ("b", 3.0), ("late", 2.0), (None, 3.0)]


async def test_a_resync_shows_all_of_them_once_in_each_period() -> None:
    bench = Bench(a=[holding(5, of("a", "x", 1))], b=[[3.0, *holding(5, of("b", "y", 2))]], resync=10.0)
    times: list[tuple[str, float]] = []
    bench.informer.add_handler(
        Handlers[Object](on_update=lambda told: times.append((shown(told.new), bench.clock.monotonic())))
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(36)
        bench.informer.close()
    assert times == [(name, at) for at in (10.0, 20.0, 30.0) for name in ("x(1)", "y(2)")]


async def test_an_index_covers_all_of_them() -> None:
    bench = Bench(
        a=[holding(5, of("a", "x", 1))], b=[holding(5, of("b", "x", 2))], indexers={"name": by_name}
    )
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        bench.informer.add_indexers({"late": by_name})
        for index in ("name", "late"):
            assert {str(obj.key) for obj in bench.informer.lister.by_index(index, "x")} == {"a/x", "b/x"}
        with pytest.raises(ValueError, match="'late' exists"):
            bench.informer.add_indexers({"late": by_name})
        bench.informer.close()


def by_name(record: Any) -> list[str]:
    return [record.key.name]


async def test_a_model_is_decoded_from_each_of_them() -> None:
    class Model(msgspec.Struct):
        metadata: dict[str, str]

    bench = Bench(a=[holding(5, of("a", "x", 1))], b=[holding(5, of("b", "y", 2))], model=Model)
    told: list[Notification[Any]] = []
    bench.informer.add_handler(told.append)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.close()
    assert {
        notification.obj.metadata["namespace"] for notification in told if isinstance(notification, Added)
    } == {
        "a",
        "b",
    }


async def test_a_wait_is_for_all_of_them_and_ends_with_the_informer() -> None:
    bench = Bench(a=[holding(5)], b=[[2.0, *holding(5)]])
    ended: list[tuple[str, float]] = []

    async def wait_synced() -> None:
        await bench.informer.wait_synced()
        ended.append(("synced", bench.clock.monotonic()))

    async def wait_for() -> None:
        with pytest.raises(ClosedError, match="informer pods in b ended before it was at version 9"):
            await bench.informer.wait_for("9", namespace="b")
        ended.append(("closed", bench.clock.monotonic()))

    async with anyio.create_task_group() as tasks:
        for wait in (wait_synced, wait_for, bench.informer.run):
            tasks.start_soon(wait)
        await bench.clock.advance(3)
        bench.informer.close()
    assert ended == [("synced", 2.0), ("closed", 3.0)]


async def test_cancelled_it_leaves_nothing_behind() -> None:
    bench = Bench(a=[holding(5, of("a", "x", 1))], b=[[HOLD]])
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        tasks.start_soon(bench.informer.wait_synced)
        tasks.start_soon(bench.informer.wait_for, "99")
        await settle()
        tasks.cancel_scope.cancel()
    assert bench.informer.is_closed
    assert [source.pending for source in bench.sources.values()] == [0, 0]
    assert len(anyio.get_running_tasks()) == 1
