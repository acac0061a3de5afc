"""The shell: watches that wake, that never hold up others, and that leave nothing behind."""

import anyio
import pytest

from kinformer.apiserver.storage import KV, Batch, CompactedError, MemoryKV
from kinformer.testing import settle


def told(batch: Batch) -> list[tuple[int, str]]:
    return [(change.revision, change.key) for change in batch.changes]


def test_it_is_a_kv() -> None:
    kv: KV = MemoryKV()
    assert isinstance(kv, MemoryKV)


async def test_a_watch_gets_the_past_first_and_then_what_comes() -> None:
    kv = MemoryKV()
    await kv.put("/a", b"")
    await kv.put("/b", b"")
    got: list[tuple[int, str]] = []

    async def follow() -> None:
        async with kv.watch("/a", 2) as watch:
            async for batch in watch:
                got.extend(told(batch))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await settle()
        assert got == [(2, "/a")]
        await kv.put("/a", b"")
        await kv.delete("/a")
        await settle()
        assert got == [(2, "/a"), (4, "/a"), (5, "/a")]
        tasks.cancel_scope.cancel()
    assert not kv._idle


async def test_everything_that_happened_meanwhile_is_one_batch() -> None:
    kv = MemoryKV()
    async with kv.watch("/", 2) as watch:
        for _ in range(3):
            await kv.put("/a", b"")
        assert len(told(await anext(watch))) == 3


async def test_a_long_past_comes_in_pieces() -> None:
    kv = MemoryKV()
    for _ in range(2500):
        await kv.put("/a", b"")
    async with kv.watch("/", 2) as watch:
        assert [len((await anext(watch)).changes) for _ in range(3)] == [1000, 1000, 500]


async def test_a_watch_in_the_future_waits_for_its_revision() -> None:
    kv = MemoryKV()
    async with kv.watch("/", 4) as watch, anyio.create_task_group() as tasks:
        got: list[Batch] = []

        async def follow() -> None:
            got.append(await anext(watch))

        tasks.start_soon(follow)
        await settle()
        for _ in range(2):
            await kv.put("/a", b"")
            await settle()
            assert not got
        await kv.put("/a", b"")
    assert told(got[0]) == [(4, "/a")]


async def test_progress_comes_after_all_changes_and_tells_how_far_it_has_come() -> None:
    kv = MemoryKV()
    for _ in range(1500):
        await kv.put("/a", b"")
    await kv.put("/b", b"")
    async with kv.watch("/a", 2) as watch:
        watch.request_progress()
        assert [
            (len(batch.changes), batch.revision) for batch in (await anext(watch), await anext(watch))
        ] == [
            (1000, 1001),
            (500, 1502),
        ]
        watch.request_progress()
        assert await anext(watch) == Batch([], 1502)


async def test_progress_wakes_a_watch_that_is_idle() -> None:
    kv = MemoryKV()
    async with kv.watch("/a", 2) as watch, anyio.create_task_group() as tasks:
        got: list[Batch] = []

        async def follow() -> None:
            got.append(await anext(watch))

        tasks.start_soon(follow)
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
        async with kv.watch("/a", 3):
            pass
    async with kv.watch("/a", 4) as watch:
        assert told(await anext(watch)) == [(4, "/a"), (5, "/a"), (6, "/a")]


async def test_a_watch_that_falls_behind_the_history_ends() -> None:
    kv = MemoryKV(history=10)
    async with kv.watch("/a", 2) as watch:
        for _ in range(20):
            await kv.put("/a", b"")
        with pytest.raises(CompactedError):
            await anext(watch)


async def test_the_history_is_kept_as_long_as_was_promised() -> None:
    kv = MemoryKV(history=10)
    for _ in range(100):
        await kv.put("/a", b"")
        revision = await kv.revision()
        async with kv.watch("/a", max(2, revision - 9)) as watch:
            assert told(await anext(watch))[-1] == (revision, "/a")


@pytest.mark.parametrize("way", ["a change", "progress", "a cancelled wait"])
async def test_a_watch_that_has_nothing_to_do_is_not_caught_by_compaction(way: str) -> None:
    kv = MemoryKV(history=10)
    async with kv.watch("/a", 2) as watch:
        got: list[Batch] = []

        async def follow() -> None:
            got.append(await anext(watch))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await settle()
            for _ in range(50):
                await kv.put("/b", b"")
            if way == "progress":
                watch.request_progress()
            elif way == "a change":
                await kv.put("/a", b"")
            else:
                tasks.cancel_scope.cancel()
        if not got:
            await kv.put("/a", b"")
            got.append(await anext(watch))
        assert told(got[0]) == ([] if way == "progress" else [(52, "/a")])


@pytest.mark.parametrize("is_woken", [False, True])
async def test_a_cancelled_wait_loses_nothing(is_woken: bool) -> None:
    kv = MemoryKV()
    got: list[Batch] = []
    async with kv.watch("/a", 2) as watch:

        async def follow() -> None:
            got.append(await anext(watch))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await settle()
            if is_woken:  # and cancelled before it runs
                await kv.put("/a", b"")
            tasks.cancel_scope.cancel()
        assert not kv._idle
        await kv.put("/a", b"")
        got.append(await anext(watch))
    assert [change.revision for batch in got for change in batch.changes] == ([2, 3] if is_woken else [2])


async def test_two_readers_of_one_watch_are_told_so() -> None:
    kv = MemoryKV()
    async with kv.watch("/a", 2) as watch, anyio.create_task_group() as tasks:
        tasks.start_soon(anext, watch)
        await settle()
        with pytest.raises(anyio.BusyResourceError):
            await anext(watch)
        tasks.cancel_scope.cancel()


def test_a_history_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        MemoryKV(history=0)
