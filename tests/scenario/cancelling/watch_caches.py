"""Watch caches: what follows the storage for a resource, cut short while it waits."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Self

import anyio
from anyio.lowlevel import checkpoint

from kinformer.apiserver.cacher import (
    Attributes,
    Cached,
    CacheOptions,
    Cacher,
    Cachers,
    CacheWatch,
    CacheWatcher,
    Delegator,
    InitialState,
    ListRequest,
    Metrics,
    NotReadyError,
)
from kinformer.apiserver.storage import (
    Batch,
    FutureRevisionError,
    KeyRange,
    ReadResult,
    UnavailableError,
    Watch,
)
from kinformer.system_clock import SystemClock
from kinformer.testing import settle
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import Interference, YieldingKV

PREFIX = "/registry/core/pods/"
PODS = Cached("pods", "", "pods", PREFIX, lambda _: Attributes({}, {}))
ALL = KeyRange.prefix(PREFIX)
LOST = UnavailableError("cut")


class Patient:
    """A dispatcher that takes its time."""

    async def dispatch(self, event: object) -> None:
        await checkpoint()

    def progress(self, revision: int) -> None:
        pass

    def restart(self) -> None:
        pass


async def cachers(sweep: Sweep) -> None:
    """A cache with a reader that waits for what comes late and one that waits in vain, whose watch is lost once."""
    kv = YieldingKV()

    async def work() -> None:
        cacher = Cacher(
            kv,
            PREFIX,
            lambda _: Attributes({}, {}),
            metrics=Metrics("", "pods"),
            clock=SystemClock(),
            options=CacheOptions(timeout=0.25),
        )
        cacher.dispatcher = Patient()
        async with anyio.create_task_group() as tasks:
            await tasks.start(cacher.run)
            cacher.pause()
            await kv.put(PREFIX + "n/a", b"")
            await settle()
            with suppress(FutureRevisionError):
                await cacher.wait_until_fresh(2**62)
            cacher.resume()
            await cacher.wait_until_fresh(await kv.revision())
            cacher.break_watch(LOST)
            await settle()
            await cacher.readiness.wait()
            cacher.close()

    await sweep.of(work, held=lambda: kv.kv.watches)


async def checks(sweep: Sweep) -> None:
    """A cache that is compared with its storage."""
    kv, clock = YieldingKV(), SystemClock()

    async def work() -> None:
        options = CacheOptions(check_period=0.1)
        metrics = Metrics("", "pods")
        cacher = Cacher(
            kv, PREFIX, lambda _: Attributes({}, {}), metrics=metrics, clock=clock, options=options
        )
        async with anyio.create_task_group() as tasks:
            await tasks.start(cacher.run)
            await clock.sleep(0.15)
            await cacher.wait_until_fresh(0)
            cacher.close()

    await sweep.of(work, held=lambda: kv.kv.watches)


class SlowKV(YieldingKV):
    """Memory whose watches take their time too."""

    @asynccontextmanager
    async def watch(self, keys: KeyRange, from_revision: int) -> AsyncIterator[Any]:
        async with super().watch(keys, from_revision) as watch:
            yield Slow(watch)


class Slow:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.request_progress = watch.request_progress

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch:
        await checkpoint()
        return await anext(self.watch)


async def watches(sweep: Sweep) -> None:
    """Watches over a cache of their own, which looks back: one is read, and one is too slow."""
    kv = SlowKV()

    async def work() -> None:
        for name in "ab":
            await kv.put(f"{PREFIX}n/{name}", b"")
        cachers = Cachers(kv, clock=SystemClock(), options=CacheOptions(queue_size=1, dispatch_budget=0.0))
        async with cachers.follow(PODS) as following:
            await following.cacher.begin()
            content, dispatcher = following.cacher.content, following.dispatcher
            read, slow = (
                CacheWatcher(InitialState(list(content.read(ALL)), 0.0), content.revision, size=1)
                for _ in range(2)
            )
            dispatcher.join(read)
            dispatcher.join(slow)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(follow, CacheWatch(read, dispatcher))
                for _ in range(5):
                    await kv.put(PREFIX + "n/a", b"")
                await settle()
                following.cacher.close()

    await sweep.of(work, held=lambda: kv.kv.watches)


async def follow(watch: CacheWatch) -> None:
    async for _ in watch:
        pass


class TroubledKV(YieldingKV):
    """Memory that takes its time, and sometimes cannot be read as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.is_lost = self.is_silent = False
        self.asked = 0

    async def tells_progress(self) -> bool:
        await super().tells_progress()
        self.asked += 1
        if self.is_silent and self.asked > 1:  # the cache itself asks first, when it begins
            raise LOST
        return True

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        found = await super().range(keys, revision=revision, limit=limit, count_only=count_only)
        if self.is_lost and limit > 5:
            raise LOST
        return found


async def delegators(sweep: Sweep) -> None:
    """Reads that the cache answers, that it leaves to the storage, and that meet a cache that begins anew or ends."""
    kv = TroubledKV()

    async def work() -> None:
        kv.is_lost, kv.is_silent, kv.asked = False, True, 0
        cachers = Cachers(kv, clock=SystemClock(), options=CacheOptions(timeout=0.25))
        delegator = Delegator(kv, cachers)
        await delegator.list(PODS, ListRequest(ALL))
        async with anyio.create_task_group() as tasks:
            await tasks.start(cachers.run)
            cacher = cachers.of(PODS)
            assert cacher is not None
            await delegator.list(PODS, ListRequest(ALL))
            await kv.put(PREFIX + "n/a", b"")
            now = await kv.revision()
            with suppress(FutureRevisionError):
                await delegator.get(PODS, PREFIX + "n/a", now + 1)
            with suppress(FutureRevisionError):
                await delegator.list(PODS, ListRequest(ALL, now + 1))
            kv.is_silent = False
            await delegator.get(PODS, PREFIX + "n/a", None)
            await delegator.list(PODS, ListRequest(ALL, now, "Exact"))
            cacher.pause()
            await kv.put(PREFIX + "n/a", b"")
            await delegator.list(PODS, ListRequest(ALL))  # in vain, and then from the storage
            cacher.resume()
            kv.meanwhile["revision"] = iter([interrupt(cacher, kv)])
            await delegator.list(PODS, ListRequest(ALL, limit=5))
            with suppress(NotReadyError):
                await delegator.list(PODS, ListRequest(ALL))
            tasks.cancel_scope.cancel()

    await sweep.of(work, held=lambda: kv.kv.watches)


def interrupt(cacher: Cacher, kv: TroubledKV) -> Interference:
    async def lose(memory: object, key: object) -> None:  # noqa: ARG001 -- whoever interferes is told
        kv.is_lost = True
        cacher.break_watch(LOST)
        await settle()

    return lose
