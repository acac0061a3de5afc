"""What an informer holds on to: one record for each object, and nothing of what it has been through."""

import gc
import weakref
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from random import Random
from typing import Literal

import anyio
import pytest

from kinformer.errors import ClosedError, ExpiredError
from kinformer.informer import Added, InformerFactory, Notification, SharedInformer, Updated
from kinformer.meta import EventType, Object, ObjectList, Record, Resource, WatchEvent
from kinformer.testing import HOLD, FakeClock, modified, settle
from tests.unit.informer.stage import EXPIRED, PODS, MakeBench, pod, snapshot

COUNT = 200


class Traced(Record, frozen=True, gc=True, weakref=True):
    """A record that can be seen to be gone."""


class Fleet:
    """A source that makes its objects when they are read, and keeps none. Each list finds some of them changed."""

    resource = PODS

    def __init__(self, namespace: str = "default") -> None:
        self.namespace = namespace
        self.made: list[weakref.ref[Traced]] = []
        self.lists = 0
        self.expired = anyio.Event()

    @property
    def alive(self) -> int:
        """How many of its records somebody still holds."""
        return sum(made() is not None for made in self.made)

    def make(self, number: int) -> WatchEvent:
        record = pod(f"{number}", 1 if number % 10 else self.lists, namespace=self.namespace).record
        traced = Traced(record.resource, record.key, record.metadata, record.raw + b" ")
        self.made.append(weakref.ref(traced))
        return WatchEvent(EventType.ADDED, traced, record.metadata.resource_version)

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        raise NotImplementedError

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        yield self.stream()

    async def stream(self) -> AsyncIterator[Sequence[WatchEvent]]:
        self.lists += 1
        self.expired = anyio.Event()
        yield [self.make(number) for number in range(COUNT)]
        yield [WatchEvent(EventType.BOOKMARK, version=str(self.lists), ends_initial_events=True)]
        await self.expired.wait()
        raise ExpiredError(410, "Expired", "too old")


QUEUES: list[Literal["delta", "in-order"]] = ["delta", "in-order"]


@pytest.mark.parametrize("queue", QUEUES)
async def test_after_a_list_each_object_is_held_once(queue: Literal["delta", "in-order"]) -> None:
    clock, fleet = FakeClock(), Fleet()
    informer = SharedInformer(fleet, clock=clock, random=Random(1), queue=queue)
    told = 0

    def handler(notification: Notification[Object]) -> None:
        nonlocal told
        told += 1

    informer.add_handler(handler)
    informer.add_handler(handler, coalesce=True)
    async with anyio.create_task_group() as tasks:
        await tasks.start(informer.run)
        for number in range(1, 4):
            await clock.advance(60)
            assert told == 2 * (COUNT + (number - 1) * COUNT // 10)
            # Besides the store only the handles of the last notifications hold any: those of what has changed.
            assert COUNT <= fleet.alive <= COUNT + (number - 1) * COUNT // 10
            fleet.expired.set()
        informer.close()


async def test_a_compact_informer_tells_and_lists_the_same_and_holds_less(make: MakeBench) -> None:
    plain, changed = pod("a", 1, replicas=[1] * 200), pod("a", 10, replicas=[2] * 200)
    bench = make(
        [*snapshot(5, plain), 1.0, EXPIRED],
        [*snapshot(9, plain), 60.0, modified(changed), HOLD],
        compact=True,
    )
    told: list[Notification[Object]] = []
    bench.informer.add_handler(told.append)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        assert bench.informer.stats.size < len(plain.raw) / 2
        [before] = bench.informer.store
        await bench.clock.advance(30)
        [after] = bench.informer.store
        assert bench.informer.store.version == "9"
        assert before is after
        await bench.clock.advance(60)
        assert bench.informer.lister.get("default/a") == changed
        bench.informer.close()
    assert told == [Added(plain, is_initial=True), Updated(plain, changed)]


class Fleets:
    """A client that has a fleet for each namespace."""

    def __init__(self) -> None:
        self.made: list[Fleet] = []

    def resource(self, resource: Resource, /) -> "Fleets":
        return self

    def where(self, *, namespace: str | None = None, **filters: str | None) -> Fleet:
        self.made.append(Fleet(namespace or "default"))
        return self.made[-1]


@contextmanager
def without_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("namespaces", [(), ("a", "b")], ids=len)
async def test_what_nobody_holds_any_more_is_freed_without_the_collector(namespaces: tuple[str, ...]) -> None:
    clock, fleets = FakeClock(), Fleets()
    factory = InformerFactory(fleets, clock=clock, random=Random(1))
    async with anyio.create_task_group() as tasks:
        await tasks.start(factory.run)
        with without_collector():
            with factory.acquire(PODS, namespaces=namespaces, resync=10) as pods:
                pods.add_handler(lambda told: None)
                await pods.wait_synced()
                fleets.made[0].expired.set()
                await clock.advance(60)
                assert sum(fleet.alive for fleet in fleets.made) >= COUNT * len(fleets.made)
                lister = pods.lister
            await settle()
            assert sum(fleet.alive for fleet in fleets.made) == 0
            with pytest.raises(ClosedError, match="informer pods has been let go"):
                lister.list()
        tasks.cancel_scope.cancel()
