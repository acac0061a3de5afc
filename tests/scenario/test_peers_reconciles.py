"""Objects that the controllers of others never handled; named after public reports."""

from collections.abc import AsyncIterator
from random import Random

import anyio
import httpx
import pytest

from kinformer.client import Client
from kinformer.controller import Controller, Manager, Request
from kinformer.testing import FakeClock
from kinformer.testing._running import running
from kinformer.testing._waiting import wait_until
from tests.scenario.peers_stage import PODS, URL, bookmark, event, line, pod


class CrowdedServer(httpx.AsyncBaseTransport):
    """Has ever more pods, and cuts each of its streams after a while, anywhere."""

    def __init__(self, random: Random) -> None:
        self.pods: dict[str, int] = {}
        """Versions by name."""
        self.cuts = 0
        self._random = random
        self._lines: list[bytes] = []
        """What happened at version 1, 2, 3, ..."""
        self._changed = anyio.Event()

    def put(self, name: str) -> None:
        """Create a pod, or change it."""
        version = len(self._lines) + 1
        kind = "MODIFIED" if name in self.pods else "ADDED"
        self.pods[name] = version
        self._lines.append(line(event(kind, pod(name, version))))
        self._changed.set()
        self._changed = anyio.Event()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        params = request.url.params
        assert "watch" in params, "nothing is wrong with its watch-lists"
        if "sendInitialEvents" in params:
            return httpx.Response(200, stream=_Cut(self, None, self._random.randrange(100_000)))
        version = int(params["resourceVersion"])
        return httpx.Response(200, stream=_Cut(self, version, self._random.randrange(40_000)))

    async def since(self, version: int | None) -> AsyncIterator[bytes]:
        """Everything after a version, or what there is and then everything."""
        if version is None:
            version = len(self._lines)
            for name, at in self.pods.items():
                yield line(event("ADDED", pod(name, at)))
            yield line(bookmark(version, ends=True))
        while True:
            for each in self._lines[version:]:
                version += 1
                yield each
            if version == len(self._lines):
                await self._changed.wait()


class _Cut(httpx.AsyncByteStream):
    """A stream that is cut after so many bytes."""

    def __init__(self, server: CrowdedServer, version: int | None, room: int) -> None:
        self._server = server
        self._version = version
        self._room = room

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for each in self._server.since(self._version):
            yield each[: self._room]
            self._room -= len(each)
            if self._room <= 0:
                self._server.cuts += 1
                raise httpx.ReadError("cut")


@pytest.mark.parametrize("chance", range(2))
async def test_each_of_a_thousand_objects_is_reconciled_while_the_watches_are_cut_at_random(
    chance: int,
) -> None:
    """Scenario 7: nolar/kopf#698."""
    clock, server, seen = FakeClock(), CrowdedServer(Random(chance)), dict[str, int]()

    async def reconcile(request: Request) -> None:
        found = request.lister(PODS).get(request.key)
        assert found is not None
        seen[request.key.name] = int(found.metadata.resource_version)

    async with Client(URL, transport=server, clock=clock) as client:
        controller = Controller("seer", reconcile).watches(PODS)
        manager = Manager(controller, clients=client, clock=clock, random=Random(chance))
        async with running(manager, clock=clock, timeout=60.0, grace=5.0):
            for number in range(1000):
                server.put(f"p{number}")
                if number % 3 == 0:
                    server.put(f"p{number // 2}")
                if number % 10 == 0:
                    await clock.advance(1.0)
            assert server.cuts > 5
            await wait_until(lambda: seen == server.pods, timeout=900.0, clock=clock)
