"""Cut short at every turn of the loop, by a scope and by ``Task.cancel``: no socket, transport or task is left."""

import asyncio
import ssl
from asyncio import StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.client import Client, Config, Tls
from kinformer.meta import Resource
from tests.certificates import Authority
from tests.responder import Asked
from tests.wire.stream_stage import HEAD, Server, at_rest, chunk, serving, sockets, transports, whole

pytestmark = [
    pytest.mark.wire,
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors"),
]

PODS = Resource.builtin("Pod")
EVENT = b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n'
PAGE = b'{"kind":"PodList","metadata":{"resourceVersion":"9"},"items":[]}'
MOST = 400
"""Turns; what takes more would never end."""

Work = Callable[[Client], Awaitable[object]]


async def reply(asked: Asked, writer: StreamWriter) -> None:
    if "watch=true" in asked.path:
        writer.write(HEAD + chunk(EVENT))
        await writer.drain()
        await asyncio.sleep(0)  # noqa: TID251 -- one turn, so that some cuts come between two events
        writer.write(chunk(EVENT))
    else:
        writer.write(whole(PAGE))


async def listing(client: Client) -> object:
    return await client.resource(PODS).list()


async def watching(client: Client) -> object:
    seen = 0
    async with client.resource(PODS).watch() as batches:
        while seen < 2:
            seen += len(await anext(batches))
    return seen


class Site(NamedTuple):
    server: Server
    config: Config


@asynccontextmanager
async def site(folder: Path, *, is_secure: bool) -> AsyncIterator[Site]:
    authority = Authority()
    context: ssl.SSLContext | None = None
    if is_secure:
        context = authority.server(folder, "127.0.0.1")
    async with serving(reply, context) as server:
        yield Site(server, Config(server.url, tls=Tls(ca_data=authority.pem)))


async def by_scope(work: Callable[[], Awaitable[object]], turns: int) -> bool:
    ends: list[object] = []

    async def run() -> None:
        ends.append(await work())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        for _ in range(turns):
            await checkpoint()
        tasks.cancel_scope.cancel()
    return bool(ends)


async def by_task(work: Callable[[], Awaitable[object]], turns: int, *, times: int = 1) -> bool:
    ends: list[object] = []
    task: asyncio.Task[object] | None = None

    async def run() -> None:
        nonlocal task
        task = asyncio.current_task()
        ends.append(await work())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        for _ in range(turns):
            await checkpoint()
        for _ in range(times):
            if task is not None:
                task.cancel()
            await checkpoint()
    return bool(ends)


async def by_task_twice(work: Callable[[], Awaitable[object]], turns: int) -> bool:
    """The second time while it cleans up after the first."""
    return await by_task(work, turns, times=2)


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("cut", [by_scope, by_task, by_task_twice])
@pytest.mark.parametrize("work", [listing, watching])
async def test_a_client_that_is_cut_short_leaves_nothing(
    work: Work,
    cut: Callable[[Callable[[], Awaitable[object]], int], Awaitable[bool]],
    is_secure: bool,
    tmp_path: Path,
) -> None:
    async with site(tmp_path, is_secure=is_secure) as (_, config):

        async def live() -> object:
            async with Client(config) as client:
                return await work(client)

        await live()
        await at_rest()
        before, carried = (sockets(), len(asyncio.all_tasks())), transports()
        for turns in range(1, MOST):
            is_done = await cut(live, turns)
            await at_rest()
            assert (sockets(), len(asyncio.all_tasks())) == before, f"after {turns} turns"
            if is_done:
                assert turns > 1
                assert transports() == carried
                return
    raise AssertionError("it does not end")


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
@pytest.mark.parametrize("cut", [by_scope, by_task, by_task_twice])
@pytest.mark.parametrize("work", [listing, watching])
async def test_a_request_that_is_cut_short_leaves_no_connection_and_a_client_that_is_well(
    work: Work,
    cut: Callable[[Callable[[], Awaitable[object]], int], Awaitable[bool]],
    is_secure: bool,
    tmp_path: Path,
) -> None:
    async with site(tmp_path, is_secure=is_secure) as (_, config), Client(config) as client:
        await listing(client)
        await at_rest()
        before, carried = (
            (sockets(), len(asyncio.all_tasks())),
            transports(),
        )  # that of the kept connection too
        for turns in range(1, MOST):
            is_done = await cut(lambda: work(client), turns)
            await at_rest()
            assert sockets() <= before[0], f"after {turns} turns"
            await listing(client)
            await at_rest()
            assert (sockets(), len(asyncio.all_tasks())) == before, f"after {turns} turns"
            if is_done:
                assert turns > 1
                assert transports() == carried
                return
    raise AssertionError("it does not end")
