"""Storages: what reads them, cut short while it waits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from kinformer.apiserver.storage import (
    Cache,
    CacheTimeoutError,
    KeyRange,
    MemoryKV,
    UnavailableError,
    WatchRequest,
    WatchResponse,
    WatchStream,
)
from kinformer.system_clock import SystemClock
from kinformer.testing import settle
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import YieldingKV

ALL, ALL_OF_A = KeyRange.prefix(""), KeyRange.prefix("/a/")


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


class TroubledKV(YieldingKV):
    """Memory that takes its time, and whose streams break once."""

    def __init__(self) -> None:
        super().__init__()
        self.breaks = False

    @asynccontextmanager
    async def watch_stream(self) -> AsyncIterator[Any]:
        async with super().watch_stream() as stream:
            await checkpoint()
            try:
                yield Breaking(self, stream)
            finally:
                await checkpoint()


class Breaking:
    def __init__(self, kv: TroubledKV, stream: WatchStream) -> None:
        self.kv = kv
        self.stream = stream
        self.create, self.request_progress = stream.create, stream.request_progress

    def __aiter__(self) -> "Breaking":
        return self

    async def __anext__(self) -> WatchResponse:
        response = await anext(self.stream)
        if self.kv.breaks:
            self.kv.breaks = False
            raise UnavailableError("broken")
        return response


async def caches(sweep: Sweep) -> None:
    """A cache with a reader that waits for what comes late, one that waits in vain, and a watch that ends with it."""
    for strict in (False, True):

        async def work(strict: bool = strict) -> None:
            kv = TroubledKV()
            cache = Cache(kv, "/a/", strict=strict, timeout=0.5)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, cache)
                tasks.start_soon(cache.get, "/a/1")
                await tasks.start(cache.run)
                await kv.put("/b", b"")
                await cache.get("/a/1")
                with suppress(CacheTimeoutError):
                    await cache.wait_for(99)
                kv.breaks = True
                await kv.put("/a/1", b"")
                await cache.wait_not_ready()
                await cache.wait_ready()
                cache.close()

        await sweep.of(work)


async def follow(cache: Cache) -> None:
    async with cache.watch(WatchRequest(ALL_OF_A)) as watch:
        async for _ in watch:
            await SystemClock().sleep(0.01)
