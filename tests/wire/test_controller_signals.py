"""A program that runs a controller against a server on a socket, and is told to end."""

import signal
import sys

import anyio
import pytest
from anyio.streams.buffered import BufferedByteReceiveStream

from kinformer.apiserver import ApiServer
from kinformer.client import Client
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock
from kinformer.testing import config_map
from tests.wire.haste import is_soon

pytestmark = pytest.mark.wire

PROGRAM = """
import sys
from kinformer.controller import Controller, run
from kinformer.meta import Resource

async def reconcile(request):
    print("reconciled", request.key, flush=True)

run(Controller("site", reconcile).watches(Resource.builtin("ConfigMap")), config=sys.argv[1])
print("returned", flush=True)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_program_ends_within_a_second_of_a_signal(number: signal.Signals) -> None:
    async with ApiServer() as server, server.serve() as endpoint, Client(endpoint.url) as client:
        await client.resource(Resource.builtin("ConfigMap")).create(config_map("page"))
        async with await anyio.open_process([sys.executable, "-c", PROGRAM, endpoint.url]) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            output = BufferedByteReceiveStream(process.stdout)
            assert await output.receive_until(b"\n", 1000) == b"reconciled default/page"
            asked = SystemClock().monotonic()
            process.send_signal(number)
            assert await output.receive_until(b"\n", 1000) == b"returned"
            assert is_soon(SystemClock().monotonic() - asked, 1)
            assert await process.wait() == 0
            with pytest.raises(anyio.EndOfStream):
                await process.stderr.receive()
