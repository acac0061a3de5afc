"""Much, fast, slow, and large: what is held stays bounded, and work stays in proportion."""

import json
import tracemalloc
from asyncio import StreamWriter
from time import process_time

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.client import Client
from kinformer.errors import DecodeError
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock
from tests.responder import Asked
from tests.wire.stream_stage import END, HEAD, chunk, serving, until

pytestmark = pytest.mark.wire

PODS = Resource.builtin("Pod")
MB = 1_000_000


def line(name: str, size: int) -> bytes:
    obj = {"metadata": {"name": name, "resourceVersion": "1"}, "data": "x" * size}
    return json.dumps({"type": "ADDED", "object": obj}, separators=(",", ":")).encode() + b"\n"


class Firehose:
    """Writes events for as long as somebody takes them."""

    def __init__(self) -> None:
        self.written = 0
        self._event = chunk(line("a", 10_000)) * 10

    async def reply(self, asked: Asked, writer: StreamWriter) -> None:
        writer.write(HEAD)
        while True:
            writer.write(self._event)
            await writer.drain()
            self.written += len(self._event)

    async def is_at_rest(self) -> None:
        """Wait until nothing has been written for a while."""
        before = -1
        while before != self.written:
            before = self.written
            await SystemClock().sleep(0.1)


async def test_a_watch_that_nobody_reads_stops_its_server_and_holds_little() -> None:
    hose = Firehose()
    async with serving(hose.reply) as server, Client(server.url) as client:
        tracemalloc.start()
        try:
            async with client.resource(PODS).watch() as batches:
                await anext(batches)
                await hose.is_at_rest()
                held, _ = tracemalloc.get_traced_memory()
                stopped_at = hose.written
                assert stopped_at < 20 * MB, "most of it is in the buffers of two sockets"
                assert held < 3 * MB
                while hose.written < stopped_at + 20 * MB:  # and it goes on as soon as somebody reads
                    await anext(batches)
                _, peak = tracemalloc.get_traced_memory()
                assert peak < 4 * MB
        finally:
            tracemalloc.stop()


@pytest.mark.parametrize("piece", [100, 4_000, 64_000])
async def test_a_large_object_arrives_in_small_pieces_and_in_proportionate_time(piece: int) -> None:
    async def reply(asked: Asked, writer: StreamWriter) -> None:
        size = 3 * MB if asked.path.endswith("small") else 6 * MB
        whole = line("a", size)
        writer.write(HEAD)
        for start in range(0, len(whole), piece):
            writer.write(chunk(whole[start : start + piece]))
            if start % 64_000 < piece:
                await writer.drain()
        writer.write(END)

    async with serving(reply) as server, Client(server.url) as client:
        took = []
        for labels in ("small", "large"):
            before = process_time()
            async with client.resource(PODS).watch(labels=labels) as batches:
                (event,) = await anext(batches)
            took.append(process_time() - before)
            assert event.obj.key.name == "a"
        assert took[1] < 5 * took[0] + 0.2, "twice the size, and never four times the work"


async def test_a_large_list_is_held_once_and_others_get_their_turns_while_it_arrives() -> None:
    items = [
        json.dumps({"metadata": {"name": f"p{number}"}, "data": "x" * 6000}).replace(" ", "")
        for number in range(100)
    ]
    block, count = ",".join(items).encode(), 4_000

    async def reply(asked: Asked, writer: StreamWriter) -> None:
        writer.write(
            HEAD + chunk(b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[')
        )
        for start in range(0, count, 100):
            writer.write(chunk((b"," if start else b"") + block))
            await writer.drain()
        writer.write(chunk(b"]}") + END)

    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await checkpoint()
            turns += 1

    async with serving(reply) as server, Client(server.url) as client, anyio.create_task_group() as tasks:
        tracemalloc.start()
        try:
            tasks.start_soon(count_turns)
            page = await client.resource(PODS).list()
            tasks.cancel_scope.cancel()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        size = sum(len(obj.raw) for obj in page.items)
        assert len(page.items) == count
        assert peak < 1.3 * size + 3 * MB, "the objects, and not their list beside them"
        assert turns > size / MB, "at least one for each megabyte"


async def test_a_line_that_never_ends_is_given_up_at_64_mib() -> None:
    async def reply(asked: Asked, writer: StreamWriter) -> None:
        writer.write(HEAD)
        while True:
            writer.write(chunk(b" " * 1024 * 1024))
            await writer.drain()

    async with serving(reply) as server, Client(server.url) as client:
        with pytest.raises(DecodeError, match="longer than 67108864 bytes"):
            async with client.resource(PODS).watch() as batches:
                await anext(batches)
        await until(lambda: server.closed == 1)


async def test_many_watches_at_once_do_not_wait_for_each_other() -> None:
    async def reply(asked: Asked, writer: StreamWriter) -> None:
        writer.write(HEAD + chunk(line("a", 10)))

    async with serving(reply) as server, Client(server.url) as client:
        seen = 0

        async def follow() -> None:
            nonlocal seen
            async with client.resource(PODS).watch() as batches:
                await anext(batches)
                seen += 1
                await anext(batches)

        async with anyio.create_task_group() as tasks:
            for _ in range(200):
                tasks.start_soon(follow)
            await until(lambda: seen == 200)
            tasks.cancel_scope.cancel()
        await until(lambda: server.closed == 200)
