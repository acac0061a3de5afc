"""A cache over a storage in memory that can be held up."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from kinformer.apiserver.storage import (
    Cache,
    CacheWatch,
    KeyRange,
    MemoryKV,
    WatchResponse,
    WatchStream,
)
from kinformer.testing import FakeClock, settle

A, ALL = KeyRange.prefix("/a/"), KeyRange.prefix("")


class Gate(MemoryKV):
    """A storage whose streams can be held back, and say something else once; it counts what it is asked."""

    def __init__(self, clock: FakeClock | None = None) -> None:
        super().__init__(clock=clock)
        self.opened = anyio.Event()
        self.opened.set()
        self.says: WatchResponse | Exception | None = None
        self.asked = 0
        self.reads = 0

    async def range(self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False):  # type: ignore[no-untyped-def]
        self.reads += not count_only
        return await super().range(keys, revision=revision, limit=limit, count_only=count_only)

    @asynccontextmanager
    async def watch_stream(self) -> AsyncIterator["Gated"]:  # type: ignore[override]
        async with super().watch_stream() as stream:
            yield Gated(self, stream)


class Gated:
    def __init__(self, gate: Gate, stream: WatchStream) -> None:
        self.gate = gate
        self.stream = stream
        self.create, self.cancel = stream.create, stream.cancel

    def request_progress(self) -> None:
        self.gate.asked += 1
        self.stream.request_progress()

    def __aiter__(self) -> "Gated":
        return self

    async def __anext__(self) -> WatchResponse:
        await self.gate.opened.wait()
        says, self.gate.says = self.gate.says, None
        if isinstance(says, Exception):
            raise says
        return says if says is not None else await anext(self.stream)


@asynccontextmanager
async def running(kv: MemoryKV, prefix: str = "/a/", **options: object) -> AsyncIterator[Cache]:
    cache = Cache(kv, prefix, **options)  # type: ignore[arg-type]
    async with anyio.create_task_group() as tasks:
        await tasks.start(cache.run)
        yield cache
        cache.close()


async def rest(watch: CacheWatch) -> list[WatchResponse]:
    """What it has to tell without waiting."""
    found: list[WatchResponse] = []

    async def read() -> None:
        async for response in watch:
            found.append(response)  # noqa: PERF401 -- it is cancelled in the midst of it

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await settle()
        tasks.cancel_scope.cancel()
    return found


def told(responses: list[WatchResponse]) -> list[list[int]]:
    return [[event.revision for event in response.events] for response in responses if response.events]


async def written(kv: MemoryKV, key: str, count: int = 1) -> int:
    for _ in range(count):
        await kv.put(key, b"")
    return await kv.revision()
