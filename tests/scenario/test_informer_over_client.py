"""An informer on a real client, whose server hangs, or dies and comes back with another history."""

import anyio
import httpx
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client
from kinformer.informer import SharedInformer
from kinformer.meta import Resource
from kinformer.testing import AppTransport, FakeClock, pod, settle
from kinformer.testing._waiting import wait_until

PODS = Resource.builtin("Pod")


class Hanging(httpx.AsyncBaseTransport):
    """Refuses watch-lists, and lets every LIST hang from some page on."""

    def __init__(self, pages: int) -> None:
        self.pages = pages
        self.lists = 0
        self.hanging = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if "watch" in request.url.params:
            return httpx.Response(400)
        self.lists += 1
        if int(request.url.params.get("continue", 0)) < self.pages:
            page = int(request.url.params.get("continue", 0)) + 1
            metadata = {"resourceVersion": "1", "continue": str(page)}
            return httpx.Response(200, json={"kind": "PodList", "metadata": metadata, "items": []})
        self.hanging += 1
        try:
            await anyio.Event().wait()
        finally:
            self.hanging -= 1
        raise AssertionError("nobody wakes it")


async def test_a_list_that_hangs_is_given_up_by_the_client_after_65_seconds() -> None:
    for pages in (0, 2):
        clock, transport = FakeClock(), Hanging(pages)
        async with Client("http://server", transport=transport, clock=clock) as client:
            informer = SharedInformer(client.resource(PODS), clock=clock)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(informer.run)
                await settle()
                assert (transport.lists, transport.hanging) == (pages + 1, 1)
                await clock.advance(64.9)
                assert informer.conditions["Disconnected"].message == ""
                await clock.advance(0.2)
                assert "no answer within 65 s" in informer.conditions["Disconnected"].message
                assert transport.hanging == 0
                await clock.advance(10)
                assert (transport.lists, transport.hanging) == (2 * (pages + 1), 1)
                informer.close()
            assert transport.hanging == 0


class Gate(httpx.AsyncBaseTransport):
    """Leads to whichever server is there now."""

    def __init__(self) -> None:
        self.now: httpx.AsyncBaseTransport | None = None

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if self.now is None:
            raise httpx.ConnectError("refused")
        return await self.now.handle_async_request(request)


@pytest.mark.parametrize("count", [0, 1, 30], ids=["fewer", "about as many", "more"])
async def test_a_server_that_comes_back_without_its_objects_is_followed_all_the_same(count: int) -> None:
    clock = FakeClock()
    gate = Gate()
    async with Client("http://server", transport=gate, clock=clock) as client:
        pods = client.resource(PODS)
        informer = SharedInformer(pods, clock=clock)
        async with anyio.create_task_group() as tasks:
            async with ApiServer(clock=clock) as server, AppTransport(server.app, clock=clock) as gate.now:
                for name in ("a", "b", "c"):
                    await pods.create(pod(name))
                tasks.start_soon(informer.run)
                await wait_until(lambda: len(informer.store) == 3, timeout=5, clock=clock)
            gate.now = None
            await clock.advance(3)
            async with ApiServer(clock=clock) as server, AppTransport(server.app, clock=clock) as gate.now:
                names = {f"new-{number}" for number in range(count)}
                for name in names:
                    await pods.create(pod(name))
                await wait_until(
                    lambda: {record.key.name for record in informer.store} == names, timeout=60, clock=clock
                )
                assert not informer.conditions["Disconnected"].status
                informer.close()
