"""The shell of the watch cache. A number in a name is that of the behaviour in the reference's list."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import pytest

from kinformer.apiserver.cacher import CacheOptions, Cacher, NotReadyError, StoppedError
from kinformer.apiserver.storage import (
    CompactedError,
    FutureRevisionError,
    KeyRange,
    MemoryKV,
    Put,
    ReadResult,
    Transaction,
    UnavailableError,
)
from kinformer.apiserver.storage._memory_watches import MemoryWatch
from kinformer.testing import FakeClock, settle
from tests.unit.apiserver.cacher.stage import ALL, PREFIX, make, running

LOST = UnavailableError("cut")


class Faulty(MemoryKV):
    """A storage that fails so many times to be read, and counts what it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0
        self.reads: list[int] = []

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        self.reads.append(limit)
        if self.failures:
            self.failures -= 1
            raise LOST
        return await super().range(keys, revision=revision, limit=limit, count_only=count_only)


def names(cacher: Cacher) -> list[str]:
    return [element.key.removeprefix(PREFIX) for element in cacher.content.read(ALL)]


async def put(kv: MemoryKV, *keys: str) -> int:
    for key in keys:
        await kv.put(PREFIX + key, b"{}")
    return await kv.revision()


async def test_it_begins_with_what_is_there_and_follows_what_happens() -> None:
    kv, clock = MemoryKV(), FakeClock()
    await put(kv, "n/b")
    async with running(kv, clock) as (cacher, told):
        assert (names(cacher), cacher.revision, cacher.history.listed) == (["n/b"], 2, 2)
        await clock.advance(5.0)
        await put(kv, "n/a", "n/b")
        await kv.delete(PREFIX + "n/b")
        await kv.put("/registry/core/secrets/n/s", b"{}")
        await settle()
        assert names(cacher) == ["n/a"]
        assert [(event.type, event.revision, event.time) for event in told.events] == [
            ("ADDED", 3, 5.0),
            ("MODIFIED", 4, 5.0),
            ("DELETED", 5, 5.0),
        ]
        assert told.events[2].previous is told.events[1].current
        assert told.progressed[-1] == cacher.revision
        assert clock.next_timer is None
    assert kv.watches == 0


async def test_a_list_is_read_in_pages_of_one_moment() -> None:
    kv = Faulty()
    for number in range(10_001):
        await kv.put(f"{PREFIX}n/{number:05}", b"{}")
    async with running(kv, FakeClock()) as (cacher, _):
        assert len(cacher.content) == 10_001
        assert kv.reads == [10_000] * 2


async def test_a_revision_is_seen_whole_before_anybody_is_told_a_part_of_it() -> None:
    kv = MemoryKV()
    async with running(kv, FakeClock()) as (cacher, told):
        seen: list[tuple[int, list[str]]] = []

        class Slow(type(told)):  # type: ignore[misc]
            async def dispatch(self, event: object) -> None:
                await anyio.lowlevel.checkpoint()
                seen.append((cacher.revision, names(cacher)))

        cacher.dispatcher = Slow()
        await kv.transact(Transaction([], [Put(PREFIX + "a", b"{}"), Put(PREFIX + "b", b"{}")]))
        await put(kv, "c")
        await settle()
        assert seen == [(2, ["a", "b"]), (2, ["a", "b"]), (3, ["a", "b", "c"])]


async def test_behaviour_12_progress_brings_it_up_to_writes_of_others() -> None:
    kv, clock = MemoryKV(), FakeClock()
    async with running(kv, clock) as (cacher, told):
        for _ in range(2):  # once more while the clock stands still
            await kv.put("/registry/core/configmaps/n/c", b"{}")
            wanted = await kv.revision()
            assert cacher.revision < wanted
            await cacher.wait_until_fresh(wanted)
            assert cacher.revision == wanted
        assert told.events == []
        assert told.progressed == [2, 3]
        assert clock.next_timer is None


async def test_behaviour_14_a_paused_cache_stays_behind_until_it_is_resumed() -> None:
    kv, clock = MemoryKV(), FakeClock()
    async with running(kv, clock) as (cacher, _):
        cacher.pause()
        cacher.pause()
        wanted = await put(kv, "n/a", "n/b")

        async def wait_in_vain() -> None:
            with pytest.raises(FutureRevisionError):
                await cacher.wait_until_fresh(wanted)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait_in_vain)
            await clock.advance(3.1)
        assert names(cacher) == []
        cacher.resume()
        await cacher.wait_until_fresh(wanted)
        assert names(cacher) == ["n/a", "n/b"]
        assert cacher.metrics.get("apiserver_watch_cache_progress_requests_total") == 31


async def test_behaviour_25_a_lost_watch_means_a_new_generation_with_nothing_of_the_past() -> None:
    kv, clock = MemoryKV(), FakeClock()
    await put(kv, "n/a")
    async with running(kv, clock) as (cacher, told):
        await put(kv, "n/b")
        await settle()
        kept = cacher.content.get(PREFIX + "n/a")
        replay = cacher.history.since(2)
        cacher.break_watch(CompactedError(1, 2))
        await settle()
        assert told.restarts == 1
        with pytest.raises(NotReadyError, match="revision 1 has been compacted") as caught:
            cacher.readiness.check()
        assert caught.value.retry_after == 1
        assert names(cacher) == ["n/a", "n/b"]  # still known
        await put(kv, "n/c")
        await clock.advance(1.0)  # no two lists in one second
        cacher.readiness.check()
        assert cacher.readiness.generation == 2
        assert names(cacher) == ["n/a", "n/b", "n/c"]
        assert cacher.content.get(PREFIX + "n/a") is kept
        assert (cacher.history.listed, cacher.history.oldest, cacher.content.oldest) == (4, 5, 4)
        with pytest.raises(CompactedError):
            cacher.history.since(3)
        assert len(replay) == 1
        assert told.events[-1].key == PREFIX + "n/b"


async def test_a_watch_that_was_lost_long_after_the_last_list_is_replaced_at_once() -> None:
    kv, clock = MemoryKV(), FakeClock()
    async with running(kv, clock) as (cacher, _):
        await clock.advance(1.0)
        cacher.break_watch(LOST)
        await settle()
        assert cacher.readiness.generation == 2


async def test_a_storage_that_cannot_be_read_is_tried_every_second(caplog: pytest.LogCaptureFixture) -> None:
    kv, clock = Faulty(), FakeClock()
    async with running(kv, clock) as (cacher, told):
        await clock.advance(1.0)
        kv.failures = 3
        cacher.break_watch(LOST)
        cacher.break_watch(LOST)
        await clock.advance(2.5)
        assert not cacher.readiness.is_ready
        assert len(caplog.records) == 1
        assert "reads everything again: cut" in caplog.text
        await clock.advance(0.5)
        assert cacher.readiness.generation == 2
        assert told.restarts == 4
    assert cacher.metrics.get("apiserver_watch_cache_initializations_total") == 2


async def test_a_watch_that_lags_beyond_the_storage_is_replaced() -> None:
    kv, clock = MemoryKV(history=5, queue=1), FakeClock()
    async with running(kv, clock) as (cacher, _):
        cacher.pause()
        await clock.advance(1.0)
        for number in range(30):
            await put(kv, f"n/{number:02}")
            await settle()
        cacher.resume()
        await settle()
        assert cacher.readiness.generation == 2
        assert len(names(cacher)) == 30


class Odd(MemoryKV):
    """A storage that tells of everything twice."""

    @asynccontextmanager
    async def watch(self, keys: KeyRange, from_revision: int) -> AsyncIterator[MemoryWatch]:
        async with super().watch(keys, from_revision) as watch:
            original = type(watch).__anext__

            class Twice(type(watch)):  # type: ignore[misc]
                async def __anext__(self) -> object:
                    batch = await original(self)
                    return type(batch)([*batch.changes, *batch.changes], batch.revision)

            watch.__class__ = Twice
            yield watch


async def test_what_cannot_be_is_a_reason_to_read_everything_again() -> None:
    kv, clock = Odd(), FakeClock()
    async with running(kv, clock) as (cacher, _):
        await put(kv, "n/a")
        await kv.delete(PREFIX + "n/a")
        await settle()
        assert not cacher.readiness.is_ready
        await clock.advance(1.0)
        assert (cacher.readiness.generation, names(cacher)) == (2, [])


async def test_who_waits_for_a_cache_that_is_closed_is_told_so() -> None:
    kv, clock = MemoryKV(), FakeClock()
    stopped: list[bool] = []

    async def wait(cacher: Cacher) -> None:
        with pytest.raises(StoppedError):
            await cacher.wait_until_fresh(99)
        stopped.append(True)

    async with anyio.create_task_group() as tasks, running(kv, clock) as (cacher, told):
        tasks.start_soon(wait, cacher)
        await settle()
        cacher.close()
        await settle()
        assert stopped == [True]
        assert told.restarts >= 1
        cacher.break_watch(LOST)
        cacher.request_progress()
    with pytest.raises(StoppedError):
        await cacher.wait_until_fresh(0)


async def test_who_waited_while_the_watch_was_lost_hears_that_it_is_not_ready() -> None:
    kv, clock = Faulty(), FakeClock()
    async with running(kv, clock) as (cacher, _):
        kv.failures = 9
        cacher.break_watch(LOST)
        await settle()
        with pytest.raises(NotReadyError, match="cut"):
            await cacher.wait_until_fresh(0)


async def test_it_can_begin_in_the_past_of_the_storage() -> None:
    kv, clock = MemoryKV(), FakeClock()
    await put(kv, "n/a", "n/b")
    await kv.delete(PREFIX + "n/a")
    await kv.put("/elsewhere", b"")
    async with running(kv, clock, looks_back=True) as (cacher, _):
        assert (cacher.revision, cacher.history.listed, names(cacher)) == (5, 1, ["n/b"])
        assert [event.revision for event in cacher.history.since(1).take()] == [2, 3, 4]
        assert [element.key for element in cacher.content.read(ALL, 2)] == [PREFIX + "n/a"]
        await clock.advance(1.0)
        cacher.break_watch(LOST)
        await settle()
        assert cacher.history.listed == 5  # but not once more


async def test_it_begins_as_far_back_as_the_storage_goes() -> None:
    kv = MemoryKV()
    await put(kv, "n/a", "n/b", "n/c")
    await kv.compact(3)
    async with running(kv, FakeClock(), looks_back=True) as (cacher, _):
        assert (cacher.revision, cacher.history.listed, len(cacher.history)) == (4, 3, 1)


async def test_it_begins_with_the_present_where_the_storage_does_not_say_when_that_is_reached() -> None:
    class Silent(MemoryKV):
        async def tells_progress(self) -> bool:
            return False

    kv = Silent()
    await put(kv, "n/a")
    async with running(kv, FakeClock(), looks_back=True) as (cacher, _):
        assert (cacher.revision, cacher.history.listed, names(cacher)) == (2, 2, ["n/a"])


async def test_one_that_retires_tells_first_what_the_storage_holds() -> None:
    kv, clock = MemoryKV(), FakeClock()
    async with running(kv, clock) as (cacher, told):
        await put(kv, "n/a")
        cacher.retire()
        await put(kv, "n/b")
        await settle()
        assert [event.key.removeprefix(PREFIX) for event in told.events] == ["n/a", "n/b"]
        assert (cacher.readiness.is_stopped, kv.watches) == (True, 0)


async def test_one_that_has_no_watch_retires_at_once() -> None:
    kv, clock = Faulty(), FakeClock()
    async with running(kv, clock) as (cacher, _):
        kv.failures = 9
        cacher.break_watch(LOST)
        await settle()
        cacher.retire()
        assert cacher.readiness.is_stopped


async def test_two_cannot_run_it() -> None:
    async with running(MemoryKV(), FakeClock()) as (cacher, _):
        with pytest.raises(RuntimeError, match="runs already"):
            await cacher.run()


async def test_one_that_is_closed_before_it_is_ready_ends() -> None:
    kv, clock = Faulty(), FakeClock()
    kv.failures = 9
    cacher, _ = make(kv, clock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(cacher.run)
        await settle()
        cacher.close()
    assert clock.next_timer is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"lowest": 0}, "lowest 0"),
        ({"window": 1.0}, "window 1.0"),
        ({"check_period": 0.0}, "check_period 0.0 must be positive"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        CacheOptions(**options)  # type: ignore[arg-type]
