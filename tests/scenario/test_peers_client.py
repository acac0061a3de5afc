"""What users of other clients reported of requests, lists and limits, played to ours. The numbers are of public issues."""

import asyncio
import gc
import json
import threading
import tracemalloc
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client, RateLimit
from kinformer.errors import ForbiddenError
from kinformer.meta import Object, Resource
from kinformer.testing import AppTransport, FakeClock, config_map, settle

MAPS = Resource.builtin("ConfigMap")
PODS = Resource.builtin("Pod")


class Door:
    """Lets requests through to an application, or turns them away; notes when each came, by the clock."""

    def __init__(self, app: Any, clock: FakeClock) -> None:
        self.app = app
        self.clock = clock
        self.closed_until = 0.0
        self.came: list[float] = []

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        now = self.clock.monotonic()
        self.came.append(now)
        if now >= self.closed_until:
            await self.app(scope, receive, send)
            return
        head = [(b"retry-after", b"1"), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 429, "headers": head})
        body = {"kind": "Status", "apiVersion": "v1", "code": 429, "reason": "TooManyRequests"}
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


@asynccontextmanager
async def behind_a_door(rate_limit: RateLimit | None = None) -> AsyncIterator[tuple[Client, Door]]:
    clock = FakeClock()
    async with ApiServer(clock=clock) as server:
        door = Door(server.app, clock)
        transport = AppTransport(door, clock=clock)
        async with Client(
            "http://embedded", transport=transport, clock=clock, rate_limit=rate_limit
        ) as client:
            yield client, door


async def test_nothing_is_lost_while_the_server_turns_everybody_away_for_half_a_minute() -> None:
    """Scenario 28: nolar/kopf#1011."""
    async with behind_a_door() as (client, door):
        door.closed_until = 30.0
        async with anyio.create_task_group() as tasks:
            for number in range(50):
                tasks.start_soon(client.resource(MAPS).create, config_map(f"m{number}", namespace="default"))
            await door.clock.advance(60.0)
        assert len((await client.resource(MAPS).list(namespace="default", labels="")).items) >= 50
        first_second = [moment for moment in door.came if moment < 1.0]
        assert len(first_second) == 50, "somebody came back sooner than the server said"
        assert len(door.came) <= 50 * 13 + 1


async def test_a_start_with_hundreds_of_requests_stays_within_its_limit() -> None:
    """Scenario 29: lsst-sqre/gafaelfawr#1076, and the second half of 28."""
    async with behind_a_door(RateLimit(rate=50.0, burst=100)) as (client, door):
        async with anyio.create_task_group() as tasks:
            for number in range(400):
                tasks.start_soon(client.resource(MAPS).create, config_map(f"m{number}", namespace="default"))
            await door.clock.advance(6.0)
        assert len(door.came) == 400
        for index, moment in enumerate(door.came):
            within = sum(1 for other in door.came[index:] if other < moment + 1.0)
            assert within <= 100 + 50
        assert door.came[-1] == pytest.approx((400 - 100) / 50.0)


class Warehouse(httpx.AsyncBaseTransport):
    """Serves a list of so many pods, page by page, each made when it is asked for."""

    def __init__(self, count: int, size: int) -> None:
        self.count, self.size = count, size
        self.pages = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.pages += 1
        params = request.url.params
        begin, limit = int(params.get("continue", 0)), int(params["limit"])
        end = min(begin + limit, self.count)
        meta = {"resourceVersion": "9"} | ({"continue": str(end)} if end < self.count else {})
        items = [self.pod(number) for number in range(begin, end)]
        return httpx.Response(
            200, json={"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": items}
        )

    def pod(self, number: int) -> dict[str, Any]:
        metadata = {"name": f"p{number}", "namespace": "default", "resourceVersion": "7"}
        return {"metadata": metadata, "spec": {"node": f"n{number % 7}"}, "status": {"text": "x" * self.size}}


async def test_a_list_of_any_length_takes_the_memory_of_a_page() -> None:
    """Scenario 34: skypilot-org/skypilot#7469, kr8s-org/kr8s#727."""
    count, size, limit = 6_000, 1_000, 250
    warehouse = Warehouse(count, size)
    nodes: dict[str, int] = {}
    async with Client("http://server", transport=warehouse) as client:
        await anext(aiter(client.resource(PODS).pages(limit=limit)))  # what is made once and kept
        gc.collect()
        tracemalloc.start()
        try:
            async for page in client.resource(PODS).pages(limit=limit):
                for pod in page.items:
                    nodes[pod["spec"]["node"]] = nodes.get(pod["spec"]["node"], 0) + 1
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert sum(nodes.values()) == count
    assert warehouse.pages == 1 + count // limit
    assert peak < count * size / 2, f"{peak / 1e6:.1f} MB for pages of {limit * size / 1e6:.2f} MB"


async def test_objects_can_be_had_as_bytes_by_the_same_verbs() -> None:
    """Scenario 34: users by-pass models in order to list thousands of pods."""
    async with Client("http://server", transport=Warehouse(3, 10)) as client:
        pods = client.resource(PODS)
        page = await pods.list(limit=2)
        assert all(isinstance(pod, Object) for pod in page.items)
        raw = [json.loads(pod.raw) for pod in page.items]
    assert [pod["metadata"]["name"] for pod in raw] == ["p0", "p1"]
    assert "kind" not in raw[0], "the bytes are those that the server sent"


async def test_clients_and_watches_leave_nothing_behind_however_many_there_were() -> None:
    """Scenario 35: kubernetes-client/python#545, jupyterhub/kubespawner#165."""
    async with ApiServer() as server:

        async def cycle() -> None:
            async with Client("http://embedded", transport=AppTransport(server.app)) as client:
                for _ in range(10):
                    async with client.resource(MAPS).watch(initial_events=True) as batches:
                        await anext(batches)
                await client.mapper.find("configmaps")

        for _ in range(3):
            await cycle()
        await settle()
        gc.collect()
        threads, tasks, objects = threading.active_count(), len(asyncio.all_tasks()), len(gc.get_objects())
        for _ in range(40):
            await cycle()
        await settle()
        gc.collect()
        assert (threading.active_count(), len(asyncio.all_tasks())) == (threads, tasks)
        assert len(gc.get_objects()) < objects + 500


async def test_a_refused_watch_is_an_error_and_no_event() -> None:
    """Scenario 22: kubernetes-client/python-base#57."""

    async def refuse(scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 403, "headers": []})
        body = {"kind": "Status", "apiVersion": "v1", "code": 403, "reason": "Forbidden", "message": "no"}
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})

    async with Client("http://server", transport=AppTransport(refuse)) as client:
        with pytest.raises(ForbiddenError, match="no"):
            async with client.resource(PODS).watch() as batches:
                await anext(batches)
