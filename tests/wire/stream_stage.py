"""What the tests of the streaming transport stand on: servers that note who comes, and clients that leave no trace."""

import gc
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from kinformer.client._stream import StreamTransport
from kinformer.clock import Clock
from kinformer.system_clock import SystemClock
from kinformer.testing import settle
from tests.responder import Asked, listening, read_request

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def whole(body: bytes, *headers: str, code: int = 200) -> bytes:
    """An answer with a length."""
    lines = [f"HTTP/1.1 {code} Said", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


Reply = Callable[[Asked, StreamWriter], Awaitable[None]]


@dataclass
class Server:
    """A server on loopback, and the paths that were asked for on each connection, in the order of these."""

    port: int
    is_secure: bool
    visits: list[list[str]] = field(default_factory=list)
    closed: int = 0
    """How many connections have ended."""

    @property
    def url(self) -> str:
        return f"{'https' if self.is_secure else 'http'}://127.0.0.1:{self.port}"


@asynccontextmanager
async def serving(reply: Reply, tls: ssl.SSLContext | None = None) -> AsyncIterator[Server]:
    """Answer each request by ``reply`` until the block ends or the client hangs up."""
    server = Server(0, tls is not None)

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        visit: list[str] = []
        server.visits.append(visit)
        try:
            while True:
                asked = await read_request(reader, writer)
                visit.append(asked.path)
                await reply(asked, writer)
                await writer.drain()
        finally:
            server.closed += 1

    async with listening(handle, tls) as server.port:
        yield server


def saying(*answers: bytes) -> Reply:
    """These answers one after the other, the last of them for ever."""
    left = list(answers)

    async def reply(asked: Asked, writer: StreamWriter) -> None:
        writer.write(left.pop(0) if len(left) > 1 else left[0])

    return reply


@asynccontextmanager
async def asking(
    *, tls: ssl.SSLContext | None = None, clock: Clock | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    """httpx over our transport; what is not for it fails."""
    transport = StreamTransport(tls, others=Nobody(), clock=clock or SystemClock())
    async with httpx.AsyncClient(transport=transport, timeout=None) as client:
        yield client


class Nobody(httpx.AsyncBaseTransport):
    """Takes no requests."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        raise AssertionError(f"{request.method} {request.url} is not for others")


async def until(claim: Callable[[], bool]) -> None:
    """Let the loop run until something is so; the limit of the test is the limit."""
    while not claim():
        await SystemClock().sleep(0.001)


def sockets() -> int:
    """How many sockets this process has open."""
    count = 0
    for link in Path("/proc/self/fd").iterdir():
        try:
            count += str(link.readlink()).startswith("socket:")
        except FileNotFoundError:
            continue
    return count


def transports(kinds: Iterable[str] = ("_SelectorSocketTransport", "_SSLProtocolTransport")) -> int:
    """How many transports of asyncio are open."""
    gc.collect()
    found = [thing for thing in gc.get_objects() if type(thing).__name__ in set(kinds)]
    return sum(not thing.is_closing() for thing in found)


async def at_rest() -> None:
    """Let what was cancelled or closed come to its end, in sockets too."""
    for _ in range(5):
        await settle()
