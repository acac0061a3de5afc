"""Who may speak to whom, over real sockets: authorities, names, client certificates, proxies, and their rotation."""

import json
import socket
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest

from kinformer.client import (
    BearerToken,
    Client,
    Config,
    Impersonation,
    Tls,
)
from kinformer.errors import TransportError
from kinformer.meta import Resource
from tests.certificates import Authority
from tests.kubeconfigs import ANSWER, content, write
from tests.responder import Asked, listening, proxying, responding

pytestmark = pytest.mark.wire

PODS = Resource.builtin("Pod")
EMPTY = b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[]}'


class Log:
    """Answers each request with an empty list, and remembers it."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def __call__(self, asked: Asked) -> tuple[int, bytes]:
        self.asked.append(asked)
        if asked.method == "POST":
            return 201, asked.body
        return 200, b"" if "watch=true" in asked.path else EMPTY


@pytest.fixture
def log() -> Log:
    return Log()


async def ask(client: Client) -> None:
    body = {"metadata": {"name": "a", "namespace": "default"}}
    await client.resource(PODS).without_retries().create(body)


async def read(client: Client) -> None:
    await client.resource(PODS).without_retries().list()


async def watch(client: Client) -> None:
    async with client.resource(PODS).watch() as batches:
        async for _ in batches:
            pass


Use = Callable[[Client], Coroutine[Any, Any, None]]
each_use = pytest.mark.parametrize("use", [ask, read, watch])


def client_of(port: int, tls: Tls, *, host: str = "127.0.0.1", proxy: str = "") -> Client:
    return Client(Config(f"https://{host}:{port}", tls=tls, proxy=proxy), timeout=10.0)


async def failure_of(client: Client, use: Use) -> str:
    async with client:
        with pytest.raises(TransportError) as caught:
            await use(client)
    return str(caught.value)


@each_use
async def test_a_server_that_an_unknown_authority_signed_is_refused(
    authority: Authority, tmp_path: Path, log: Log, use: Use
) -> None:
    async with responding(log, authority.server(tmp_path, "127.0.0.1")) as port:
        said = await failure_of(client_of(port, Tls()), use)
        assert "certificate verify failed" in said
        assert "set certificate-authority (Tls.ca_file) to" in said
        said = await failure_of(client_of(port, Tls(ca_data=Authority("other").pem)), use)
        assert "set certificate-authority (Tls.ca_file) to" in said
        async with client_of(port, Tls(ca_data=authority.pem)) as client:
            await use(client)
    assert len(log.asked) == 1


@each_use
async def test_a_server_of_another_name_is_refused_unless_the_name_is_given(
    authority: Authority, tmp_path: Path, log: Log, use: Use
) -> None:
    async with responding(log, authority.server(tmp_path, "kubernetes", "localhost")) as port:
        said = await failure_of(client_of(port, Tls(ca_data=authority.pem)), use)
        assert "set tls-server-name (Tls.server_name) to" in said
        for host in ("127.0.0.1", "localhost"):
            named = Tls(ca_data=authority.pem, server_name="kubernetes")
            async with client_of(port, named, host=host) as client:
                await use(client)
        wrong = Tls(ca_data=authority.pem, server_name="other")
        said = await failure_of(client_of(port, wrong, host="localhost"), use)
        assert "'other'" in said
    assert len(log.asked) == 2


@each_use
async def test_what_is_not_verified_works_with_a_warning(
    authority: Authority, tmp_path: Path, log: Log, use: Use, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        responding(log, authority.server(tmp_path, "other")) as port,
        client_of(port, Tls(verify=False)) as client,
    ):
        await use(client)
    assert f"the certificate of https://127.0.0.1:{port} is not verified" in caplog.text


@each_use
async def test_a_server_that_demands_a_certificate_gets_ours(
    authority: Authority, tmp_path: Path, log: Log, use: Use
) -> None:
    files = authority.sign("me").write(tmp_path, "me")
    async with (
        responding(log, authority.server(tmp_path, "127.0.0.1", clients=authority)) as port,
        client_of(port, Tls("", authority.pem, *files)) as client,
    ):
        await use(client)
    assert [asked.peer for asked in log.asked] == ["me"]


@contextmanager
def refusing(context: ssl.SSLContext) -> Iterator[int]:
    """A server that says why it does not like a certificate, as Go's do and asyncio's do not (3.11)."""

    def serve() -> None:
        connection, _ = listener.accept()
        with (
            connection,
            context.wrap_socket(
                connection.dup(), server_side=True, do_handshake_on_connect=False
            ) as encrypted,
        ):
            with pytest.raises(ssl.SSLError):
                encrypted.do_handshake()
            while connection.recv(4096):  # or its going would overtake the word
                pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        thread.join()


@each_use
@pytest.mark.parametrize("is_strange", [True, False])
async def test_a_server_that_does_not_like_our_certificate_is_understood(
    authority: Authority, tmp_path: Path, use: Use, is_strange: bool
) -> None:
    files = Authority("strange").sign("me").write(tmp_path, "me") if is_strange else ("", "")
    with refusing(authority.server(tmp_path, "127.0.0.1", clients=authority)) as port:
        said = await failure_of(client_of(port, Tls("", authority.pem, *files)), use)
    assert (
        "the server wants a certificate of ours that it trusts: set client-certificate and client-key" in said
    )


@each_use
async def test_a_server_that_speaks_no_tls_is_told(use: Use) -> None:
    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        await reader.read()

    async with listening(handle) as port:
        assert "does not speak TLS" in await failure_of(client_of(port, Tls()), use)


@each_use
async def test_a_proxy_connects_and_the_server_behind_it_proves_itself(
    authority: Authority, tmp_path: Path, log: Log, use: Use
) -> None:
    async with (
        responding(log, authority.server(tmp_path, "127.0.0.1")) as port,
        proxying(password="bWU6c2VjcmV0") as (proxy_port, places),
    ):
        proxy = f"http://me:secret@127.0.0.1:{proxy_port}"
        async with client_of(port, Tls(ca_data=authority.pem), proxy=proxy) as client:
            await use(client)
        assert places == [f"CONNECT 127.0.0.1:{port}"]
        assert "set certificate-authority" in await failure_of(client_of(port, Tls(), proxy=proxy), use)
        wrong = f"http://me:hunter2@127.0.0.1:{proxy_port}"
        said = await failure_of(client_of(port, Tls(ca_data=authority.pem), proxy=wrong), use)
        where = f"the proxy 127.0.0.1:{proxy_port} of proxy-url (Config.proxy)"
        assert f"{where} refuses: 407 Proxy Authentication Required; put a user and a password" in said
        assert "hunter2" not in said
    assert len(log.asked) == 1
    said = await failure_of(client_of(port, Tls(ca_data=authority.pem), proxy=proxy), use)
    assert f"the server cannot be reached through {where}: " in said


async def test_what_no_try_can_mend_is_not_tried_again(
    authority: Authority, tmp_path: Path, log: Log
) -> None:
    async with (
        responding(log, authority.server(tmp_path, "127.0.0.1")) as port,
        responding(log) as open_port,
        proxying(password="bWU6c2VjcmV0") as (proxy_port, places),
    ):
        proxy = f"http://127.0.0.1:{proxy_port}"
        for url in (f"https://127.0.0.1:{port}", f"http://127.0.0.1:{open_port}"):
            async with Client(Config(url, tls=Tls(ca_data=authority.pem), proxy=proxy)) as client:
                with pytest.raises(TransportError, match="refuses: 407"):
                    await client.request("GET", "/version")
        assert places == [f"CONNECT 127.0.0.1:{port}", f"GET http://127.0.0.1:{open_port}/version"]
        proxy = f"http://me:secret@127.0.0.1:{proxy_port}"
        async with Client(Config(f"https://127.0.0.1:{port}", proxy=proxy)) as client:
            with pytest.raises(TransportError, match="set certificate-authority"):
                await client.request("GET", "/version")
        assert len(places) == 3
    assert log.asked == []


@each_use
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("is_in_environment", [False, True])
async def test_a_server_behind_a_proxy_has_the_name_that_is_given(
    authority: Authority,
    tmp_path: Path,
    log: Log,
    use: Use,
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
    is_in_environment: bool,
) -> None:
    folder = tmp_path / "proxy"
    folder.mkdir()
    own = Authority("of the proxy")
    (folder / "ca.pem").write_text(own.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))  # a proxy proves itself to the machine
    context = own.server(folder, "127.0.0.1") if scheme == "https" else None
    async with (
        responding(log, authority.server(tmp_path, "kubernetes")) as port,
        proxying(context=context, leads_to=port) as (proxy_port, places),
    ):
        proxy = f"{scheme}://127.0.0.1:{proxy_port}"
        if is_in_environment:
            monkeypatch.setenv("HTTPS_PROXY", proxy)
            monkeypatch.delenv("NO_PROXY", raising=False)
            monkeypatch.delenv("no_proxy", raising=False)
            proxy = ""
        named = Tls(ca_data=authority.pem, server_name="kubernetes")
        async with client_of(port, named, host="api.example", proxy=proxy) as client:
            await use(client)
        assert places == [f"CONNECT api.example:{port}"]
        wrong = Tls(ca_data=authority.pem, server_name="other")
        assert "'other'" in await failure_of(client_of(port, wrong, host="api.example", proxy=proxy), use)
    assert len(log.asked) == 1


@each_use
async def test_somebody_else_is_acted_as_in_each_request(log: Log, use: Use) -> None:
    async with responding(log) as port:
        somebody = Impersonation("jane", groups=("dev", "ops"))
        config = Config(f"http://127.0.0.1:{port}", BearerToken("t"), impersonation=somebody)
        async with Client(config) as client:
            await use(client)
    sent = [header for header in log.asked[0].headers if header[0].startswith("impersonate-")]
    assert sent == [("impersonate-user", "jane"), ("impersonate-group", "dev"), ("impersonate-group", "ops")]


@each_use
async def test_a_pod_trusts_the_new_authority_of_its_cluster(tmp_path: Path, log: Log, use: Use) -> None:
    old, new = Authority("old"), Authority("new")
    (tmp_path / "token").write_text("t")
    (tmp_path / "ca.crt").write_text(old.pem)
    servers = [tmp_path / name for name in ("one", "two")]
    for folder in servers:
        folder.mkdir()
    async with responding(log, old.server(servers[0], "127.0.0.1")) as port:
        environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": str(port)}
        client = Client(Config.in_cluster(environ=environ, service_account=tmp_path))
        await client.__aenter__()
        await use(client)
    try:
        async with responding(log, new.server(servers[1], "127.0.0.1"), port=port):
            with pytest.raises(TransportError, match="set certificate-authority"):
                await use(client)
            (tmp_path / "ca.crt").write_text(old.pem + new.pem)
            await use(client)
    finally:
        await client.__aexit__(None, None, None)
    assert len(log.asked) == 2


class Strict(Log):
    """Lets those in whose certificate is of a name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __call__(self, asked: Asked) -> tuple[int, bytes]:
        code, body = super().__call__(asked)
        return (code, body) if asked.peer == self.name else (401, b"")


@each_use
async def test_a_certificate_that_was_replaced_is_shown_after_a_refusal(
    authority: Authority, tmp_path: Path, use: Use
) -> None:
    strict = Strict("old")
    files = authority.sign("old").write(tmp_path, "me")
    async with (
        responding(strict, authority.server(tmp_path, "127.0.0.1", clients=authority)) as port,
        client_of(port, Tls("", authority.pem, *files)) as client,
    ):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(use, client)
        authority.sign("new").write(tmp_path, "me")
        strict.name = "new"
        await use(client)
    assert strict.asked[-1].peer == "new"


@each_use
async def test_a_plugin_issues_another_certificate_after_a_refusal(
    authority: Authority, tmp_path: Path, use: Use
) -> None:
    strict = Strict("1")
    for number in (1, 2):
        pair = authority.sign(str(number))
        status = {"clientCertificateData": pair.chain, "clientKeyData": pair.key}
        (tmp_path / f"answer-{number}").write_text(json.dumps({**ANSWER, "status": status}))
    script = tmp_path / "plugin"
    script.write_text(f"#!/bin/sh\ncd {tmp_path}; echo x >> runs; cat answer-$(($(wc -l < runs)))\n")
    script.chmod(0o700)
    async with responding(strict, authority.server(tmp_path, "127.0.0.1", clients=authority)) as port:
        made = content(exec={"apiVersion": ANSWER["apiVersion"], "command": "./plugin"})
        (tmp_path / "ca.pem").write_text(authority.pem)
        made["clusters"][0]["cluster"] = {
            "server": f"https://127.0.0.1:{port}",
            "certificate-authority": "ca.pem",
        }
        async with Client(write(tmp_path / "config", made)) as client:
            await use(client)
            strict.name = "2"
            await use(client)
    assert strict.asked[-1].peer == "2"
    assert (tmp_path / "runs").read_text() == "x\nx\n"
