"""A source whose snapshots come compressed."""

from collections.abc import Sequence

import anyio

from kinformer.errors import DecodeError
from kinformer.informer._compact_source import CompactSource
from kinformer.meta import ObjectList, Objects, Pack, Record, WatchEvent
from kinformer.testing import (
    HOLD,
    FakeClock,
    ListAnswer,
    ScriptedSource,
    WatchAnswer,
    added,
    bookmark,
    settle,
)
from tests.unit.informer.stage import PODS, pod


class Packing:
    """Writes bytes backwards."""

    def unpack(self, held: bytes, /) -> bytes:
        return held[::-1]


PACKING = Packing()


def pack(record: Record) -> Record:
    return Record(record.resource, record.key, record.metadata, record.raw[::-1], PACKING)


def source(*watches: WatchAnswer, lists: Sequence[ListAnswer] = ()) -> tuple[CompactSource, ScriptedSource]:
    scripted = ScriptedSource(PODS, watches=watches, lists=lists, clock=FakeClock())
    return CompactSource(scripted, pack), scripted


async def test_a_page_is_the_same_with_its_objects_packed() -> None:
    plain = ObjectList(Objects([pod(f"{i}", i).record for i in range(200)]), "9", "t", 3, (DecodeError("x"),))
    compact, _ = source(lists=[plain])
    found = await compact.list(limit=200)
    assert found == plain
    assert all(record.packing is PACKING for record in found.records)


class Packable(ScriptedSource):
    """A source that packs what it lists, by a packing of its own."""

    def packing(self, given: Pack) -> "Packable":
        assert given is stay
        return Packable(PODS, lists=[ObjectList(Objects([pack(pod("a", 1).record)]), "9")], clock=FakeClock())


def stay(record: Record) -> Record:
    assert record.packing is not None
    return record


async def test_a_source_that_can_pack_does_so_itself() -> None:
    compact = CompactSource(Packable(PODS, clock=FakeClock()), stay)
    (found,) = (await compact.list()).records
    assert found.raw == pod("a", 1).raw


async def test_others_get_their_turns_while_a_page_is_packed() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await anyio.lowlevel.checkpoint()
            turns += 1

    compact, _ = source(lists=[ObjectList(Objects([pod("a", 1).record] * 1000), "9")])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        await compact.list()
        tasks.cancel_scope.cancel()
    assert turns >= 1000 // 64


async def test_cancelled_between_two_slices_of_a_page_nothing_is_left() -> None:
    compact, _ = source(lists=[ObjectList(Objects([pod("a", 1).record] * 1000), "9")])
    with anyio.CancelScope() as scope:
        scope.cancel()
        await compact.list()
    assert scope.cancelled_caught


async def test_initial_events_are_packed_and_changes_are_not() -> None:
    end = bookmark("3", ends_initial_events=True)
    compact, scripted = source([added(pod("a", 1)), [added(pod("b", 2)), end], added(pod("c", 4))])
    async with compact.watch(initial_events=True, bookmarks=True, timeout=30, version="7") as batches:
        events = [event async for batch in batches for event in batch]
    assert [packing_of(event) for event in events] == [PACKING, PACKING, None, None]
    assert [event.obj for event in events if event.record] == [pod("a", 1), pod("b", 2), pod("c", 4)]
    assert events[2] == end
    (asked,) = scripted.requests
    assert (asked.initial_events, asked.bookmarks, asked.timeout, asked.version) == (True, True, 30, "7")


async def test_a_watch_without_initial_events_comes_as_it_is() -> None:
    compact, _ = source([added(pod("a", 1))])
    async with compact.watch() as batches:
        assert [packing_of(event) async for batch in batches for event in batch] == [None]


async def test_cancelled_while_it_waits_for_a_batch_it_closes_the_watch() -> None:
    compact, scripted = source([added(pod("a", 1)), HOLD])

    async def drain() -> None:
        async with compact.watch(initial_events=True) as batches:
            async for _ in batches:
                pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(drain)
        await settle()
        assert scripted.pending == 1
        tasks.cancel_scope.cancel()
    assert scripted.pending == 0


def packing_of(event: WatchEvent) -> object:
    return None if event.record is None else event.record.packing


def test_it_lists_what_its_source_lists() -> None:
    compact, scripted = source()
    assert compact.resource == scripted.resource
