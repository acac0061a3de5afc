"""A server that sends watch events as fast as they are taken: ``python -m tests.bench.stream_server COUNT``.

It is a process of its own, so that its work is not counted. Each event is an HTTP chunk, as a Go server flushes them;
each connection gets one answer. It prints a line of JSON with its two ports, and its authority, and serves until the
standard input is closed.
"""

import asyncio
import json
import ssl
import sys
from asyncio import StreamReader, StreamWriter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.pods import watch_line
from tests.certificates import Authority

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
EACH = 50
"""Events that are written at once."""


def blocks() -> list[bytes]:
    """Ten blocks of events, all different."""
    lines = [watch_line(index) for index in range(10 * EACH)]
    chunks = [b"%x\r\n%s\r\n" % (len(line), line) for line in lines]
    return [b"".join(chunks[start : start + EACH]) for start in range(0, len(chunks), EACH)]


async def serve(count: int, context: ssl.SSLContext, authority: str) -> None:
    """Serve plain and encrypted, until nobody wants it any more."""
    prepared = blocks()

    async def handle(reader: StreamReader, writer: StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(HEAD)
            for number in range(count // EACH):
                writer.write(prepared[number % len(prepared)])
                await writer.drain()
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            await reader.read()
        except (OSError, EOFError):
            pass
        finally:
            writer.transport.abort()

    servers = [await asyncio.start_server(handle, "127.0.0.1", ssl=each) for each in (None, context)]
    plain, secure = (server.sockets[0].getsockname()[1] for server in servers)
    print(json.dumps({"plain": plain, "secure": secure, "authority": authority}), flush=True)
    await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    signer = Authority()
    with TemporaryDirectory() as folder:
        tls = signer.server(Path(folder), "127.0.0.1")
    asyncio.run(serve(int(sys.argv[1]), tls, signer.pem))
