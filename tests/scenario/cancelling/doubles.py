"""What tests are written with, cancelled wherever it waits: clusters, claims, the transport, the fixture, scripts."""

from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from inspect import unwrap
from itertools import count
from threading import Event
from types import SimpleNamespace
from typing import Any, cast

import anyio
import anyio.to_thread
import httpx
import pytest
from anyio.lowlevel import checkpoint

from kinformer.controller import Controller, Request
from kinformer.meta import ObjectList
from kinformer.system_clock import SystemClock
from kinformer.testing import (
    HOLD,
    After,
    AppTransport,
    Cluster,
    FakeClock,
    ScriptedSource,
    config_map,
    pod,
    pytest_plugin,
    settle,
)
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import CONFIG_MAPS, PODS


async def clusters(sweep: Sweep) -> None:
    async def enter() -> None:
        async with Cluster(config_map("a"), pod("b", phase="Running")):
            pass

    await sweep.of(enter)
    async with Cluster(config_map("a")) as cluster:
        numbers = count()
        await cluster.client.resource(
            CONFIG_MAPS
        ).list()  # the server's caches outlive whoever made them begin

        async def wait() -> None:
            await wait_for_what_comes(cluster, f"late-{next(numbers)}")

        async def wait_in_vain() -> None:
            cluster.clock.call_at(cluster.clock.monotonic() + 2.0, lambda: None)
            with suppress(TimeoutError):
                await cluster.until(lambda: False)

        async def run() -> None:
            async with cluster.running(Controller("c", read).watches(CONFIG_MAPS)):
                await cluster.advance(1.0)

        await sweep.of(wait)
        await sweep.of(wait_in_vain)
        await sweep.of(run)


async def accounts(sweep: Sweep) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "cart"}}
    async with Cluster(account) as cluster:

        async def act() -> None:
            async with cluster.account("default/cart"):
                await checkpoint()

        await sweep.of(act)


async def wait_for_what_comes(cluster: Cluster, name: str) -> None:
    async def come() -> None:
        await cluster.clock.sleep(1.0)
        await cluster.create(config_map(name))

    async def has_come() -> bool:
        return bool(await cluster.client.resource(CONFIG_MAPS).get(f"default/{name}"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(come)
        await cluster.until(has_come)


async def read(request: Request) -> None:
    await request.client.resource(CONFIG_MAPS).get(request.key)


async def controllers_that_do_not_start_or_stop(sweep: Sweep) -> None:
    """One whose cache never fills, and one that does not heed its cancellation for a while."""
    stuck = Controller("stuck", read).watches(PODS, labels="app=x")

    async def start() -> None:
        async with Cluster() as cluster:
            with suppress(TimeoutError):
                async with cluster.running(stuck, timeout=0.0):
                    pass

    async def stop() -> None:
        async with Cluster(pod("a")) as cluster:

            async def tarry(request: Request) -> None:
                try:
                    await anyio.sleep_forever()
                finally:
                    with anyio.CancelScope(shield=True):
                        await cluster.clock.sleep(1.0)

            async with cluster.running(Controller("slow", tarry).watches(PODS), grace=2.0):
                pass

    await sweep.of(start)
    await sweep.of(stop)


async def clusters_in_real_time(sweep: Sweep) -> None:
    async def live() -> None:
        async with Cluster(clock=SystemClock()) as cluster:
            begin = SystemClock().monotonic()
            await cluster.until(lambda: SystemClock().monotonic() > begin + 0.001)
            await cluster.advance(0.001)

    await sweep.of(live)


async def claims(sweep: Sweep) -> None:
    """One that itself waits for the time, and one that asks a thread."""

    async def wait() -> None:
        async with Cluster() as cluster:

            async def slow() -> bool:
                await cluster.clock.sleep(0.0)
                await cluster.clock.sleep(1.0)
                return True

            async def threaded() -> bool:
                await anyio.to_thread.run_sync(Event().wait, 0.003)
                return True

            await cluster.until(slow)
            await cluster.until(threaded)

    await sweep.of(wait)


async def transports(sweep: Sweep) -> None:
    """Applications that are slow, that hear of the client's going, that do not, and that give no answer."""
    clock = FakeClock()

    def client_of(answers: Answers) -> httpx.AsyncClient:
        return httpx.AsyncClient(transport=AppTransport(answers, clock=clock), base_url="http://test")

    async def exchange() -> None:
        answers = Answers()
        answers.broken.set()
        async with client_of(answers) as client:
            await client.post("/answers", content=parts())
            async with client.stream("GET", "/answers") as response:
                async for _ in response.aiter_bytes():
                    await checkpoint()
            for path in ("/listens", "/tarries", "/floods"):
                async with client.stream("GET", path) as response:
                    await anext(response.aiter_bytes())
            await ask_in_vain(client, "/fails")

    async def leave() -> None:
        """With answers that have not come, and are not waited for."""
        async with anyio.create_task_group() as tasks, client_of(Answers()) as client:
            for path in ("/tarries", "/floods"):
                await client.send(client.build_request("GET", path), stream=True)
            tasks.start_soon(ask_in_vain, client, "/silent")
            await settle()

    async def fail(path: str) -> None:
        """In the very turn in which the request is cancelled: its wait is over, and there is no other."""
        answers = Answers()
        async with client_of(answers) as client, anyio.create_task_group() as tasks:
            tasks.start_soon(ask_in_vain, client, path)
            await settle()
            answers.broken.set()
            await checkpoint()
            tasks.cancel_scope.cancel()

    for work in (exchange, leave, partial(fail, "/fails"), partial(fail, "/breaks")):
        await sweep.of(work, held=lambda: clock.next_timer)


async def ask_in_vain(client: httpx.AsyncClient, path: str) -> None:
    with suppress(httpx.RemoteProtocolError):
        await client.get(path)


async def parts() -> AsyncIterator[bytes]:
    yield b"a"
    await checkpoint()
    yield b"b"


class Answers:
    """An application that behaves as the path says."""

    def __init__(self) -> None:
        self.broken = anyio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        path = scope["path"]
        await receive()
        if path == "/fails":
            await self.broken.wait()
            raise OSError("the disk is gone")
        try:
            if path == "/silent":
                await anyio.sleep_forever()
            await send({"type": "http.response.start", "status": 200})
            size = 65_536 if path == "/floods" else 1
            for more in (True, True, True):
                await checkpoint()
                await send({"type": "http.response.body", "body": b"x" * size, "more_body": more})
            if path == "/breaks":
                await self.broken.wait()
                raise OSError("the disk is gone")
            if path == "/answers":
                await send({"type": "http.response.body"})
            elif path == "/listens":
                await receive()
            else:
                await anyio.sleep_forever()
        finally:
            if path == "/tarries":
                with anyio.CancelScope(shield=True):
                    await checkpoint()


async def the_fixture(sweep: Sweep) -> None:
    """As pytest-asyncio drives it: set up, test and teardown, each of them cancelled."""

    async def test() -> None:
        await checkpoint()

    async def use() -> None:
        request = cast("pytest.FixtureRequest", SimpleNamespace(node=SimpleNamespace(obj=test)))
        fixture = unwrap(cast("Any", pytest_plugin.cluster))(request)
        await anext(fixture)
        try:
            await cast("Any", request).node.obj()
        finally:
            await anext(fixture, None)

    await sweep.of(use)


async def scripts(sweep: Sweep) -> None:
    """A source that takes its time, and one that never answers."""

    async def read() -> None:
        clock = FakeClock()
        page: ObjectList[Any] = ObjectList((), "1")
        stream = After(1.0, [1.0, [], HOLD])
        source = ScriptedSource(PODS, lists=[After(1.0, page), HOLD], watches=[stream], clock=clock)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(clock.advance, 5.0)
                await source.list()
                async with source.watch() as batches:
                    await anext(batches)
                    with clock.move_on_after(1.0):
                        await anext(batches)
                with clock.move_on_after(1.0):
                    await source.list()
        finally:
            assert source.pending == 0
            assert clock.next_timer is None

    await sweep.of(read)
