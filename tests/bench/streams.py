"""What an event of 6 KB costs on its way out of the socket: over our transport, over httpx's, and over aiohttp.

All are measured in turn, in one process, against one server in another. ``bytes`` is what arrives, as it arrives;
``watch`` is ``ResourceClient.watch``, with lines split and metadata decoded. The server is always ahead, so what is
measured is reading at full speed; of a watch in which little happens, waking up is most of the cost, and alike for all.
"""

import asyncio
import json
import ssl
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, Literal, NamedTuple

import httpx

from kinformer.client import Client, Config, Tls
from kinformer.client._stream import StreamTransport
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock
from tests.bench.measure import cpu_seconds

PODS = Resource.builtin("Pod")
COUNT = 10_000


class Place(NamedTuple):
    """Where the events come from."""

    url: str
    tls: Tls


Reader = Callable[[Place], Awaitable[int]]
"""Reads all events and gives how many there were."""


def run(rounds: int, *, slack: float = 1.0) -> bool:
    """Measure, print a table, and say whether ours costs at most a third of httpx's, and not much more than aiohttp."""
    readers: dict[str, Reader] = {
        "bytes, httpx": bytes_by_httpx,
        "bytes, kinformer": bytes_by_us,
        "watch, httpx": watch_by("httpx"),
        "watch, kinformer": watch_by("kinformer"),
    }
    if find_spec("aiohttp"):
        readers["bytes, aiohttp"] = bytes_by_aiohttp
    with serving(COUNT) as (plain, secure):
        figures = {
            name: tuple(statistics.median(column) for column in zip(*each, strict=True))
            for name, each in _measure(readers, (plain, secure), rounds).items()
        }
    print(f"an event of 6 KB over the wire{'':<34} {'plain':>12} {'TLS':>12}")
    for name, (first, second) in figures.items():
        print(f"  {name:<62} {first:9.2f} us {second:9.2f} us")
    ours, httpx_s = figures["bytes, kinformer"], figures["bytes, httpx"]
    theirs = figures.get("bytes, aiohttp", ours)
    holds = True
    for name, yard, bound in (("httpx", httpx_s, 1 / 3), ("aiohttp", theirs, 1.25)):
        ratios = [mine / other for mine, other in zip(ours, yard, strict=True)]
        is_fine = max(ratios) <= bound * slack
        holds = holds and is_fine
        shown = "  ".join(f"{ratio:11.2f}" for ratio in ratios)
        print(
            f"  {f'kinformer : {name}':<60} {shown}  (at most {bound * slack:.2f}){'' if is_fine else '  FAILED'}"
        )
    return holds


def _measure(
    readers: dict[str, Reader], places: tuple[Place, Place], rounds: int
) -> dict[str, list[list[float]]]:
    """For each reader and round, microseconds for each event at each place."""
    found: dict[str, list[list[float]]] = {name: [] for name in readers}
    for number in range(rounds + 1):
        for name, reader in readers.items():
            spent = [cpu_seconds(lambda: _read(reader, place)) for place in places]  # noqa: B023 -- called at once
            if number:  # the first round warms the caches
                found[name].append([seconds * 1e6 / COUNT for seconds in spent])
    return found


def _read(reader: Reader, place: Place) -> None:
    read = asyncio.run(_counted(reader, place))
    assert read == COUNT, read


async def _counted(reader: Reader, place: Place) -> int:
    return await reader(place)


async def bytes_by_httpx(place: Place) -> int:
    """``aiter_bytes`` over httpx's own transport."""
    async with (
        httpx.AsyncClient(verify=_context(place), timeout=None) as client,
        client.stream("GET", place.url) as response,
    ):
        return await _lines(response.aiter_bytes())


async def bytes_by_us(place: Place) -> int:
    """The same client over our transport, read as ``Client`` does."""
    context = _context(place)
    others = httpx.AsyncHTTPTransport(verify=context)
    transport = StreamTransport(context, others=others, clock=SystemClock())
    async with (
        httpx.AsyncClient(transport=transport, timeout=None) as client,
        client.stream("GET", place.url) as response,
    ):
        assert isinstance(response.stream, httpx.AsyncByteStream)
        return await _lines(aiter(response.stream))


async def bytes_by_aiohttp(place: Place) -> int:
    """aiohttp, which kopf and kubernetes-asyncio use, in its quickest way that has no bound on a line."""
    import aiohttp

    async with aiohttp.ClientSession() as session, session.get(place.url, ssl=_context(place)) as response:
        return await _lines(response.content.iter_any())


def watch_by(streaming: Literal["httpx", "kinformer"]) -> Reader:
    """A watch by ``Client``."""

    async def read(place: Place) -> int:
        count = 0
        async with (
            Client(Config(place.url, tls=place.tls), streaming=streaming) as client,
            client.resource(PODS).watch() as batches,
        ):
            async for batch in batches:
                count += len(batch)
        return count

    return read


async def _lines(pieces: AsyncIterator[bytes]) -> int:
    count = 0
    async for piece in pieces:
        count += piece.count(b"\n")
    return count


def _context(place: Place) -> ssl.SSLContext:
    return place.tls.context() if place.url.startswith("https") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@contextmanager
def serving(count: int) -> Iterator[tuple[Place, Place]]:
    """The server, plain and encrypted."""
    command = [sys.executable, "-m", "tests.bench.stream_server", str(count)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        told: dict[str, Any] = json.loads(process.stdout.readline())
        tls = Tls(ca_data=told["authority"])
        yield (
            Place(f"http://127.0.0.1:{told['plain']}", tls),
            Place(f"https://127.0.0.1:{told['secure']}", tls),
        )
        assert process.stdin is not None
        process.stdin.close()
