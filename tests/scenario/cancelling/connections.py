"""A client's connections, and where its credentials come from, cancelled wherever they wait: no socket or process is left."""

import json
import shlex
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import anyio
import httpx
from anyio.lowlevel import checkpoint

from kinformer.apiserver import ApiServer
from kinformer.client import Client, Config, Kubeconfig, KubernetesAsyncioSource, Tls
from kinformer.client._gcp import GcpIssuer
from kinformer.client._oidc import Oidc, OidcIssuer
from kinformer.client._program import run_program
from kinformer.client._stream import StreamTransport
from kinformer.client._stream._race import Race
from kinformer.errors import ForbiddenError
from kinformer.system_clock import SystemClock
from kinformer.testing import FakeClock
from tests.certificates import Authority
from tests.responder import Asked, listening, read_request, responding
from tests.scenario.cancelling.controllers import kubeconfig
from tests.scenario.cancelling.sweep import Sweep, processes
from tests.scenario.cancelling.world import CONFIG_MAPS, PODS, begin_caches


async def streams(sweep: Sweep) -> None:
    """Lists, a watch and a write over either transport, to a host that has to be looked up."""
    async with ApiServer() as server, server.serve() as endpoint:
        await begin_caches(server)
        url = f"http://localhost:{endpoint.port}"

        async def speak(streaming: Literal["kinformer", "httpx"]) -> None:
            async with Client(url, streaming=streaming) as client:
                maps = client.resource(CONFIG_MAPS).where(namespace="default")
                seen = [await maps.list() for _ in range(2)][-1]
                async with maps.watch(version=seen.version) as batches:
                    await maps.create({"metadata": {"generateName": "a-"}})
                    await anext(batches)
                    with SystemClock().move_on_after(0.02):
                        await anext(batches)

        for streaming in ("kinformer", "httpx"):
            await sweep.of(partial(speak, streaming))

        async def read() -> None:
            """As other clients do, which have patience for so long a silence only."""
            transport = StreamTransport(tls=None, others=httpx.AsyncHTTPTransport(), clock=SystemClock())
            async with httpx.AsyncClient(
                transport=transport, timeout=httpx.Timeout(5.0, read=0.05)
            ) as client:
                with suppress(httpx.ReadTimeout):
                    await client.get(f"{url}/api/v1/namespaces?watch=true&resourceVersion=1000000000000000")

        await sweep.of(read)


async def streams_of_an_open_client(sweep: Sweep) -> None:
    """Which leaves no connection to be closed later; the server keeps none either."""
    async with listening(answer_once) as port, Client(f"http://127.0.0.1:{port}") as client:

        async def speak() -> None:
            await client.request("GET", "/version")
            await client.request("POST", "/version", content=b"{}")
            async with client.resource(PODS).watch() as batches:
                async for _ in batches:
                    pass
            with SystemClock().move_on_after(0.1):
                await client.request("GET", "/silent")

        await sweep.of(speak)


async def answer_once(reader: StreamReader, writer: StreamWriter) -> None:
    """In three parts, with a turn of the loop between them; or not, as long as the client waits."""
    if (await read_request(reader, writer)).path == "/silent":
        await reader.read()
    for part in (b"HTTP/1.1 200 OK\r\nConnection: close\r\n", b"\r\n", b"{}\n"):
        writer.write(part)
        await checkpoint()
    writer.close()


async def secure_streams(sweep: Sweep) -> None:
    with TemporaryDirectory() as folder:
        authority = Authority()
        context = authority.server(Path(folder), "127.0.0.1")
        async with responding(lambda asked: (200, b"{}"), context) as port:

            async def speak() -> None:
                config = Config(f"https://127.0.0.1:{port}", tls=Tls(ca_data=authority.pem))
                async with Client(config) as client:
                    await client.request("GET", "/version")

            await sweep.of(speak)


async def races(sweep: Sweep) -> None:
    """One attempt fails, one takes too long, and one wins; whatever was made and is not needed is discarded."""
    clock = FakeClock()
    made: list[str] = []

    async def attempt(seconds: float, name: str) -> str:
        try:
            await clock.sleep(seconds)
        finally:
            with anyio.CancelScope(shield=True):  # the winner waits until the others have gone
                await checkpoint()
        if not name:
            raise OSError("nobody is there")
        made.append(name)
        return name

    async def run() -> None:
        attempts = [partial(attempt, *one) for one in ((0.1, ""), (9.0, "slow"), (1.0, "quick"))]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(clock.advance, 20.0)
            made.remove(await Race(attempts, discard=made.remove, clock=clock).run())

    await sweep.of(run, held=lambda: (clock.next_timer, list(made)))


async def credentials(sweep: Sweep) -> None:
    """Of a plugin, of gcloud, and of an identity provider."""
    with TemporaryDirectory() as folder:
        authority = Authority()

        def provide(asked: Asked) -> tuple[int, bytes]:
            if asked.method == "GET":
                endpoint = f"https://{asked.header('host')}/token"
                return 200, json.dumps({"token_endpoint": endpoint}).encode()
            return 200, json.dumps({"id_token": "e30.e30.c2ln", "refresh_token": "r"}).encode()

        async with (
            kubeconfig() as path,
            responding(provide, authority.server(Path(folder), "127.0.0.1")) as port,
        ):

            async def find(client: Callable[[], Client]) -> None:
                async with client() as found:
                    await found.request("GET", "/version")

            async def ask_gcloud() -> None:
                token = json.dumps(
                    {"credential": {"access_token": "t", "token_expiry": "2999-01-01T00:00:00Z"}}
                )
                await GcpIssuer("echo", shlex.quote(token), SystemClock()).issue()

            async def ask_provider() -> None:
                tls = Tls(ca_data=authority.pem)
                oidc = Oidc(f"https://127.0.0.1:{port}", "me", refresh_token="r", tls=tls)
                await OidcIssuer(oidc, forget, SystemClock()).issue()

            for work in (
                partial(find, Client),
                partial(find, lambda: Client(Kubeconfig(path))),
                ask_gcloud,
                ask_provider,
                linger,
                linger_without_a_word,
            ):
                await sweep.of(work, held=processes)


async def linger() -> None:
    """A plugin takes too long, and is killed."""
    clock = SystemClock()
    assert await run_program(["sleep", "60"], env={}, interactive=False, patience=0.2, clock=clock) is None


async def linger_without_a_word() -> None:
    """It has closed its outputs, so that nothing is left to wait for but its end."""
    command = ["sh", "-c", "exec >&- 2>&-; exec sleep 60"]
    assert await run_program(command, env={}, interactive=False, patience=0.2, clock=SystemClock()) is None


def forget(*, id_token: str, refresh_token: str) -> None:
    """Tokens need not be kept here."""


class SlowAnswer:
    """An answer of aiohttp, as far as a source looks at it."""

    def __init__(self, open_answers: set["SlowAnswer"], status: int, body: bytes) -> None:
        self.status = status
        self.body = body
        self.headers: dict[str, str] = {}
        self.content = self
        self._open = open_answers
        self._open.add(self)

    async def readany(self) -> bytes:
        await checkpoint()
        body, self.body = self.body, b""
        return body

    async def read(self) -> bytes:
        return await self.readany()

    def close(self) -> None:
        self._open.discard(self)


async def foreign_sources(sweep: Sweep) -> None:
    """Of kubernetes-asyncio, with its answers."""
    answers: set[SlowAnswer] = set()
    clock = FakeClock()

    async def method(status: int, **keywords: Any) -> SlowAnswer:
        await checkpoint()
        body = b"" if keywords.get("watch") else b'{"metadata": {"resourceVersion": "1"}, "items": []}'
        return SlowAnswer(answers, status, body)

    async def read() -> None:
        source = KubernetesAsyncioSource(method, 200, resource=PODS, clock=clock)
        await source.list()
        async with source.watch() as batches:
            assert [batch async for batch in batches] == []

    async def be_refused() -> None:
        source = KubernetesAsyncioSource(method, 403, resource=PODS, clock=clock)
        with suppress(ForbiddenError):
            await source.list()
        with suppress(ForbiddenError):
            async with source.watch():
                pass

    for work in (read, be_refused):
        await sweep.of(work, held=lambda: (len(answers), clock.next_timer))
