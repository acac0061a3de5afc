"""What users of other clients reported of requests, lists and limits, played to ours. The numbers are of public issues."""

import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client, RateLimit
from kinformer.errors import ForbiddenError
from kinformer.meta import Object, Resource
from kinformer.testing import AppTransport, FakeClock, config_map

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


async def test_objects_can_be_had_as_bytes_by_the_same_verbs() -> None:
    """Scenario 34: skypilot-org/skypilot#7469, where users by-pass models in order to list thousands of pods."""
    async with behind_a_door() as (client, _):
        maps = client.resource(MAPS)
        for name in "ab":
            await maps.create(config_map(name, namespace="default", data={"x": name}))
        page = await maps.list(namespace="default", limit=1)
        (obj,) = page.items
        assert isinstance(obj, Object)
        raw = json.loads(obj.raw)
    assert raw["metadata"]["name"] == obj.key.name
    assert "kind" not in raw, "the bytes are those that the server sent"


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
