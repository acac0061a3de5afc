"""A manager as probes and browsers see it: over real sockets, in real time."""

import socket
from collections.abc import Callable
from functools import partial

import anyio
import httpx
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client
from kinformer.controller import Controller, Manager, Request, serve
from kinformer.hooks import NoHooks, RequestFinished
from kinformer.meta import Resource
from kinformer.observe import Metrics
from kinformer.system_clock import SystemClock
from kinformer.testing import Cluster, config_map

pytestmark = pytest.mark.wire

CONFIG_MAPS = Resource.builtin("ConfigMap")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")


async def let_be(request: Request) -> None:
    """Do nothing."""


def controller(resource: Resource = CONFIG_MAPS) -> Controller:
    return Controller("maps", let_be).watches(resource)


async def wait(claim: Callable[[], bool]) -> None:
    while not claim():
        await SystemClock().sleep(0.005)


async def test_probes_are_answered_while_the_manager_runs_and_no_longer() -> None:
    async with Cluster(config_map("a"), clock=SystemClock()) as cluster, httpx.AsyncClient() as browser:
        manager = Manager(controller(), clients=cluster.client, address="127.0.0.1:0")
        assert manager.url == ""
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            url = manager.url
            health, ready = await browser.get(f"{url}/healthz"), await browser.get(f"{url}/readyz")
            manager.stop()
        with pytest.raises(httpx.ConnectError):
            await browser.get(f"{url}/healthz")
    assert (health.status_code, health.text) == (200, "ok\n")
    assert (ready.status_code, ready.text) == (200, "[+] configmaps: 1 object\nready\n")
    assert manager.url == ""


async def test_a_stuck_informer_makes_the_manager_unready_before_it_has_started() -> None:
    async with Cluster(clock=SystemClock()) as cluster, httpx.AsyncClient() as browser:
        manager = Manager(controller(WEBSITES), clients=cluster.client, address="127.0.0.1:0")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await wait(lambda: bool(manager.waits) and "CustomResourceDefinition" in str(manager.waits))
            answer = await browser.get(f"{manager.url}/readyz")
            manager.stop()
    assert answer.status_code == 503
    assert "[-] websites.example.dev: KindMissing" in answer.text
    assert "is its CustomResourceDefinition applied?" in answer.text


async def test_a_manager_stops_at_once_whatever_its_clients_do() -> None:
    async with Cluster(clock=SystemClock()) as cluster:
        manager = Manager(controller(), clients=cluster.client, address="localhost:0")
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            port = int(manager.url.rpartition(":")[2])
            idle = await anyio.connect_tcp("localhost", port)
            midway = await anyio.connect_tcp("localhost", port)
            await midway.send(b"GET /hea")
            began = SystemClock().monotonic()
            manager.stop()
        async with idle, midway:
            assert SystemClock().monotonic() - began < 1.0
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await idle.receive()
    assert manager.was_cut == ()


async def test_a_manager_whose_address_is_in_use_fails_before_anything_starts() -> None:
    async with Cluster() as cluster:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = f"127.0.0.1:{other.getsockname()[1]}"
            manager = Manager(controller(), clients=cluster.client, clock=cluster.clock, address=address)
            with pytest.raises(OSError, match=f"cannot listen on address='{address}'"):
                await manager.run()
        assert cluster.server.app.open_watches == 0


def test_an_address_that_is_none_is_refused_when_the_manager_is_made() -> None:
    with pytest.raises(ValueError, match="address='8080' must be 'host:port'"):
        Manager(controller(), address="8080")


async def test_a_program_tells_its_managers_hooks_and_metrics_of_its_requests_once() -> None:
    heard: list[str] = []

    class Ear(NoHooks):
        def request_finished(self, event: RequestFinished, /) -> None:
            heard.append(event.method)

    async def reconcile(request: Request) -> None:
        await request.client.resource(CONFIG_MAPS).patch(request.key, {"data": {"seen": "yes"}})

    metrics = Metrics()
    maps = Controller("maps", reconcile).watches(CONFIG_MAPS)
    manager = Manager(maps, hooks=Ear(), metrics=metrics)
    async with ApiServer() as server, server.serve() as endpoint, Client(endpoint.url) as client:
        await client.resource(CONFIG_MAPS).create(config_map("a"))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(serve, manager, config=endpoint.url))
            await wait(lambda: heard.count("PATCH") == 2)
            manager.stop()
    host = endpoint.url.removeprefix("http://")
    assert metrics.tally.requests["200", "PATCH", host] == 2
