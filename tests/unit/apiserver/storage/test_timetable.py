"""When watches catch up, and when they are told how far they have come: etcd's periods, on a clock that moves by hand."""

from random import Random

import anyio
import pytest

from kinformer.apiserver.storage import KeyRange, MemoryKV, WatchRequest, WatchResponse, WatchStream
from kinformer.testing import FakeClock, settle

ALL = KeyRange.prefix("")


class Reader:
    """Reads a stream as fast as it can, and notes when each response came."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.begun = clock.monotonic()
        self.heard: list[tuple[float, WatchResponse]] = []

    async def read(self, stream: WatchStream) -> None:
        async for response in stream:
            self.heard.append((round(self.clock.monotonic() - self.begun, 3), response))

    def times(self) -> list[float]:
        return [when for when, response in self.heard if not response.created]


async def test_a_watch_from_the_past_catches_up_at_the_next_pass() -> None:
    clock = FakeClock()
    kv = MemoryKV(resync_period=0.1, clock=clock)
    await kv.put("/a", b"")
    reader = Reader(clock)
    async with kv.watch_stream() as stream, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.read, stream)
        stream.create(WatchRequest(ALL, 2))
        await clock.advance(0.09)
        assert [response.created for _, response in reader.heard] == [True]
        await clock.advance(1.0)
        assert reader.times() == [0.1]
        assert not [timer for timer in clock._timers if timer.when < 500], (
            "nothing is due while nobody is late"
        )
        tasks.cancel_scope.cancel()


async def test_a_long_past_takes_a_pass_for_each_thousand_revisions() -> None:
    clock = FakeClock()
    kv = MemoryKV(resync_period=0.1, clock=clock)
    for _ in range(2500):
        await kv.put("/a", b"")
    reader = Reader(clock)
    async with kv.watch_stream() as stream, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.read, stream)
        stream.create(WatchRequest(ALL, 2))
        stream.create(WatchRequest(ALL, 2501))
        await clock.advance(1.0)
        assert reader.times() == [0.1, 0.1, 0.1, 0.2], (
            "the other one caught up, so the second pass came at once"
        )
        tasks.cancel_scope.cancel()


async def test_a_compaction_before_the_pass_ends_the_watch() -> None:
    clock = FakeClock()
    kv = MemoryKV(resync_period=0.1, clock=clock)
    for _ in range(3):
        await kv.put("/a", b"")
    reader = Reader(clock)
    async with kv.watch_stream() as stream, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.read, stream)
        stream.create(WatchRequest(ALL, 2))
        await kv.compact(4)
        await clock.advance(0.2)
        assert reader.heard[1:] == [(0.1, WatchResponse(0, 0, canceled=True, compact_revision=4))]
        tasks.cancel_scope.cancel()


async def test_a_blocked_batch_is_offered_again_every_ten_milliseconds() -> None:
    clock = FakeClock()
    kv = MemoryKV(resync_period=0.1, queue=1, clock=clock)
    reader = Reader(clock)
    async with kv.watch_stream() as stream, anyio.create_task_group() as tasks:
        stream.create(WatchRequest(ALL))
        for _ in range(3):
            await kv.put("/a", b"")
        await clock.advance(0.055)
        tasks.start_soon(reader.read, stream)
        await clock.advance(1.0)
        assert [[event.revision for event in response.events] for _, response in reader.heard[1:]] == [
            [2],
            [3],
            [4],
        ]
        assert reader.times() == [0.055, 0.06, 0.16]
        tasks.cancel_scope.cancel()


async def test_progress_that_was_asked_for_comes_when_a_watch_has_caught_up_with_nothing() -> None:
    clock = FakeClock()
    kv = MemoryKV(resync_period=0.1, clock=clock)
    await kv.put("/a", b"")
    async with kv.watch(KeyRange.key("/b"), 2) as watch, anyio.create_task_group() as tasks:
        watch.request_progress()
        got: list[int] = []

        async def read() -> None:
            got.append((await anext(watch)).revision)

        tasks.start_soon(read)
        await settle()
        assert got == []
        await clock.advance(0.1)
        assert got == [2]


@pytest.mark.parametrize(
    ("period", "first"), [(600.0, 600.0), (0.001, 0.1)], ids=["ten minutes", "a tenth at least"]
)
async def test_a_quiet_watch_is_told_how_far_it_has_come_now_and_then(period: float, first: float) -> None:
    clock = FakeClock()
    kv = MemoryKV(progress_period=period, clock=clock, random=Random(1))
    reader = Reader(clock)
    async with kv.watch_stream() as stream, anyio.create_task_group() as tasks:
        tasks.start_soon(reader.read, stream)
        stream.create(WatchRequest(ALL, progress_notify=True))
        await clock.advance(first - 0.001)
        assert reader.times() == []
        await clock.advance(first * 1.2)
        assert len(reader.times()) == 2
        assert first <= reader.times()[0] <= 1.1 * first
        assert reader.times()[1] == pytest.approx(2 * reader.times()[0], abs=0.01)
        tasks.cancel_scope.cancel()
    assert not [timer for timer in clock._timers if not timer.is_cancelled]
