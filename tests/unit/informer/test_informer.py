"""One cache and many handlers, over a source that follows a script."""

from collections.abc import Iterable
from typing import Any

import anyio
import msgspec
import pytest

from kinformer.errors import ClosedError, ExpiredError, InvalidError, NotSyncedError
from kinformer.hooks import NoHooks, ObjectQuarantined
from kinformer.informer import Added, Deleted, Handlers, Notification, SharedInformer, Updated
from kinformer.meta import Object, ObjectList, Record, Resource
from kinformer.testing import (
    HOLD,
    FakeClock,
    ListAnswer,
    ScriptedSource,
    StreamStep,
    WatchAnswer,
    added,
    bookmark,
    deleted,
    error_event,
    modified,
    settle,
)

PODS = Resource.builtin("Pod")


def pod(
    name: str, version: int, *, uid: str = "", namespace: str = "default", replicas: object = 1
) -> Object:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
    }
    return Object.from_mapping({"metadata": metadata, "spec": {"replicas": replicas}}, PODS)


def snapshot(version: int, *objects: Object) -> list[StreamStep]:
    """The beginning of a watch-list: these objects, and the bookmark that ends them."""
    return [*map(added, objects), bookmark(str(version), ends_initial_events=True)]


EXPIRED = error_event(ExpiredError(410, "Expired", "too old"))


class Log:
    """A handler that writes down what it is told, and what the store holds at that moment."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.informer: SharedInformer[Object] | None = None
        self.stores: list[set[str]] = []

    def __call__(self, told: Notification[Object]) -> None:
        match told:
            case Added(obj, is_initial):
                self.lines.append(f"add {_name(obj)}{' initially' if is_initial else ''}")
            case Updated(old, new):
                self.lines.append(f"update {_name(old)} to {_name(new)}")
            case Deleted(obj, is_tombstone):
                self.lines.append(f"delete {_name(obj)}{' as tombstone' if is_tombstone else ''}")
        if self.informer is not None:
            self.stores.append({_name(obj) for obj in self.informer.lister.list()})

    def take(self) -> list[str]:
        lines, self.lines = self.lines, []
        return lines


def _name(obj: Object) -> str:
    return f"{obj.key.name}({obj.metadata.resource_version})"


class Bench:
    """An informer over a script."""

    def __init__(self, *watches: WatchAnswer, lists: Iterable[ListAnswer] = (), **options: Any) -> None:
        self.clock = FakeClock()
        self.source = ScriptedSource(PODS, lists=lists, watches=watches, clock=self.clock)
        self.informer: SharedInformer[Object] = SharedInformer(self.source, clock=self.clock, **options)
        self.log = Log()

    @property
    def content(self) -> set[str]:
        return {_name(obj) for obj in self.informer.lister.list()}


class Quarantine(NoHooks):
    def __init__(self) -> None:
        self.keys: list[str] = []

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.keys.append(event.key)


async def test_the_initial_content_and_each_change_reach_the_store_and_the_handlers() -> None:
    bench = Bench(
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


async def test_it_is_synced_with_the_first_list_even_an_empty_one() -> None:
    bench = Bench([1.0, *snapshot(9), HOLD])
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


async def test_a_handler_is_synced_after_its_last_initial_call_and_the_informer_before() -> None:
    gate = anyio.Event()

    async def slow(told: Notification[Object]) -> None:
        await gate.wait()

    bench = Bench([*snapshot(9, pod("a", 1), pod("b", 2)), HOLD])
    registration = bench.informer.add_handler(slow)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        assert bench.content == {"a(1)", "b(2)"}
        assert not registration.is_synced
        gate.set()
        await registration.wait_synced()
        bench.informer.close()


async def test_a_relist_is_visible_at_once_and_only_what_changed_is_told() -> None:
    bench = Bench(
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


async def test_an_unchanged_object_keeps_its_record_over_a_relist() -> None:
    bench = Bench([*snapshot(5, pod("a", 1)), 1.0, EXPIRED], [*snapshot(9, pod("a", 1)), HOLD])
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        [before] = bench.informer.store
        await bench.clock.advance(60)
        [after] = bench.informer.store
        assert bench.informer.store.version == "9"
        assert before is after
        bench.informer.close()


async def test_an_object_that_was_recreated_unseen_is_told_as_deletion_and_add() -> None:
    bench = Bench(
        [*snapshot(5, pod("a", 5, uid="U1")), 1.0, EXPIRED], [*snapshot(50, pod("a", 50, uid="U2")), HOLD]
    )
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(60)
        assert bench.log.take() == ["add a(5) initially", "delete a(5) as tombstone", "add a(50)"]
        bench.informer.close()


async def test_a_plain_list_does_as_well_as_a_watch_list() -> None:
    refused = InvalidError(422, "Invalid", "sendInitialEvents is forbidden")
    bench = Bench(refused, [modified(pod("a", 10)), HOLD], lists=[ObjectList((pod("a", 1),), "9")])
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(120)
        assert bench.log.take() == ["add a(1) initially", "update a(1) to a(10)"]
        bench.informer.close()


async def test_a_late_handler_gets_what_is_there_and_then_every_change() -> None:
    bench = Bench([*snapshot(5, pod("a", 1), pod("b", 2)), 1.0, modified(pod("a", 10)), HOLD])
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        registration = bench.informer.add_handler(bench.log)
        flags = [registration.is_synced]
        await settle()
        assert [*flags, registration.is_synced] == [False, True]
        await bench.clock.advance(1)
        assert bench.log.take() == ["add a(1) initially", "add b(2) initially", "update a(1) to a(10)"]
        bench.informer.close()


async def test_one_handler_may_be_added_twice() -> None:
    bench = Bench([*snapshot(5, pod("a", 1)), 1.0, modified(pod("a", 10)), HOLD])
    first, second = (
        bench.informer.add_handler(bench.log),
        bench.informer.add_handler(bench.log, name="second"),
    )
    assert (first.name, second.name) == ("Log", "second")
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.remove_handler(first)
        await bench.clock.advance(1)
        assert bench.log.take() == ["add a(1) initially", "add a(1) initially", "update a(1) to a(10)"]
        bench.informer.close()


async def test_a_removed_handler_finishes_its_call_and_gets_no_other() -> None:
    gate = anyio.Event()
    calls: list[str] = []

    async def blocked(told: Notification[Object]) -> None:
        calls.append("begun")
        await gate.wait()
        calls.append("ended")

    bench = Bench([*snapshot(5, pod("a", 1), pod("b", 2)), HOLD])
    registration = bench.informer.add_handler(blocked)
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.remove_handler(registration)
        bench.informer.remove_handler(registration)
        gate.set()
        await settle()
        bench.informer.close()
    assert calls == ["begun", "ended"]
    assert len(bench.log.take()) == 2


async def test_a_registration_of_another_informer_is_no_matter() -> None:
    bench, other = Bench([*snapshot(5, pod("a", 1)), HOLD]), Bench()
    bench.informer.add_handler(bench.log)
    bench.informer.remove_handler(other.informer.add_handler(bench.log))
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.close()
    assert bench.log.take() == ["add a(1) initially"]


async def test_a_slow_handler_delays_nobody() -> None:
    async def stuck(told: Notification[Object]) -> None:
        await anyio.sleep_forever()

    changes = [modified(pod("a", version)) for version in range(10, 200)]
    bench = Bench([*snapshot(5, pod("a", 1)), 1.0, changes, HOLD])
    registration = bench.informer.add_handler(stuck)
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(1)
        assert bench.content == {"a(199)"}
        assert len(bench.log.take()) == 191
        assert registration.backlog == 190
        bench.informer.close()


async def test_a_coalescing_handler_gets_what_is_left_of_a_burst() -> None:
    gate = anyio.Event()
    log = Log()

    async def slow(told: Notification[Object]) -> None:
        log(told)
        await gate.wait()

    changes = [modified(pod("a", version)) for version in range(10, 200)]
    bench = Bench([*snapshot(5, pod("a", 1)), 1.0, changes, HOLD])
    registration = bench.informer.add_handler(slow, coalesce=True)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(1)
        assert registration.backlog == 1
        gate.set()
        await settle()
        assert log.take() == ["add a(1) initially", "update a(1) to a(199)"]
        bench.informer.close()


async def test_handlers_share_one_object_for_each_delivery() -> None:
    bench = Bench([*snapshot(5, pod("a", 1)), HOLD])
    seen: list[Object] = []
    for _ in range(2):
        bench.informer.add_handler(Handlers[Object](on_add=lambda told: seen.append(told.obj)))
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.close()
    first, second = seen
    assert first is second


async def test_a_resync_shows_everything_to_those_that_are_due_and_asks_nobody() -> None:
    bench = Bench([*snapshot(5, pod("a", 1)), HOLD], resync=10.0)
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


async def test_a_model_is_decoded_at_delivery_and_what_does_not_fit_is_named() -> None:
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


async def test_a_transform_shapes_what_the_store_holds_and_one_that_fails_stops_nobody() -> None:
    def transform(content: dict[str, Any]) -> None:
        if content["metadata"]["name"] == "bad":
            raise ValueError("bad")
        del content["spec"]

    hooks = Quarantine()
    bench = Bench([*snapshot(5, pod("a", 1), pod("bad", 2)), HOLD], transform=transform, hooks=hooks)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        [found] = bench.informer.lister.list()
        assert "spec" not in found
        bench.informer.close()
    assert hooks.keys == ["default/bad"]


async def test_indexes_may_be_added_while_it_runs() -> None:
    def by_replicas(record: Record) -> list[str]:
        return [str(Object(record).at("spec", "replicas"))]

    bench = Bench([*snapshot(5, pod("a", 1, replicas=3), pod("b", 2)), HOLD], indexers={"early": by_replicas})
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        bench.informer.add_indexers({"replicas": by_replicas})
        for index in ("early", "replicas"):
            assert [_name(obj) for obj in bench.informer.lister.by_index(index, "3")] == ["a(1)"]
        bench.informer.close()


async def test_an_index_function_that_fails_costs_that_object_its_place_in_the_index() -> None:
    def by_body(record: Record) -> list[str]:
        return [str(Object(record)["status"])]

    hooks = Quarantine()
    bench = Bench([*snapshot(5, pod("a", 1)), HOLD], indexers={"status": by_body}, hooks=hooks)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        assert bench.content == {"a(1)"}
        bench.informer.close()
    assert hooks.keys == ["default/a"]


async def test_one_may_wait_for_a_version() -> None:
    bench = Bench([*snapshot(5), 1.0, added(pod("a", 10)), bookmark("20"), 1.0, bookmark("100"), HOLD])
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


async def test_versions_that_cannot_be_compared_must_be_equal() -> None:
    bench = Bench([added(pod("a", 1)), bookmark("x1", ends_initial_events=True), HOLD])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await bench.informer.wait_for("x1")
        assert bench.informer.store.version == "x1"
        bench.informer.close()


async def test_it_runs_once() -> None:
    bench = Bench([*snapshot(5), HOLD])
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        with pytest.raises(RuntimeError, match="informer pods ran before"):
            await bench.informer.run()
        bench.informer.close()
    with pytest.raises(RuntimeError, match="informer pods ran before"):
        await bench.informer.run()
    assert len(bench.source.requests) == 1


async def test_after_its_end_it_can_be_read_and_nothing_else() -> None:
    bench = Bench([*snapshot(5, pod("a", 1)), HOLD])
    registration = bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.close()
    assert bench.content == {"a(1)"}
    assert bench.informer.is_synced
    await bench.informer.wait_synced()
    bench.informer.remove_handler(registration)
    with pytest.raises(ClosedError, match="handlers can be added before that"):
        bench.informer.add_handler(bench.log)
    with pytest.raises(ClosedError, match="ended before it was at version 6"):
        await bench.informer.wait_for("6")


async def test_one_that_was_closed_does_not_run() -> None:
    bench = Bench()
    bench.informer.close()
    with pytest.raises(ClosedError, match="closed before it ran"):
        await bench.informer.run()
    with pytest.raises(ClosedError, match="ended before it was synced"):
        await bench.informer.wait_synced()


async def test_waits_end_with_the_informer() -> None:
    bench = Bench([HOLD])
    registration = bench.informer.add_handler(bench.log)
    ended: list[str] = []

    async def wait(what: Any) -> None:
        with pytest.raises(ClosedError):
            await what.wait_synced()
        ended.append(type(what).__name__)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, bench.informer)
        tasks.start_soon(wait, registration)
        tasks.start_soon(bench.informer.run)
        await settle()
        bench.informer.close()
    assert sorted(ended) == ["Registration", "SharedInformer"]


@pytest.mark.parametrize("pause", [0.0, 0.5, 1.0, 2.0], ids=["opening", "listing", "synced", "watching"])
async def test_cancelled_at_any_time_it_leaves_nothing_behind(pause: float) -> None:
    async def stuck(told: Notification[Object]) -> None:
        await anyio.sleep_forever()

    bench = Bench([1.0, *snapshot(5, pod("a", 1)), 1.0, modified(pod("a", 10)), HOLD], resync=1.0)
    registration = bench.informer.add_handler(stuck)
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(pause)
        tasks.cancel_scope.cancel()
    assert bench.source.pending == 0
    assert bench.clock.next_timer is None
    assert len(anyio.get_running_tasks()) == 1
    assert registration.backlog == 0
    with pytest.raises(ClosedError):
        bench.informer.add_handler(bench.log)


async def test_a_cancelled_wait_leaves_the_informer_as_it_was() -> None:
    bench = Bench([1.0, *snapshot(5), HOLD])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(bench.informer.wait_synced)
            waiting.start_soon(bench.informer.wait_for, "9")
            await settle()
            waiting.cancel_scope.cancel()
        await bench.clock.advance(1)
        assert bench.informer.is_synced
        bench.informer.close()


async def test_what_is_no_error_of_the_source_comes_out_as_it_is() -> None:
    class Faulty(NoHooks):
        def reflector_listed(self, event: object, /) -> None:
            raise ZeroDivisionError("a hook must not raise")

    bench = Bench([*snapshot(5), HOLD], hooks=Faulty())
    with pytest.raises(ZeroDivisionError):
        await bench.informer.run()


def test_the_queue_in_the_servers_order_is_not_there_yet() -> None:
    with pytest.raises(ValueError, match="queue='in-order' is not there yet"):
        Bench(queue="in-order")
