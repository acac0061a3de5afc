"""A server that starts, keeps house and stops, cancelled wherever it waits; and its watches, of which some fail."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from itertools import count
from random import Random
from typing import Any, Self

import anyio
from anyio.lowlevel import checkpoint

from kinformer.apiserver import ApiServer
from kinformer.apiserver.http._watching import Streams, WatchStream, frame_object
from kinformer.apiserver.registry import Registry, StatusError
from kinformer.apiserver.rest import Event, ListOptions, Target, Verbs, WriteOptions
from kinformer.apiserver.storage import (
    Batch,
    CompactedError,
    KeyRange,
    ReadResult,
    UnavailableError,
    Watch,
)
from kinformer.controller import owner_reference
from kinformer.testing import FakeClock, config_map, settle
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import (
    CONFIG_MAPS,
    NAMESPACES,
    World,
    YieldingKV,
    is_whole,
    world,
)


async def a_server_that_lives(sweep: Sweep) -> None:
    """On a storage that holds something already; a namespace and an owner are deleted in it."""
    kv, numbers = YieldingKV(), count()

    async def live() -> None:
        async with world(kv) as made:
            await keep_house(made, f"space-{next(numbers)}")

    async def whole() -> None:
        await is_whole(kv)

    await sweep.of(live, held=lambda: kv.kv.watches, whole=whole)


async def keep_house(made: World, space: str) -> None:
    """An owner waits for those whom it owns, of which one goes and one has another owner still; then all go."""
    namespaces, maps = (
        made.client.resource(NAMESPACES),
        made.client.resource(CONFIG_MAPS).where(namespace=space),
    )
    await namespaces.create({"metadata": {"name": space}})
    owners = [await maps.create(config_map(name, namespace=space)) for name in ("one", "two")]
    mine, other = ({**owner_reference(owner), "blockOwnerDeletion": True} for owner in owners)
    await maps.create(config_map("owned", namespace=space, owners=[mine]))
    await maps.create(config_map("shared", namespace=space, owners=[mine, {**other, "controller": False}]))
    await maps.delete(owners[0].key, propagation="Foreground")
    await made.clock.advance(2.0)
    await namespaces.delete(space)
    await made.clock.advance(2.0)


class LeavingKV(YieldingKV):
    """Memory whose watches lose their place once, and which cannot be read as a whole for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.is_away = False

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        if self.is_away:
            raise UnavailableError("away")
        return await super().range(keys, revision=revision, limit=limit, count_only=count_only)

    @asynccontextmanager
    async def watch(self, keys: KeyRange, from_revision: int) -> AsyncIterator[Any]:
        async with super().watch(keys, from_revision) as watch:
            yield Leaving(self, watch)


class Leaving:
    def __init__(self, kv: LeavingKV, watch: Watch) -> None:
        self.kv, self.watch = kv, watch
        self.request_progress = watch.request_progress

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        batch = await anext(self.watch)
        if self.kv.is_away:
            raise CompactedError(1, 2)
        return batch


async def a_storage_that_goes_away(sweep: Sweep) -> None:
    """Housekeeping waits until it is there again."""

    async def work() -> None:
        kv, clock = LeavingKV(), FakeClock()
        async with ApiServer(storage=kv, clock=clock, random=Random(1)):
            kv.is_away = True
            await kv.put("/registry/core/configmaps/default/a", b"{}")
            await clock.advance(0.5)
            kv.is_away = False
            await clock.advance(1.0)

    await sweep.of(work)


async def reads_without_caches(sweep: Sweep) -> None:
    """While the server does not run there are none, and a revision that is to come is waited for in the storage."""
    kv, registry, clock = YieldingKV(), Registry(), FakeClock()
    verbs = Verbs(kv, registry, clock=clock, random=Random(1))
    namespaces = registry.find("", "v1", "namespaces")
    assert namespaces is not None
    await verbs.create(Target(namespaces), {"metadata": {"name": "a"}}, WriteOptions())

    async def work() -> None:
        version = str(await kv.revision() + 1)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(verbs.get, Target(namespaces, name="a"), version=version))
            tasks.start_soon(verbs.list, Target(namespaces), ListOptions(version=version))
            await settle()
            await kv.put("/elsewhere", b"")
            tasks.start_soon(read_in_vain, verbs, Target(namespaces, name="a"))
            await clock.advance(3.5)

    await sweep.of(work, held=lambda: kv.kv.watches)


async def read_in_vain(verbs: Verbs, target: Target) -> None:
    with suppress(StatusError):
        await verbs.get(target, version=str(2**62))


async def watches_without_caches(sweep: Sweep) -> None:
    """Each has a cache of its own, which may be behind what it asks for."""
    kv, registry = YieldingKV(), Registry()
    pods = registry.find("", "v1", "pods")
    assert pods is not None

    async def work() -> None:
        verbs = Verbs(kv, registry, clock=FakeClock(), random=Random(1))
        later = ListOptions(version=str(await kv.revision() + 1), version_match="NotOlderThan")
        latest = ListOptions(version_match="NotOlderThan")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, verbs.watch(Target(pods), later, initial_events=True))
            async with verbs.watch(Target(pods), latest, initial_events=False):
                await kv.put("/elsewhere", b"")
            await settle()
            tasks.cancel_scope.cancel()

    await sweep.of(work, held=lambda: kv.kv.watches)


async def read(watch: AbstractAsyncContextManager[AsyncIterator[Sequence[Event]]]) -> None:
    async with watch as batches:
        async for _ in batches:
            pass


async def watches_that_fail(sweep: Sweep) -> None:
    """While they are opened, and later, with an error for the client and with a bug."""
    for fails_at_once, failure in ((True, EXPIRED), (False, EXPIRED), (False, LookupError("a bug"))):

        async def watch(fails_at_once: bool = fails_at_once, failure: Exception = failure) -> None:
            source = failing(failure) if fails_at_once else breaking(failure)
            await WatchStream(source, frame_object, Streams())({}, never, take_time)

        await sweep.of(watch)


EXPIRED = StatusError(410, "Expired", "too old resource version")
Batches = AsyncIterator[Sequence[Event]]


@asynccontextmanager
async def failing(failure: Exception) -> AsyncIterator[Batches]:
    await checkpoint()
    raise failure
    yield Breaking(failure)  # type: ignore[unreachable]  # what makes it a context manager


@asynccontextmanager
async def breaking(failure: Exception) -> AsyncIterator[Batches]:
    try:
        yield Breaking(failure)
    finally:
        await checkpoint()


class Breaking:
    """One event, and the end."""

    def __init__(self, failure: Exception) -> None:
        self.has_begun, self.failure = False, failure

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[Event]:
        await checkpoint()
        if self.has_begun:
            raise self.failure
        self.has_begun = True
        return [Event("ADDED", {"x": 1})]


async def never() -> Any:
    await anyio.sleep_forever()


async def take_time(message: Any) -> None:
    await checkpoint()
