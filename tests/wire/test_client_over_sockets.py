"""The client against sockets that misbehave: what httpx really raises, and what is really closed."""

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import anyio
import pytest
from anyio.abc import SocketAttribute
from anyio.streams.tls import TLSListener
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kinformer.apiserver import ApiServer
from kinformer.client import Client, Config, Kubeconfig, Tls
from kinformer.errors import TransportError
from kinformer.hooks import NoHooks, RequestFinished
from kinformer.meta import Resource, WatchEvent

pytestmark = pytest.mark.wire

PODS = Resource.builtin("Pod")
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
EVENT = b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n'
CHUNK = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)

Handler = Callable[[anyio.abc.ByteStream], Awaitable[None]]


@asynccontextmanager
async def serving(handler: Handler, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """A server on a loopback port that reads one request and leaves the rest to the handler."""

    async def handle(stream: anyio.abc.ByteStream) -> None:
        async with stream:
            try:
                await stream.receive()
                await handler(stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                pass

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(SocketAttribute.local_port)
    async with listener, anyio.create_task_group() as tasks:
        served = TLSListener(listener, tls) if tls else listener
        tasks.start_soon(served.serve, handle)
        yield int(port)
        tasks.cancel_scope.cancel()


@asynccontextmanager
async def watching(handler: Handler) -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
    """A watch of such a server."""
    async with (
        serving(handler) as port,
        Client(f"http://127.0.0.1:{port}") as client,
        client.resource(PODS).watch() as batches,
    ):
        yield batches


async def test_a_port_where_nobody_listens_is_a_refused_connection() -> None:
    async with serving(lambda stream: stream.aclose()) as port:
        pass
    async with Client(f"http://127.0.0.1:{port}") as client:
        with pytest.raises(TransportError) as caught:
            await client.resource(PODS).without_retries().list()
    assert caught.value.refused


async def test_a_host_that_does_not_exist_is_told_apart_from_an_answer() -> None:
    async with Client("http://does-not-exist.invalid") as client:
        with pytest.raises(TransportError) as caught:
            await client.resource(PODS).without_retries().list()
    assert caught.value.refused


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", b"garbage\r\n\r\n"],
    ids=["none", "half", "garbage"],
)
async def test_an_answer_that_breaks_off_is_a_lost_connection(answer: bytes) -> None:
    async def handler(stream: anyio.abc.ByteStream) -> None:
        if answer:
            await stream.send(answer)

    async with serving(handler) as port, Client(f"http://127.0.0.1:{port}") as client:
        with pytest.raises(TransportError, match="the connection was lost") as caught:
            await client.resource(PODS).without_retries().list()
    assert not caught.value.refused


async def test_a_watch_that_is_reset_raises_after_its_events() -> None:
    async def handler(stream: anyio.abc.ByteStream) -> None:
        await stream.send(HEAD + CHUNK + b"50\r\n{")

    async with watching(handler) as batches:
        assert [event.obj.key.name for event in await anext(batches)] == ["a"]
        with pytest.raises(TransportError, match="the connection was lost"):
            await anext(batches)


async def test_a_watch_that_ends_as_it_should_just_ends() -> None:
    async def handler(stream: anyio.abc.ByteStream) -> None:
        await stream.send(HEAD + CHUNK + CHUNK + b"0\r\n\r\n")

    async with watching(handler) as batches:
        assert sum([len(batch) async for batch in batches]) == 2


async def test_leaving_a_watch_closes_its_connection_at_once() -> None:
    closed = anyio.Event()

    async def handler(stream: anyio.abc.ByteStream) -> None:
        await stream.send(HEAD + CHUNK)
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            closed.set()

    async with serving(handler) as port, Client(f"http://127.0.0.1:{port}") as client:
        async with client.resource(PODS).watch() as batches:
            await anext(batches)
        await closed.wait()


async def test_a_cancelled_watch_closes_its_connection() -> None:
    opened, closed = anyio.Event(), anyio.Event()

    async def handler(stream: anyio.abc.ByteStream) -> None:
        await stream.send(HEAD)
        opened.set()
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            closed.set()

    async with serving(handler) as port, Client(f"http://127.0.0.1:{port}") as client:

        async def follow() -> None:
            async with client.resource(PODS).watch() as batches:
                async for _ in batches:
                    pass

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await opened.wait()
            tasks.cancel_scope.cancel()
        await closed.wait()


async def test_many_watches_at_once_do_not_wait_for_each_other() -> None:
    async def handler(stream: anyio.abc.ByteStream) -> None:
        await stream.send(HEAD + CHUNK)
        await stream.receive()

    async with serving(handler) as port, Client(f"http://127.0.0.1:{port}") as client:
        seen = 0

        async def follow() -> None:
            nonlocal seen
            async with client.resource(PODS).watch() as batches:
                await anext(batches)
                seen += 1
                if seen == 150:
                    tasks.cancel_scope.cancel()
                async for _ in batches:
                    pass

        async with anyio.create_task_group() as tasks:
            for _ in range(150):
                tasks.start_soon(follow)
    assert seen == 150


def certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """A certificate for a name, signed by itself, as a cluster's own CA may be: without key identifiers."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(subject, subject, key.public_key(), 1, now, now + timedelta(days=36500))
    names = [x509.DNSName(name)] if name != "127.0.0.1" else [x509.IPAddress(ip_address(name))]
    builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    cert_file, key_file = folder / "cert.pem", folder / "key.pem"
    cert_file.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
    return cert_file, key_file


@pytest.mark.parametrize(
    ("name", "trusts", "tls", "works"),
    [
        ("127.0.0.1", True, Tls(), True),
        ("127.0.0.1", False, Tls(), False),
        ("127.0.0.1", False, Tls(verify=False), True),
        ("kubernetes", True, Tls(), False),
        ("kubernetes", True, Tls(server_name="kubernetes"), True),
    ],
    ids=["trusted", "unknown authority", "not verified", "other name", "name given"],
)
async def test_a_server_must_prove_who_it_is(
    tmp_path: Path, name: str, trusts: bool, tls: Tls, works: bool
) -> None:
    async def handler(stream: anyio.abc.ByteStream) -> None:
        await stream.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    cert_file, key_file = certificate(tmp_path, name)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(cert_file, key_file)
    ca_file = str(cert_file) if trusts else ""
    async with serving(handler, context) as port:
        settings = Tls(ca_file=ca_file, verify=tls.verify, server_name=tls.server_name)
        async with Client(Config(f"https://127.0.0.1:{port}", tls=settings)) as client:
            pods = client.resource(PODS).without_retries()
            if works:
                assert await client.request("GET", "/version") == b"ok"
            else:
                with pytest.raises(TransportError, match=r"(?i)certificate"):
                    await pods.list()


async def test_a_kubeconfig_leads_to_the_embedded_apiserver(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    async with ApiServer() as server, server.serve() as endpoint:
        endpoint.write_kubeconfig(path)
        async with Client(Kubeconfig(path)) as client:
            assert client.config.url == endpoint.url
            found = await client.resource(Resource.builtin("Namespace")).get("default")
            assert found.key.name == "default"


LOG_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"


async def test_a_log_is_read_as_it_comes_and_its_connection_closed_when_it_is_left() -> None:
    read, closed = anyio.Event(), anyio.Event()

    async def handler(stream: anyio.abc.ByteStream) -> None:
        await stream.send(LOG_HEAD + b"5\r\none\nt\r\n")
        await read.wait()
        await stream.send(b"3\r\nwo\n\r\n")
        try:
            await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            closed.set()

    async with serving(handler) as port, Client(f"http://127.0.0.1:{port}") as client:
        async with client.logs("default/web", follow=True) as chunks:
            assert await anext(chunks) == b"one\nt"
            read.set()
            assert await anext(chunks) == b"wo\n"
        await closed.wait()


async def test_a_log_that_is_reset_is_told_from_one_that_ended() -> None:
    async def handler(stream: anyio.abc.ByteStream) -> None:
        await stream.send(LOG_HEAD + b"4\r\none\n\r\n")

    async with (
        serving(handler) as port,
        Client(f"http://127.0.0.1:{port}") as client,
        client.logs("default/web") as chunks,
    ):
        assert await anext(chunks) == b"one\n"
        with pytest.raises(TransportError, match="the connection was lost"):
            await anext(chunks)


async def test_names_are_found_over_a_socket_in_two_requests() -> None:
    class Ear(NoHooks):
        def __init__(self) -> None:
            self.paths: list[str] = []

        def request_finished(self, event: RequestFinished, /) -> None:
            self.paths.append(event.path)

    ear = Ear()
    async with (
        ApiServer() as server,
        server.serve() as endpoint,
        Client(endpoint.url, hooks=ear) as client,
        anyio.create_task_group() as tasks,
    ):
        for name in ("deploy", "Pod", "leases.coordination.k8s.io"):
            tasks.start_soon(client.mapper.find, name)
    assert ear.paths == ["/api", "/apis"]
