"""The cache over a storage in memory. A number in a name is that of the behaviour in the reference's list."""

import anyio
import pytest

from kinformer.apiserver.storage import (
    Cache,
    CacheTimeoutError,
    ClosedError,
    CompactedError,
    FutureRevisionError,
    KeyRange,
    MemoryKV,
    UnavailableError,
    WatchRequest,
    WatchResponse,
)
from kinformer.testing import FakeClock, settle
from tests.unit.apiserver.storage.cache_stage import Gate, rest, running, told, written

A, ALL = KeyRange.prefix("/a/"), KeyRange.prefix("")


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(("writes", "survives"), [(9, True), (10, True), (11, True), (12, False)])
async def test_behaviour_10_a_watch_may_lag_by_the_window_and_one_in_hand(
    writes: int, survives: bool, strict: bool
) -> None:
    clock = FakeClock()
    kv = MemoryKV()
    async with (
        running(kv, window=10, buffer=0, strict=strict, clock=clock) as cache,
        cache.watch(WatchRequest(A)) as watch,
    ):
        for _ in range(writes):
            await written(kv, "/a/1")
            await settle()
        found: list[WatchResponse] = []
        for _ in range(writes + 2):
            found += await rest(watch)
            await clock.advance(0.05)
        if survives:
            assert [revision for batch in told(found) for revision in batch] == list(range(2, writes + 2))
            assert not [response for response in found if response.canceled]
        else:
            assert len(told(found)) <= 1
            assert found[-1].canceled
            assert found[-1].compact_revision == 4
            with pytest.raises(StopAsyncIteration):
                await anext(watch)


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(UnavailableError("cut"), id="cut"),
        pytest.param(WatchResponse(0, 0, canceled=True, compact_revision=5), id="compacted"),
        pytest.param(WatchResponse(0, 1), id="progress that goes back"),
    ],
)
async def test_behaviour_11_what_is_stale_is_still_served_until_everything_is_read_again(
    failure: WatchResponse | Exception,
) -> None:
    clock = FakeClock()
    kv = Gate()
    async with running(kv, clock=clock) as cache, cache.watch(WatchRequest(A)) as watch:
        kv.opened = anyio.Event()  # the stream hangs, behind the response that it waits for already,
        before = await written(kv, "/a/old")
        await settle()
        await written(kv, "/a/new", 3)
        await kv.delete("/a/old")
        kv.says = failure  # and then it fails
        kv.opened.set()
        await written(kv, "/a/new")
        await cache.wait_not_ready()
        assert not cache.is_ready
        found = await cache.range(A, serializable=True)
        assert ([value.key for value in found.items], found.revision) == (["/a/old"], before)
        await clock.advance(0.05)
        await cache.wait_ready()
        found = await cache.range(A)
        assert [value.key for value in found.items] == ["/a/new"]
        assert told(await rest(watch)) == [[before]]
        with pytest.raises(StopAsyncIteration):
            await anext(watch)


async def test_local_watches_go_on_where_nothing_can_have_been_missed() -> None:
    clock = FakeClock()
    kv = Gate()
    async with running(kv, clock=clock) as cache, cache.watch(WatchRequest(A)) as watch:
        await written(kv, "/a/1")
        assert told(await rest(watch)) == [[2]]
        kv.says = UnavailableError("cut")
        async with cache.watch(WatchRequest(A)):
            await written(kv, "/a/1")  # read by the stream before it is cut
            await cache.wait_not_ready()
            await clock.advance(0.05)
        await written(kv, "/a/1")
        assert told(await rest(watch)) == [[3], [4]]


async def test_reads_are_as_fresh_as_the_storage_and_see_the_past() -> None:
    kv = MemoryKV()
    await written(kv, "/a/1", 3)
    async with running(kv) as cache:
        await written(kv, "/a/2")
        assert [value.key for value in (await cache.range(A)).items] == ["/a/1", "/a/2"]
        assert [value.key for value in (await cache.range(A, revision=4)).items] == ["/a/1"]
        value = await cache.get("/a/1")
        assert value is not None
        assert value.version == 3
        assert await cache.get("/a/none", serializable=True) is None
        for serializable in (False, True):
            with pytest.raises(FutureRevisionError):
                await cache.range(A, revision=9, serializable=serializable)
            with pytest.raises(CompactedError):
                await cache.range(A, revision=3, serializable=serializable)


async def test_a_quiet_prefix_catches_up_by_progress_that_is_asked_for_only_then() -> None:
    clock = FakeClock()
    kv = Gate()
    async with running(kv, clock=clock) as cache:
        await written(kv, "/b/1", 3)
        await clock.advance(1.0)
        assert kv.asked == 0
        found = await cache.range(A)
        assert (found.items, found.revision) == ((), 4)
        assert kv.asked == 1
        reads = kv.reads
        await clock.advance(1.0)
        assert (kv.asked, kv.reads) == (1, reads)


async def test_progress_is_not_believed_where_the_storage_does_not_vouch_for_it() -> None:
    class Doubtful(Gate):
        async def tells_progress(self) -> bool:
            return False

    clock = FakeClock()
    kv = Doubtful()
    async with running(kv, clock=clock) as cache:
        await written(kv, "/b/1")
        late: list[CacheTimeoutError] = []

        async def read() -> None:
            with pytest.raises(CacheTimeoutError) as caught:
                await cache.get("/a/1")
            late.append(caught.value)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await clock.advance(3.0)
        assert [(error.revision, error.current) for error in late] == [(2, 1)]
        assert kv.asked == 0
        await written(kv, "/a/1")
        assert (await cache.range(A)).revision == 3


async def test_a_read_that_cannot_be_fresh_in_time_says_so() -> None:
    clock = FakeClock()
    kv = Gate()
    async with running(kv, clock=clock) as cache:
        kv.opened = anyio.Event()
        await written(kv, "/a/1", 2)  # the first of which the stream may have taken before
        failures: list[CacheTimeoutError] = []

        async def read() -> None:
            try:
                await cache.range(A)
            except CacheTimeoutError as error:
                failures.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await clock.advance(2.9)
            assert not failures
            await clock.advance(0.2)
        assert failures[0].revision == 3
        assert 28 <= kv.asked <= 31, "ten times a second, and only as long as somebody waits"
        asked = kv.asked
        await clock.advance(1.0)
        assert kv.asked == asked


async def test_the_whole_storage_can_be_cached() -> None:
    async with running(MemoryKV(), "") as cache:
        for keys in (ALL, KeyRange("/a", None)):
            await cache.range(keys)


async def test_a_watch_can_ask_for_progress_and_be_told_in_silence() -> None:
    clock = FakeClock()
    kv = MemoryKV()
    async with (
        running(kv, progress_period=10.0, clock=clock) as cache,
        cache.watch(WatchRequest(A, watch_id=1, progress_notify=True)) as notified,
        cache.watch(WatchRequest(A, watch_id=2)) as plain,
    ):
        revision = await written(kv, "/a/1")
        assert told([*await rest(notified), *await rest(plain)]) == [[2], [2]]
        plain.request_progress()
        assert await rest(plain) == [WatchResponse(2, revision)]
        await clock.advance(6.0)
        await written(kv, "/a/1")
        assert told(await rest(notified)) == [[3]]
        await clock.advance(9.0)
        assert await rest(notified) == []
        await clock.advance(2.0)
        assert await rest(notified) == [WatchResponse(1, 3)]
        assert told(await rest(plain)) == [[3]]
    assert not [timer for timer in clock._timers if not timer.is_cancelled]


async def test_reads_and_watches_wait_for_the_first_content() -> None:
    kv = Gate()
    kv.opened = anyio.Event()
    cache = Cache(kv, "/a/")
    got: list[object] = []

    async def watch() -> None:
        async with cache.watch(WatchRequest(A)):
            got.append("watch")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await settle()
        tasks.start_soon(cache.run)
        await settle()
        assert got == []
        kv.opened.set()
        await settle()
        assert got == ["watch"]
        cache.close()


async def test_closing_it_ends_watches_and_refuses_the_rest() -> None:
    async with running(MemoryKV()) as cache, anyio.create_task_group() as tasks:
        ended: list[bool] = []

        async def follow() -> None:
            async with cache.watch(WatchRequest(A)) as watch:
                ended.append([response async for response in watch] == [])

        tasks.start_soon(follow)
        await settle()
        cache.close()
    assert ended == [True]
    for attempt in (cache.range(A), cache.wait_ready(), cache.get("/a/1")):
        with pytest.raises(ClosedError):
            await attempt


async def test_a_wait_for_a_revision_ends_when_it_is_closed() -> None:
    async with running(Gate()) as cache, anyio.create_task_group() as tasks:

        async def wait() -> None:
            with pytest.raises(ClosedError):
                await cache.wait_for(99)

        tasks.start_soon(wait)
        await settle()
        cache.close()
