"""Storages: what reads them, cut short while it waits."""

from collections.abc import AsyncIterator

import anyio

from kinformer.apiserver.storage import KeyRange, MemoryKV, WatchRequest
from kinformer.testing import settle
from tests.scenario.cancelling.sweep import Sweep

ALL = KeyRange.prefix("")


async def memory(sweep: Sweep) -> None:
    """A watch and a stream, of which no cut leaves a watcher."""
    kv = MemoryKV()

    async def work() -> None:
        async with kv.watch(ALL, 0) as watch, kv.watch_stream() as stream, anyio.create_task_group() as tasks:
            stream.create(WatchRequest(ALL))
            tasks.start_soon(drain, watch, 1)
            tasks.start_soon(drain, stream, 2)
            await settle()
            await kv.put("a", b"")

    await sweep.of(work, held=lambda: kv.watches)


async def drain(source: AsyncIterator[object], count: int) -> None:
    for _ in range(count):
        await anext(source)
