"""What speaks over sockets, cancelled wherever it waits: none is left open. In real time, since sockets know no other."""

from typing import Any

import anyio

from kinformer.apiserver import ApiServer
from kinformer.apiserver.http import serve
from kinformer.client import Client
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import CONFIG_MAPS


async def a_server_on_a_socket(sweep: Sweep) -> None:
    """With a watch that it ends itself."""

    async def live() -> None:
        async with (
            ApiServer() as server,
            server.serve() as endpoint,
            Client(endpoint.url) as client,
            client.resource(CONFIG_MAPS).watch(initial_events=True) as batches,
        ):
            await anext(batches)

    await sweep.of(live)


async def a_server_whose_requests_do_not_end(sweep: Sweep) -> None:
    """They are reset after half a second, and told so; the slowest of the sweeps."""

    async def live() -> None:
        async with serve(deaf) as endpoint:
            stream = await anyio.connect_tcp(endpoint.host, endpoint.port)
            async with stream:
                await stream.send(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
                await stream.receive()

    await sweep.of(live)


async def deaf(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": b"x", "more_body": True})
    await anyio.sleep_forever()
