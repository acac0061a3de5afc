"""Reaching a server: how long it may take, what it leaves, and what the kernel is told about the connection."""

import socket
from asyncio import StreamReader, StreamWriter
from collections.abc import Awaitable, Iterator
from pathlib import Path

import anyio
import httpx
import pytest

from kinformer.client import Client, Config, Tls
from kinformer.client._stream import SOCKET_OPTIONS
from kinformer.errors import TransportError
from kinformer.meta import Resource
from kinformer.testing import FakeClock
from tests.certificates import Authority
from tests.responder import listening
from tests.wire.stream_stage import HEAD, asking, at_rest, chunk, saying, serving, sockets, until, whole

pytestmark = pytest.mark.wire

PODS = Resource.builtin("Pod")


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port at which connections are neither made nor refused, as behind some firewalls: its queue is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        waiting = []
        for _ in range(4):
            each = socket.socket()
            each.setblocking(False)
            each.connect_ex(listener.getsockname())
            waiting.append(each)
        yield int(listener.getsockname()[1])
        for each in waiting:
            each.close()


async def outcome(clock: FakeClock, asked: Awaitable[object], seconds: float) -> tuple[TransportError, float]:
    """The failure of a request, and the moment at which it came."""
    found: list[tuple[TransportError, float]] = []

    async def run() -> None:
        with pytest.raises(TransportError) as caught:
            await asked
        found.append((caught.value, clock.monotonic()))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await at_rest()
        await clock.advance(seconds)
        await until(lambda: bool(found))
    return found[0]


async def test_a_port_that_does_not_answer_is_given_up_after_ten_seconds(deaf: int) -> None:
    clock, before = FakeClock(), sockets()
    async with Client(f"http://127.0.0.1:{deaf}", clock=clock) as client:
        error, moment = await outcome(clock, client.resource(PODS).without_retries().get("a/b"), 20.0)
        assert error.refused
        assert moment == 10.0
        assert "no connection within 10 s" in str(error)
        await at_rest()
        assert sockets() == before


async def test_a_handshake_that_does_not_end_is_given_up_after_ten_seconds() -> None:
    clock, before, closed = FakeClock(), sockets(), anyio.Event()

    async def say_nothing(reader: StreamReader, writer: StreamWriter) -> None:
        while await reader.read(1000):
            pass
        closed.set()

    async with listening(say_nothing) as port:
        config = Config(f"https://127.0.0.1:{port}", tls=Tls(verify=False))
        async with Client(config, clock=clock) as client:
            error, moment = await outcome(clock, client.resource(PODS).without_retries().get("a/b"), 20.0)
            assert error.refused
            assert moment == 10.0
            await closed.wait()
    await at_rest()
    assert sockets() == before


async def test_a_server_that_hangs_up_in_the_handshake_is_told_from_a_refusal_of_ours() -> None:
    async def hang_up(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.read(1000)

    async with listening(hang_up) as port, Client(Config(f"https://127.0.0.1:{port}")) as client:
        with pytest.raises(TransportError, match="the server cannot be reached") as caught:
            await client.resource(PODS).without_retries().get("a/b")
        assert caught.value.refused


async def test_silence_between_two_bytes_is_measured_on_the_clock() -> None:
    clock = FakeClock()
    async with serving(saying(HEAD + chunk(b"a"))) as server, asking(clock=clock) as client:
        async with client.stream("GET", server.url, timeout=httpx.Timeout(None, read=7.0)) as response:
            pieces = aiter(response.stream)  # type: ignore[arg-type]  # an async client's
            assert await anext(pieces) == b"a"
            raised: list[float] = []

            async def wait() -> None:
                with pytest.raises(httpx.ReadTimeout, match="nothing came for 7 s"):
                    await anext(pieces)
                raised.append(clock.monotonic())

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await clock.advance(20.0)
            assert raised == [7.0]
        await until(lambda: server.closed == 1)


@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
async def test_the_kernel_watches_over_each_connection(is_secure: bool, tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server(tmp_path, "127.0.0.1") if is_secure else None
    tls = Tls(ca_data=authority.pem).context() if is_secure else None
    async with serving(saying(whole(b"a")), context) as server, asking(tls=tls) as client:
        response = await client.get(server.url)
        sock = response.extensions["network_stream"].get_extra_info("socket")
        for level, option, value in SOCKET_OPTIONS:
            assert sock.getsockopt(level, option) == value


async def test_a_name_is_looked_up_and_its_addresses_tried() -> None:
    async with serving(saying(whole(b"a"))) as server, asking() as client:
        assert (await client.get(server.url.replace("127.0.0.1", "localhost"))).content == b"a"


@pytest.mark.parametrize("host", ["does-not-exist.invalid", "a" * 70 + ".example"])
async def test_a_name_that_leads_nowhere_is_a_server_that_cannot_be_reached(host: str) -> None:
    async with asking() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(f"http://{host}")


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
async def test_an_address_of_the_newer_kind_is_reached(tmp_path: Path) -> None:
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("this machine has no ::1")
    listener = await anyio.create_tcp_listener(local_host="::1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)

    async def handle(stream: anyio.abc.ByteStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(whole(b"a"))

    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, handle)
        async with asking() as client:
            assert (await client.get(f"http://[::1]:{port}")).content == b"a"
        tasks.cancel_scope.cancel()


async def test_what_no_request_can_carry_is_refused_before_anything_is_sent() -> None:
    async with serving(saying(whole(b"a"))) as server, asking() as client:
        with pytest.raises(httpx.LocalProtocolError, match="no header can carry"):
            await client.get(server.url, headers=[(b"A", b"b\r\nC: d")])
        assert server.visits == []
