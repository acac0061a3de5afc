"""Reading a watch in batches."""

from random import Random

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.apiserver.cacher._dispatch import Dispatcher
from kinformer.apiserver.cacher._encoded import Bookmark, Selected
from kinformer.apiserver.cacher._metrics import Metrics
from kinformer.apiserver.cacher._replay import InitialState
from kinformer.apiserver.cacher._watch import CacheWatch
from kinformer.apiserver.cacher._watcher import CacheWatcher
from kinformer.testing import FakeClock, settle
from tests.unit.apiserver.cacher.watching import PREFIX, change, element, encoded, is_on, told


def watch(objects: int = 0, *, is_selective: bool = False) -> tuple[CacheWatcher, CacheWatch]:
    labels = ["no"] * (objects - 1) + ["yes"]
    state = [element(1, labels[number], f"default/{number:04}") for number in range(objects)]
    watcher = CacheWatcher(InitialState(state, 0.0), 10, size=10, matches=is_on if is_selective else None)
    clock = FakeClock()
    dispatcher = Dispatcher(PREFIX, clock=clock, random=Random(1), metrics=Metrics("", "pods"))
    dispatcher.join(watcher)
    return watcher, CacheWatch(watcher, dispatcher)


async def test_what_has_come_together_is_read_together() -> None:
    watcher, reader = watch(objects=2)
    for revision in (11, 12):
        watcher.offer(encoded(revision))
    assert told(list(await anext(reader))) == [("ADDED", 1), ("ADDED", 1), ("ADDED", 11), ("ADDED", 12)]


async def test_what_is_queued_is_read_though_there_was_nothing_to_replay() -> None:
    watcher, reader = watch()
    watcher.offer(encoded(11))
    assert told(list(await anext(reader))) == [("ADDED", 11)]


async def test_others_get_their_turn_between_the_pieces_of_a_long_replay() -> None:
    _, reader = watch(objects=2000, is_selective=True)
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await checkpoint()
            turns += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(count)
        assert len(await anext(reader)) == 1  # the last is the only one that is selected
        assert turns >= 3
        tasks.cancel_scope.cancel()


async def test_a_read_that_is_cancelled_loses_nothing() -> None:
    watcher, reader = watch(objects=1)
    read: list[Selected | Bookmark] = []

    async def follow() -> None:
        async for batch in reader:
            read.extend(batch)

    for _ in range(2):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await settle()
            watcher.offer(encoded(11 + len(read)))
            tasks.cancel_scope.cancel()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await settle()
        watcher.stop()
    assert told(read) == [
        ("ADDED", 1),
        ("ADDED", 12),
        ("ADDED", 13),
    ]


async def test_it_ends_when_the_watcher_is_closed_and_read_to_its_end() -> None:
    watcher, reader = watch()
    watcher.take()
    watcher.offer(encoded(11))
    watcher.stop()
    assert len(await anext(reader)) == 1
    for _ in range(2):
        with pytest.raises(StopAsyncIteration):
            await anext(reader)


async def test_two_may_not_read_at_once() -> None:
    _, reader = watch()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anext, reader)
        await settle()
        with pytest.raises(anyio.BusyResourceError):
            await anext(reader)
        tasks.cancel_scope.cancel()


async def test_reading_is_noticed_by_whoever_waits_for_room() -> None:
    clock = FakeClock()
    dispatcher = Dispatcher(PREFIX, clock=clock, random=Random(1), metrics=Metrics("", "pods"))
    await clock.advance(10)
    watcher = CacheWatcher(InitialState([], 0.0), 10, size=1)
    watcher.take()
    dispatcher.join(watcher)
    for revision in range(11, 15):
        await dispatcher.dispatch(change(revision))
    assert clock.next_timer is not None
    assert len(await anext(CacheWatch(watcher, dispatcher))) == 4
    assert clock.next_timer is None
