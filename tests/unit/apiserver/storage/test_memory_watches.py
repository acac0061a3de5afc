"""Reading: watches that wake, that never hold up others, and that leave nothing behind."""

import anyio
import pytest

from kinformer.apiserver.storage import Batch, CompactedError, KeyRange, MemoryKV, Watch, WatchRequest
from kinformer.testing import settle

A, ALL = KeyRange.prefix("/a"), KeyRange.prefix("")


def revisions(batch: Batch) -> list[int]:
    return [change.revision for change in batch.changes]


async def read_into(got: list[Batch], watch: Watch) -> None:
    got.append(await anext(watch))


async def test_a_watch_is_woken_by_what_concerns_it_and_by_nothing_else() -> None:
    kv = MemoryKV()
    got: list[Batch] = []
    async with kv.watch(A, 4) as watch, anyio.create_task_group() as tasks:
        tasks.start_soon(read_into, got, watch)
        for key in ("/a", "/b", "/b"):
            await settle()
            assert not got
            await kv.put(key, b"")
        await kv.put("/a", b"")
    assert [revisions(batch) for batch in got] == [[5]]


async def test_everything_that_happened_meanwhile_is_one_batch() -> None:
    kv = MemoryKV()
    async with kv.watch(ALL, 2) as watch:
        for _ in range(3):
            await kv.put("/a", b"")
        assert revisions(await anext(watch)) == [2, 3, 4]


async def test_a_long_past_comes_in_pieces_that_say_how_far_they_go() -> None:
    kv = MemoryKV()
    for _ in range(2500):
        await kv.put("/a", b"")
    await kv.put("/b", b"")
    async with kv.watch(A, 2) as watch:
        watch.request_progress()
        batches = [await anext(watch) for _ in range(3)]
        assert [(len(batch.changes), batch.revision) for batch in batches] == [
            (1000, 1001),
            (1000, 2001),
            (500, 2502),
        ]


async def test_progress_wakes_a_watch_that_waits() -> None:
    kv = MemoryKV()
    got: list[Batch] = []
    async with kv.watch(A, 2) as watch, anyio.create_task_group() as tasks:
        tasks.start_soon(read_into, got, watch)
        await kv.put("/b", b"")
        await settle()
        assert not got
        watch.request_progress()
    assert got == [Batch([], 2)]


async def test_a_start_before_the_compaction_is_refused_on_entering() -> None:
    kv = MemoryKV()
    for _ in range(5):
        await kv.put("/a", b"")
    await kv.compact(4)
    with pytest.raises(CompactedError):
        async with kv.watch(A, 3):
            pass


async def test_a_watch_that_falls_behind_the_history_ends() -> None:
    kv = MemoryKV(history=10, queue=1)
    async with kv.watch(A, 2) as watch:
        for _ in range(40):
            await kv.put("/a", b"")
        assert revisions(await anext(watch)) == [2]
        with pytest.raises(CompactedError):
            await anext(watch)


async def test_what_is_lost_is_told_behind_what_is_not() -> None:
    kv = MemoryKV(queue=2)
    async with kv.watch(A, 2) as watch:
        for name in "12345678":
            await kv.put(f"/a/{name}", b"")  # new keys, so that nothing was there before
        await kv.compact(8)
        batch = await anext(watch)
        assert (revisions(batch), batch.revision) == ([2, 3, 4], 4)
        for _ in range(2):
            with pytest.raises(CompactedError) as caught:
                await anext(watch)
            assert caught.value.compacted == 8


async def test_a_watch_that_has_nothing_to_do_is_not_caught_by_compaction() -> None:
    kv = MemoryKV(history=10)
    async with kv.watch(A, 2) as watch:
        for _ in range(50):
            await kv.put("/b", b"")
        await kv.put("/a", b"")
        assert revisions(await anext(watch)) == [52]


@pytest.mark.parametrize("is_woken", [False, True])
async def test_a_cancelled_wait_loses_nothing(is_woken: bool) -> None:
    kv = MemoryKV()
    got: list[Batch] = []
    async with kv.watch(A, 2) as watch:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read_into, got, watch)
            await settle()
            if is_woken:  # and cancelled before it runs
                await kv.put("/a", b"")
            tasks.cancel_scope.cancel()
        await kv.put("/a", b"")
        got.append(await anext(watch))
    assert [at for batch in got for at in revisions(batch)] == ([2, 3] if is_woken else [2])
    assert kv.watches == 0


@pytest.mark.parametrize("is_woken", [False, True])
async def test_a_cancelled_wait_for_a_response_loses_nothing(is_woken: bool) -> None:
    kv = MemoryKV()
    got: list[int] = []

    async def read() -> None:
        got.append((await anext(stream)).events[0].revision)

    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(A))
        async for created in stream:
            assert created.created
            break
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await settle()
            if is_woken:
                await kv.put("/a", b"")
            tasks.cancel_scope.cancel()
        await kv.put("/a", b"")
        await read()
    assert got == ([2, 3] if is_woken else [2])


async def test_two_readers_of_one_watch_are_told_so() -> None:
    kv = MemoryKV()
    async with kv.watch(A, 2) as watch, anyio.create_task_group() as tasks:
        tasks.start_soon(anext, watch)
        await settle()
        with pytest.raises(anyio.BusyResourceError):
            await anext(watch)
        tasks.cancel_scope.cancel()
