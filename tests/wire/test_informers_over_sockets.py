"""Informers on real connections that come and go."""

from pathlib import Path

import anyio
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client
from kinformer.informer import SharedInformer
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock
from kinformer.testing import pod
from tests.wire.fault_stage import TRANSPORTS, Streaming

pytestmark = pytest.mark.wire

PODS = Resource.builtin("Pod")
DESCRIPTORS = Path("/proc/self/fd")


@pytest.mark.skipif(not DESCRIPTORS.exists(), reason="this system does not list the open files of a process")
@pytest.mark.parametrize("waits", [True, False], ids=["synced", "at once"])
@pytest.mark.parametrize("streaming", TRANSPORTS)
async def test_informers_that_start_and_stop_leave_no_socket_open(streaming: Streaming, waits: bool) -> None:
    """Scenario 35: kubernetes-client/python#545, jupyterhub/kubespawner#165."""
    async with (
        ApiServer() as server,
        server.serve() as endpoint,
        Client(endpoint.url, streaming=streaming) as client,
    ):
        await client.resource(PODS).create(pod("a"))

        async def start_and_stop(times: int) -> int:
            for _ in range(times):
                informer = SharedInformer(client.resource(PODS))
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(informer.run)
                    await (informer.wait_synced() if waits else SystemClock().sleep(0.001))
                    informer.close()
            await SystemClock().sleep(0.05)  # the server's side closes after ours
            return open_files()

        before = await start_and_stop(5)
        assert await start_and_stop(40) <= before


def open_files() -> int:
    """How many files and sockets this process has open."""
    return sum(1 for _ in DESCRIPTORS.iterdir())
