"""A cache in front of a storage that counts what it is asked for."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio

from kinformer.apiserver.cacher import (
    Cached,
    CacheOptions,
    Cacher,
    Cachers,
    Delegator,
    ListRequest,
    NotReadyError,
    Page,
)
from kinformer.apiserver.storage import (
    FutureRevisionError,
    KeyRange,
    KeyValue,
    MemoryKV,
    ReadResult,
    UnavailableError,
)
from kinformer.testing import FakeClock, settle
from tests.unit.apiserver.cacher.stage import ALL, PREFIX, labels_in_value

PODS = Cached("pods", "", "pods", PREFIX, labels_in_value)
LOST = UnavailableError("cut")


class Counting(MemoryKV):
    """A storage that writes down what it is asked: ranges by their limits, and single keys. It may fail to be read."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: list[int] = []
        self.gets: list[int] = []
        self.is_lost = False
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def revision(self) -> int:
        if self.meanwhile is not None:
            await self.meanwhile()
        return await super().revision()

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        self.gets.append(revision)
        if self.is_lost:
            raise LOST
        return await super().get(key, revision=revision)

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        self.ranges.append(limit)
        if self.is_lost and limit == 10_000:  # the cache cannot begin again
            raise LOST
        return await super().range(keys, revision=revision, limit=limit, count_only=count_only)

    def forget(self) -> None:
        self.ranges.clear()
        self.gets.clear()


class World:
    """A storage, a cache of it, and who reads over both."""

    def __init__(self, options: CacheOptions) -> None:
        self.kv = Counting()
        self.clock = FakeClock()
        self.cachers = Cachers(self.kv, clock=self.clock, options=options)
        self.delegator = Delegator(self.kv, self.cachers)

    @property
    def cacher(self) -> Cacher:
        found = self.cachers.of(PODS)
        assert found is not None
        return found

    async def put(self, *names: str) -> int:
        for name in names:
            await self.kv.put(f"{PREFIX}{name}", b"{}")
        return await self.kv.revision()

    async def list(self, **options: Any) -> Page:
        return await self.delegator.list(PODS, ListRequest(ALL, **options))

    async def get(self, name: str, revision: int | None) -> KeyValue | None:
        return await self.delegator.get(PODS, PREFIX + name, revision)

    async def later(self, seconds: float, ask: Callable[[], Awaitable[object]]) -> object:
        """What an answer is, or which error, when it is there after so many seconds and not before."""
        answers: list[object] = []

        async def read() -> None:
            try:
                answers.append(await ask())
            except (FutureRevisionError, NotReadyError) as error:
                answers.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await self.clock.advance(seconds - 0.01)
            assert answers == []
            await self.clock.advance(0.02)
            assert answers != []
        return answers[0]

    async def lose(self) -> None:
        """Let the cache lose its watch, and not begin anew."""
        self.kv.is_lost = True
        self.cacher.break_watch(LOST)
        await settle()
        self.kv.forget()


@asynccontextmanager
async def world(**options: Any) -> AsyncIterator[World]:
    made = World(CacheOptions(**options))
    async with anyio.create_task_group() as tasks:
        await tasks.start(made.cachers.run)
        await made.cacher.begin()
        made.kv.forget()
        yield made
        tasks.cancel_scope.cancel()


def names(page: object) -> list[str]:
    assert isinstance(page, Page)
    return [each.key.removeprefix(PREFIX) for each in page.items]
