"""Informers that are shared, counted and run together."""

import inspect
from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import anyio
import pytest

from kinformer.errors import ClosedError
from kinformer.informer import MANAGED_FIELDS, CacheOptions, InformerFactory
from kinformer.informer._cache import Cache
from kinformer.informer._options import completed
from kinformer.meta import LabelSelector, Object, Record, Resource
from kinformer.testing import HOLD, FakeClock, ScriptedSource, WatchAnswer, bookmark, settle

PODS = Resource.builtin("Pod")
NODES = Resource.builtin("Node")

SYNCED: list[WatchAnswer] = [[bookmark("9", ends_initial_events=True), HOLD]]


class Narrowed:
    """What ``client.resource(...)`` gives: remembers by what it is narrowed down."""

    def __init__(self, resource: Resource, client: "Client") -> None:
        self.resource = resource
        self.client = client

    def where(
        self, *, namespace: str | None = None, labels: str | None = None, fields: str | None = None
    ) -> ScriptedSource:
        self.client.filters.append((namespace, labels, fields))
        source = ScriptedSource(self.resource, watches=self.client.watches, clock=self.client.clock)
        self.client.sources.append(source)
        return source


class Client:
    """A client whose every watch is answered alike."""

    def __init__(self, watches: Iterable[WatchAnswer] = SYNCED) -> None:
        self.clock = FakeClock()
        self.watches = watches
        self.filters: list[tuple[str | None, str | None, str | None]] = []
        self.sources: list[ScriptedSource] = []

    def resource(self, resource: Resource, /) -> Narrowed:
        return Narrowed(resource, self)


class Bench:
    def __init__(self, watches: Iterable[WatchAnswer] = SYNCED) -> None:
        self.client = Client(watches)
        self.factory = InformerFactory(self.client, clock=self.client.clock)

    @property
    def pending(self) -> list[int]:
        """How many requests each source has open."""
        return [source.pending for source in self.client.sources]


def test_who_asks_for_the_same_gets_the_same() -> None:
    bench = Bench()
    with bench.factory.acquire(PODS) as first, bench.factory.acquire(PODS, Object) as second:
        assert first is second
    assert len(bench.client.sources) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"resource": NODES},
        {"namespaces": ["shop"]},
        {"namespaces": ["shop", "till"]},
        {"labels": "app=web"},
        {"fields": "spec.nodeName=n"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_who_asks_for_something_else_gets_another(other: dict[str, object]) -> None:
    bench = Bench()
    with ExitStack() as held:
        first = held.enter_context(bench.factory.acquire(PODS))
        second = held.enter_context(bench.factory.acquire(**({"resource": PODS} | other)))  # type: ignore[call-overload]  # any
        assert first is not second


def test_the_filters_reach_the_source() -> None:
    bench = Bench()
    with bench.factory.acquire(PODS, namespaces={"shop"}, labels="app=web", fields="spec.nodeName=n"):
        assert bench.client.filters == [("shop", "app=web", "spec.nodeName=n")]


def test_an_informer_of_a_custom_resource_hears_of_its_definition_and_of_no_other() -> None:
    bench = Bench()
    with (
        bench.factory.acquire(Resource("example.dev", "v1", "websites", "Website")),
        bench.factory.acquire(PODS),
        bench.factory.acquire(Resource.builtin("Deployment")),
    ):
        assert bench.client.filters == [
            (None, None, None),
            (None, None, "metadata.name=websites.example.dev"),
            (None, None, None),
            (None, None, None),
        ]
    assert [str(source.resource) for source in bench.client.sources][1] == (
        "customresourcedefinitions.apiextensions.k8s.io"
    )


def test_selectors_are_compared_by_what_they_mean() -> None:
    bench = Bench()
    with (
        bench.factory.acquire(PODS, labels=" app == web ") as first,
        bench.factory.acquire(PODS, labels=LabelSelector.parse("app==web")) as second,
    ):
        assert first is second


def test_the_same_with_other_options_is_refused() -> None:
    bench = Bench()
    with (
        bench.factory.acquire(PODS, resync=10),
        pytest.raises(
            ValueError, match=r"pods is held with resync=10 and resync=0.0 is asked for: ask for the same"
        ),
        bench.factory.acquire(PODS),
    ):
        pass


def test_options_are_compared_with_what_is_meant_where_they_are_left_out() -> None:
    def by_name(found: Record) -> list[str]:
        return [found.key.name]

    bench = Bench()
    same: list[CacheOptions] = [
        {},
        {"queue": "delta", "resync": 0, "compact": False, "check_snapshots": False, "indexers": ()},
        {"prune": MANAGED_FIELDS, "transform": None, "indexers": {}},
    ]
    with ExitStack() as stack:
        assert len({stack.enter_context(bench.factory.acquire(PODS, **options)) for options in same}) == 1
    with (
        bench.factory.acquire(PODS, indexers={"name": by_name}) as first,
        bench.factory.acquire(PODS, indexers=iter([("name", by_name)])) as second,
    ):
        assert first is second


def test_what_is_left_out_is_what_an_informer_takes_it_for() -> None:
    meant = completed({})
    taken = inspect.signature(Cache.__init__).parameters
    assert meant == {name: taken[name].default for name in CacheOptions.__annotations__} | {"indexers": {}}


async def test_what_was_let_go_is_synced_no_more() -> None:
    bench = Bench()
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.factory.run)
        with bench.factory.acquire(PODS) as pods, bench.factory.acquire(PODS, dict) as dicts:
            await pods.wait_synced()
            assert (pods.is_synced, dicts.is_synced) == (True, True)
        assert (pods.is_synced, dicts.is_synced) == (False, False)
        with pytest.raises(ClosedError, match="let go: wait while you hold it"):
            await pods.wait_synced()
        with pytest.raises(ClosedError, match="let go"):
            await pods.wait_for("1")
        tasks.cancel_scope.cancel()


async def test_one_that_cannot_be_given_is_not_held_either() -> None:
    bench = Bench()
    no_model: Any = []
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.factory.run)
        with (
            pytest.raises(TypeError, match=r"model=.* must be Object, a msgspec Struct"),
            bench.factory.acquire(PODS, no_model),
        ):
            pass
        await settle()
        assert bench.pending == []
        with bench.factory.acquire(PODS, resync=10):  # nor are its options remembered
            await settle()
            assert bench.pending == [1]
        tasks.cancel_scope.cancel()


async def test_several_namespaces_are_one_informer_with_a_watch_each() -> None:
    bench = Bench()
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.factory.run)
        with (
            bench.factory.acquire(PODS, namespaces=["b", "a", "b"], labels="app=web") as first,
            bench.factory.acquire(PODS, namespaces=("a", "b"), labels="app=web") as second,
        ):
            assert first is second
            await first.wait_synced()
            assert set(first.namespace_conditions) == {"a", "b"}
            assert bench.client.filters == [("a", "app=web", None), ("b", "app=web", None)]
            assert bench.pending == [1, 1]
        await settle()
        assert bench.pending == [0, 0]
        tasks.cancel_scope.cancel()


def test_namespaces_that_make_no_sense_are_refused() -> None:
    factory = Bench().factory
    with pytest.raises(TypeError, match=r"write \['shop'\]"):
        factory.acquire(PODS, namespaces="shop")
    nothing: Any = None
    with pytest.raises(TypeError, match="must hold names, not None"):
        factory.acquire(PODS, namespaces=[nothing])
    with pytest.raises(ValueError, match="must not be empty"):
        factory.acquire(PODS, namespaces=[""])
    with pytest.raises(ValueError, match="nodes is cluster-scoped"):
        factory.acquire(NODES, namespaces=["shop"])


async def test_informers_that_were_acquired_before_start_with_the_factory() -> None:
    bench = Bench()
    with bench.factory.acquire(PODS) as pods, bench.factory.acquire(NODES) as nodes:
        async with anyio.create_task_group() as tasks:
            await tasks.start(bench.factory.run)
            assert pods.is_synced
            assert nodes.is_synced
            tasks.cancel_scope.cancel()
    assert bench.pending == [0, 0]


async def test_informers_that_are_acquired_later_start_at_once() -> None:
    bench = Bench()
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.factory.run)
        with bench.factory.acquire(PODS) as pods:
            await pods.wait_synced()
            await bench.factory.wait_synced()
        tasks.cancel_scope.cancel()


async def test_the_last_one_to_let_go_ends_the_watch() -> None:
    bench = Bench()
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.factory.run)
        with bench.factory.acquire(PODS) as pods:
            with bench.factory.acquire(PODS):
                await pods.wait_synced()
            await settle()
            assert bench.pending == [1]
        await settle()
        assert bench.pending == [0]
        with pytest.raises(ClosedError):
            pods.add_handler(print)
        with bench.factory.acquire(PODS) as again:
            assert again is not pods
            await again.wait_synced()
        tasks.cancel_scope.cancel()


async def test_one_that_is_let_go_before_it_runs_never_runs() -> None:
    bench = Bench()
    with bench.factory.acquire(PODS) as pods:
        pass
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.factory.run)
        assert bench.client.sources[0].requests == []
        with pytest.raises(ClosedError):
            await pods.wait_synced()
        tasks.cancel_scope.cancel()


async def test_one_that_is_let_go_in_the_turn_in_which_it_was_acquired_never_runs() -> None:
    bench = Bench()
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.factory.run)
        with bench.factory.acquire(PODS):
            pass
        await settle()
        assert bench.client.sources[0].requests == []
        tasks.cancel_scope.cancel()


async def test_one_that_is_let_go_before_its_list_holds_up_nobody() -> None:
    bench = Bench([[HOLD]])
    started = anyio.Event()

    async def run(tasks: anyio.abc.TaskGroup) -> None:
        await tasks.start(bench.factory.run)
        started.set()

    async with anyio.create_task_group() as tasks:
        with bench.factory.acquire(PODS):
            tasks.start_soon(run, tasks)
            await settle()
            assert not started.is_set()
        await settle()
        assert started.is_set()
        tasks.cancel_scope.cancel()


async def test_it_runs_once() -> None:
    bench = Bench()
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.factory.run)
        with pytest.raises(RuntimeError, match="runs once"):
            await bench.factory.run()
        tasks.cancel_scope.cancel()
    with pytest.raises(RuntimeError, match="runs once"):
        await bench.factory.run()


async def test_after_its_end_nothing_can_be_acquired_and_what_is_held_has_ended() -> None:
    bench = Bench()
    with bench.factory.acquire(PODS) as pods:
        async with anyio.create_task_group() as tasks:
            await tasks.start(bench.factory.run)
            tasks.cancel_scope.cancel()
        with pytest.raises(ClosedError):
            pods.add_handler(print)
        with pytest.raises(ClosedError, match="the informer factory has ended"), bench.factory.acquire(NODES):
            pass


async def test_cancelled_while_it_waits_for_the_lists_it_leaves_nothing_behind() -> None:
    bench = Bench([[HOLD]])
    with bench.factory.acquire(PODS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.factory.run)
            tasks.start_soon(bench.factory.wait_synced)
            await settle()
            assert bench.pending == [1]
            tasks.cancel_scope.cancel()
    assert bench.pending == [0]
    assert len(anyio.get_running_tasks()) == 1


async def test_a_wait_ends_with_the_factory() -> None:
    bench = Bench([[HOLD]])

    async def wait() -> None:
        with pytest.raises(ClosedError, match="informer pods ended before it was synced"):
            await bench.factory.wait_synced()

    with bench.factory.acquire(PODS):
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(wait)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(bench.factory.run)
                await settle()
                tasks.cancel_scope.cancel()
