"""Snapshots that are compared with exact lists, of a real server and of one that loses something."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client, ResourceClient
from kinformer.errors import ExpiredError, InconsistencyError
from kinformer.informer import InformerFactory
from kinformer.meta import Object, ObjectList, Resource, WatchEvent
from kinformer.reflector import Reflector
from kinformer.store import DeltaFIFO, Store
from kinformer.testing import AppTransport, FakeClock, config_map, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")


class Faulty:
    """A source that may lose one object on the way, and whose watches break now and then."""

    def __init__(self, inner: ResourceClient[Object], clock: FakeClock, *, loses: str = "") -> None:
        self.resource = inner.resource
        self.exact = 0
        self._inner = inner
        self._clock = clock
        self._loses = loses

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        page = await self._inner.list(
            version=version, version_match=version_match, limit=limit, continue_token=continue_token
        )
        if version_match == "Exact":
            self.exact += 1
            return page
        kept = tuple(item for item in page.items if item.key.name != self._loses)
        return ObjectList(kept, page.version, page.continue_token)

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        async with self._inner.watch(
            version=version, timeout=timeout, bookmarks=bookmarks, initial_events=initial_events
        ) as batches:
            yield self._tell(batches)

    async def _tell(
        self, batches: AsyncIterator[Sequence[WatchEvent]]
    ) -> AsyncIterator[Sequence[WatchEvent]]:
        began = self._clock.monotonic()
        async for batch in batches:
            kept = [event for event in batch if event.record is None or event.record.key.name != self._loses]
            if kept:
                yield kept
            if self._clock.monotonic() - began > 20.0:
                raise ExpiredError(410, "Expired", "so that there is another snapshot")


@asynccontextmanager
async def world() -> AsyncIterator[tuple[ResourceClient[Object], Client, FakeClock]]:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock) as server,
        Client("http://server", transport=AppTransport(server.app, clock=clock), clock=clock) as client,
    ):
        maps = client.resource(CONFIG_MAPS)
        for name in "abc":
            await maps.create(config_map(name, namespace="default"))
        yield maps, client, clock


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
async def test_no_alarm_is_raised_while_a_server_is_written_to(watch_list: bool) -> None:
    async with world() as (maps, _, clock), anyio.create_task_group() as tasks:
        source = Faulty(maps, clock)
        fifo = DeltaFIFO(Store())
        reflector = Reflector(source, fifo, watch_list=watch_list, check_snapshots=True, clock=clock)
        tasks.start_soon(reflector.run)
        for number in range(60):
            await maps.patch("default/a", {"data": {"number": str(number)}})
            if number % 7 == 0:
                await maps.create(config_map(f"n{number}", namespace="default"))
            await clock.advance(3.0)
        assert source.exact >= 4
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
async def test_a_snapshot_that_lost_an_object_ends_the_reflector_with_its_name(watch_list: bool) -> None:
    async with world() as (maps, _, clock):
        source = Faulty(maps, clock, loses="b")
        reflector = Reflector(
            source, DeltaFIFO(Store()), watch_list=watch_list, check_snapshots=True, clock=clock
        )
        with pytest.raises(InconsistencyError, match=r"missing: default/b$"):
            await reflector.run()


async def test_an_informer_may_be_checked_too() -> None:
    async with world() as (_, client, clock), anyio.create_task_group() as tasks:
        factory = InformerFactory(client, clock=clock)
        with factory.acquire(CONFIG_MAPS, check_snapshots=True) as informer:
            await tasks.start(factory.run)
            await settle()
            assert len(informer.store) == 3
        tasks.cancel_scope.cancel()
