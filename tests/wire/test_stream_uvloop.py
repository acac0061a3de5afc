"""The same transport on uvloop, whose transports and sockets are of another make."""

import asyncio
from pathlib import Path

import pytest

from kinformer.client import Client, Config, Tls
from kinformer.meta import Resource
from tests.certificates import Authority
from tests.wire.stream_stage import END, HEAD, chunk, saying, serving, until

pytestmark = pytest.mark.wire
uvloop = pytest.importorskip("uvloop", reason="needs the extra 'fast'")

PODS = Resource.builtin("Pod")
EVENT = b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n'


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
def test_a_watch_on_uvloop_is_read_kept_and_left(is_secure: bool, tmp_path: Path) -> None:
    authority = Authority()

    async def scene() -> None:
        context = authority.server(tmp_path, "127.0.0.1") if is_secure else None
        async with serving(saying(HEAD + chunk(EVENT) + END), context) as server:
            async with Client(Config(server.url, tls=Tls(ca_data=authority.pem))) as client:
                for _ in range(2):
                    async with client.resource(PODS).watch() as batches:
                        assert [len(batch) async for batch in batches] == [1]
                assert len(server.visits) == 1
            await until(lambda: server.closed == 1)

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scene())


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
def test_a_watch_on_uvloop_that_is_cancelled_closes_its_connection(is_secure: bool, tmp_path: Path) -> None:
    authority = Authority()

    async def scene() -> None:
        context = authority.server(tmp_path, "127.0.0.1") if is_secure else None
        async with (
            serving(saying(HEAD + chunk(EVENT)), context) as server,
            Client(Config(server.url, tls=Tls(ca_data=authority.pem))) as client,
        ):
            for number in range(1, 30):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(number / 1000):  # noqa: TID251 -- Task.cancel, at some moment
                        async with client.resource(PODS).watch() as batches:
                            async for _ in batches:
                                pass
            await until(lambda: server.closed == len(server.visits))

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(scene())
