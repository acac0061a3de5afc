"""A small HTTP/1.1 server on a loopback socket, whose answers a test decides; and a proxy to put before one."""

import asyncio
import ssl
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio


class Asked(NamedTuple):
    """One request, as it came."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    peer: str
    """The common name of the client's certificate."""

    def header(self, name: str) -> str:
        return next((value for found, value in self.headers if found == name), "")


Answer = Callable[[Asked], tuple[int, bytes]]
Handler = Callable[[StreamReader, StreamWriter], Awaitable[None]]


@asynccontextmanager
async def responding(
    answer: Answer, context: ssl.SSLContext | None = None, *, port: int = 0
) -> AsyncIterator[int]:
    """Answer requests until the block ends; gives the port. Connections are kept alive."""

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        while True:
            code, body = answer(await read_request(reader, writer))
            writer.write(f"HTTP/1.1 {code} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()

    async with listening(handle, context, port=port) as found:
        yield found


@asynccontextmanager
async def listening(
    handle: Handler, context: ssl.SSLContext | None = None, *, port: int = 0
) -> AsyncIterator[int]:
    """Serve connections until the block ends; one that breaks is the client's to notice."""

    async def serve(reader: StreamReader, writer: StreamWriter) -> None:
        try:
            await handle(reader, writer)
        except (OSError, EOFError):
            pass
        finally:
            writer.transport.abort()

    async with anyio.create_task_group() as tasks:
        server = await asyncio.start_server(
            lambda reader, writer: tasks.start_soon(serve, reader, writer), "127.0.0.1", port, ssl=context
        )
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            server.close()
            tasks.cancel_scope.cancel()


@asynccontextmanager
async def proxying(
    *, password: str = "", context: ssl.SSLContext | None = None, leads_to: int = 0
) -> AsyncIterator[tuple[int, list[str]]]:
    """A proxy that connects to wherever it is told; gives its port and the places. With a password it wants that.

    With ``leads_to`` it knows better than its clients where each place is: at a port of this machine.
    """
    places: list[str] = []

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        asked = await read_request(reader, writer)
        places.append(f"{asked.method} {asked.path}")
        if password and password not in asked.header("proxy-authorization"):
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return
        host, _, port = asked.path.rpartition(":")
        place = ("127.0.0.1", leads_to) if leads_to else (host, int(port))
        far_reader, far_writer = await asyncio.open_connection(*place)
        try:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_pipe, far_reader, writer)
                await _pipe(reader, far_writer)
                tasks.cancel_scope.cancel()
        finally:
            far_writer.transport.abort()

    async with listening(handle, context) as port:
        yield port, places


async def _pipe(reader: StreamReader, writer: StreamWriter) -> None:
    try:
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def read_request(reader: StreamReader, writer: StreamWriter) -> Asked:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode().strip().split("\r\n")
    method, path, _ = first.split()
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = int(next((value for name, value in headers if name == "content-length"), "0"))
    shown = writer.get_extra_info("peercert") or {}
    names = {field: value for part in shown.get("subject", ()) for field, value in part}
    return Asked(method, path, headers, await reader.readexactly(length), names.get("commonName", ""))
