import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import anyio
import httpx
import pytest

from kinformer.apiserver import ApiServer
from kinformer.apiserver.storage import KeyRange, MemoryKV
from kinformer.testing import AppTransport, FakeClock, settle
from tests.unit.apiserver.http.stage import CRD

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@asynccontextmanager
async def client_of(server: ApiServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=AppTransport(server.app), base_url="http://test") as client:
        yield client


async def test_the_default_namespaces_are_there_n_1() -> None:
    async with ApiServer() as server, client_of(server) as client:
        listed = (await client.get("/api/v1/namespaces")).json()
    names = [item["metadata"]["name"] for item in listed["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


async def test_it_works_on_a_fake_clock() -> None:
    clock = FakeClock()
    async with ApiServer(clock=clock) as server, client_of(server) as client:
        await clock.advance(5)
        created = (await client.post(CONFIG_MAPS, json={"metadata": {"name": "a"}})).json()
    assert created["metadata"]["creationTimestamp"] == "2026-01-01T00:00:05Z"


async def test_storage_outlives_a_server() -> None:
    storage = MemoryKV()
    async with ApiServer(storage=storage) as server, client_of(server) as client:
        await client.post(CONFIG_MAPS, json={"metadata": {"name": "a"}})
    async with ApiServer(storage=storage) as server, client_of(server) as client:
        assert (await client.get(f"{CONFIG_MAPS}/a")).status_code == 200


async def test_a_definition_that_one_server_takes_in_is_served_by_all_over_the_same_storage() -> None:
    storage = MemoryKV()
    sites = "/apis/example.dev/v1/namespaces/default/sites"
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    async with (
        ApiServer(storage=storage) as left,
        ApiServer(storage=storage) as right,
        client_of(left) as one,
        client_of(right) as other,
    ):
        assert (await other.get(sites)).status_code == 404
        assert (await one.post(definitions, json=CRD)).status_code == 201
        await settle()
        made = {"apiVersion": "example.dev/v1", "kind": "Site", "metadata": {"name": "a"}}
        assert (await other.post(sites, json=made)).status_code == 201
        assert (await one.get(f"{sites}/a")).status_code == 200
        assert (await other.delete(f"{definitions}/{CRD['metadata']['name']}")).status_code == 200
        await settle()
        assert {(await each.get(sites)).status_code for each in (one, other)} == {404}


async def test_equal_seeds_give_equal_servers() -> None:
    uids = []
    for _ in range(2):
        async with ApiServer(clock=FakeClock(), random=Random(7)) as server, client_of(server) as client:
            created = (await client.post(CONFIG_MAPS, json={"metadata": {"generateName": "a-"}})).json()
            uids.append((created["metadata"]["name"], created["metadata"]["uid"]))
    assert uids[0] == uids[1]


async def test_it_is_entered_once() -> None:
    server = ApiServer()
    async with server:
        with pytest.raises(RuntimeError, match="make a new one"):
            await server.__aenter__()
    with pytest.raises(RuntimeError, match="make a new one"):
        await server.__aenter__()


async def test_it_serves_only_while_it_runs() -> None:
    with pytest.raises(RuntimeError, match="enter it"):
        ApiServer().serve()


async def test_an_error_inside_of_the_block_leaves_it_as_it_is() -> None:
    with pytest.raises(LookupError, match="mine"):
        async with ApiServer():
            raise LookupError("mine")


async def test_leaving_it_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    async with ApiServer():
        assert len(asyncio.all_tasks()) > len(before)
    assert asyncio.all_tasks() == before


async def test_a_cancelled_block_leaves_no_task() -> None:
    before = asyncio.all_tasks()

    async def hold() -> None:
        async with ApiServer():
            await anyio.Event().wait()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hold)
        await settle()
        tasks.cancel_scope.cancel()
    assert asyncio.all_tasks() == before


class Failing(MemoryKV):
    """A storage whose watches break, at once or later."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = anyio.Event()

    @asynccontextmanager
    async def watch(self, keys: KeyRange, from_revision: int) -> AsyncIterator[Any]:
        yield self

    def __aiter__(self) -> "Failing":
        return self

    async def __anext__(self) -> Any:
        await self.fails.wait()
        raise OSError("the disk is gone")


async def test_a_loop_that_fails_ends_the_block_with_its_error() -> None:
    storage = Failing()
    with pytest.raises(OSError, match="the disk is gone"):  # noqa: PT012 -- it is the block that fails
        async with ApiServer(storage=storage):
            storage.fails.set()
            await anyio.Event().wait()


async def test_a_storage_that_fails_at_the_start_gives_its_error() -> None:
    before = asyncio.all_tasks()

    class Broken(MemoryKV):
        def watch(self, keys: KeyRange, from_revision: int) -> Any:
            raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        async with ApiServer(storage=Broken()):
            raise AssertionError
    assert asyncio.all_tasks() == before


async def test_a_cancellation_while_it_is_entered_leaves_no_task() -> None:
    before = asyncio.all_tasks()

    class Slow(MemoryKV):
        async def range(
            self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
        ) -> Any:
            if keys.start == "/registry/":
                await anyio.Event().wait()
            return await super().range(keys, revision=revision, limit=limit, count_only=count_only)

    async def enter() -> None:
        async with ApiServer(storage=Slow()):
            raise AssertionError

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(enter)
        await settle()
        tasks.cancel_scope.cancel()
    assert asyncio.all_tasks() == before


def test_it_can_be_made_without_a_loop(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ApiServer()
    assert caplog.records == []


async def test_leaving_does_not_raise_again_what_it_was_given() -> None:
    server = ApiServer()
    await server.__aenter__()
    error = asyncio.CancelledError()
    await server.__aexit__(type(error), error, None)


async def test_at_the_end_watches_end_properly_and_the_application_answers_503() -> None:
    server = ApiServer(clock=FakeClock())
    lines: list[str] = []
    ended: list[bool] = []

    async def watch(client: httpx.AsyncClient) -> None:
        async with client.stream("GET", "/api/v1/namespaces?watch=true") as response:
            async for line in response.aiter_lines():
                lines.append(line)  # noqa: PERF401 -- looked at while it grows
        ended.append(True)

    async with client_of(server) as client, anyio.create_task_group() as tasks:
        async with server:
            tasks.start_soon(watch, client)
            await settle()
            assert (len(lines), ended) == (4, [])
        await settle()
        assert ended == [True]
        assert (await client.get("/version")).status_code == 503
