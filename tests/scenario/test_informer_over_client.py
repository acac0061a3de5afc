"""An informer on a real client, whose server misbehaves below the level of answers."""

import anyio
import httpx

from kinformer.client import Client
from kinformer.informer import SharedInformer
from kinformer.meta import Resource
from kinformer.testing import FakeClock, settle

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
