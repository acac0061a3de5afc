"""Bringing events to watchers: the part of ``cacher_whitebox_test.go`` that is about them."""

from collections.abc import Callable
from random import Random
from typing import Any

import anyio
import pytest

from kinformer.apiserver.cacher._budget import TimeBudget
from kinformer.apiserver.cacher._dispatch import Dispatcher
from kinformer.apiserver.cacher._encoded import Bookmark
from kinformer.apiserver.cacher._metrics import Metrics
from kinformer.apiserver.cacher._replay import InitialState
from kinformer.apiserver.cacher._scopes import Scope
from kinformer.apiserver.cacher._watch import CacheWatch
from kinformer.apiserver.cacher._watcher import BookmarkState, CacheWatcher
from kinformer.testing import FakeClock, settle
from tests.unit.apiserver.cacher.watching import PREFIX, change, element, told

START = 10


class Stage:
    """A dispatcher, and those who watch."""

    def __init__(self, ask: Callable[[], None] | None = None, budget: TimeBudget | None = None) -> None:
        self.clock = FakeClock()
        self.metrics = Metrics("", "pods")
        self.dispatcher = Dispatcher(
            PREFIX, clock=self.clock, random=Random(1), metrics=self.metrics, ask=ask, budget=budget
        )
        self.revision = START
        self.dispatcher.progress(START)

    def watcher(self, **options: Any) -> CacheWatcher:
        """One that has replayed all it had to."""
        watcher = CacheWatcher(InitialState([], 0.0), START, **{"size": 10, **options})
        watcher.take()
        self.dispatcher.join(watcher)
        return watcher

    async def happen(self, times: int = 1, *, key: str = "default/a") -> None:
        for _ in range(times):
            self.revision += 1
            await self.dispatcher.dispatch(change(self.revision, key=key))
            self.dispatcher.progress(self.revision)

    @property
    def terminated(self) -> float:
        return self.metrics.get("apiserver_watch_cache_terminated_watchers_total")


class Reader:
    """Reads a watch to its end, as fast as it can."""

    def __init__(self, stage: Stage, watcher: CacheWatcher) -> None:
        self.watch = CacheWatch(watcher, stage.dispatcher)
        self.told: list[tuple[str, int]] = []
        self.has_ended = False

    async def __call__(self) -> None:
        async for items in self.watch:
            self.told += told(list(items))
        self.has_ended = True


@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        pytest.param(Scope(), [11, 12, 13], id="all"),
        pytest.param(Scope("default"), [11, 12], id="namespace"),
        pytest.param(Scope("default", "a"), [11], id="object"),
        pytest.param(Scope("", "a"), [11, 13], id="name"),
        pytest.param(Scope("elsewhere"), [], id="none"),
    ],
)
async def test_a_watcher_hears_of_what_is_in_its_scope(scope: Scope, seen: list[int]) -> None:
    stage = Stage()
    watcher = stage.watcher(scope=scope)
    for key in ("default/a", "default/b", "other/a"):
        await stage.happen(key=key)
    assert [version for _, version in told(watcher.take())] == seen


async def test_what_has_no_namespace_is_found_by_its_name() -> None:
    stage = Stage()
    watcher = stage.watcher(scope=Scope("", "a"))
    await stage.happen(key="a")
    await stage.happen(key="b")
    assert told(watcher.take()) == [("ADDED", 11)]


async def test_all_watchers_share_what_is_made_of_an_event() -> None:
    stage = Stage()
    one, two = stage.watcher(), stage.watcher()
    await stage.happen()
    assert one.take()[0] is two.take()[0]


async def test_whoever_has_left_hears_nothing() -> None:
    stage = Stage()
    watcher = stage.watcher(bookmarks=True)
    stage.dispatcher.leave(watcher)
    stage.dispatcher.leave(watcher)
    await stage.happen()
    assert (watcher.take(), len(stage.dispatcher), stage.clock.next_timer) == ([], 0, None)


async def test_behaviour_24_the_22nd_event_ends_only_the_watcher_that_is_stuck() -> None:
    stage = Stage(budget=TimeBudget(0.0, most=0.0))
    stuck, fast = stage.watcher(), stage.watcher()
    read = Reader(stage, fast)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await stage.happen(21)
        assert (stuck.is_closed, stage.terminated) == (False, 0)
        await stage.happen()
        assert (stuck.is_closed, stage.terminated) == (True, 1)
        await settle()
        assert [version for _, version in read.told] == list(range(11, 33))
        assert not fast.is_closed
        tasks.cancel_scope.cancel()
    assert [version for _, version in told(stuck.take())] == list(range(11, 22))
    assert len(stage.dispatcher) == 1


async def test_behaviour_24_a_watch_list_with_its_bookmark_in_the_queue_is_drained_to_it() -> None:
    stage = Stage(budget=TimeBudget(0.0, most=0.0))
    watcher = CacheWatcher(InitialState([], 0.0), START, size=10, bookmarks=True, ends_with_bookmark=True)
    stage.dispatcher.join(watcher)
    await stage.clock.advance(1.3)
    assert watcher.state is BookmarkState.RECEIVED
    await stage.happen(22)
    assert watcher.is_closed
    read = Reader(stage, watcher)
    await read()
    assert read.told[0] == ("END", START)
    assert [version for _, version in read.told[2:]] == list(range(11, 31))


async def test_slow_watchers_get_the_time_that_is_left_together_while_others_go_on() -> None:
    stage = Stage(budget=TimeBudget(0.0))
    await stage.clock.advance(1)
    slow, slower, fast = stage.watcher(), stage.watcher(), stage.watcher()
    read = Reader(stage, fast)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await stage.happen(22)
        await settle()
        assert len(read.told) == 22
        await stage.clock.advance(0.03)
        assert not slow.is_closed
        slow.take()
        stage.dispatcher.was_read(slow)
        await stage.clock.advance(0.03)
        assert (slow.is_closed, slower.is_closed, stage.terminated) == (False, True, 1)
        tasks.cancel_scope.cancel()
    assert stage.clock.next_timer is None


async def test_reading_what_came_first_makes_no_room() -> None:
    stage = Stage()
    await stage.clock.advance(10)
    objects = [element(1, key=f"default/{number:04}") for number in range(600)]
    watcher = CacheWatcher(InitialState(objects, 0.0), START, size=10)
    stage.dispatcher.join(watcher)
    await stage.happen(22)
    watcher.take()
    stage.dispatcher.was_read(watcher)
    await stage.clock.advance(0.11)
    assert watcher.is_closed


async def test_time_that_was_not_needed_is_kept() -> None:
    stage = Stage(budget=TimeBudget(0.0, rate=0.0))
    stage.dispatcher._budget.give_back(0.1, 0.0)
    watcher = stage.watcher()
    await stage.happen(22)
    await stage.clock.advance(0.04)
    watcher.take()
    stage.dispatcher.was_read(watcher)
    assert stage.clock.next_timer is None
    await stage.happen(22)
    await stage.clock.advance(0.059)
    assert not watcher.is_closed
    await stage.clock.advance(0.002)
    assert watcher.is_closed


async def test_nobody_piles_up_events_without_end_while_it_is_waited_for() -> None:
    stage = Stage()
    await stage.clock.advance(10)
    watcher = stage.watcher()
    await stage.happen(121)
    assert (watcher.is_closed, watcher.room) == (False, -100)
    await stage.happen()
    assert watcher.is_closed


async def test_a_reader_that_gets_its_turns_is_not_slow() -> None:
    stage = Stage(budget=TimeBudget(0.0, most=0.0))
    watcher = stage.watcher(size=1)
    read = Reader(stage, watcher)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await settle()
        await stage.happen(5000)
        await settle()
        assert len(read.told) == 5000
        tasks.cancel_scope.cancel()


async def test_no_turn_is_spent_while_there_is_room() -> None:
    stage, turns = Stage(), []

    async def other() -> None:
        turns.append(stage.revision)

    stage.watcher()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(other)
        await stage.happen(20)
        assert turns == []


async def test_a_dispatch_that_is_cancelled_has_brought_the_event_to_everybody() -> None:
    stage = Stage()
    full, other = stage.watcher(), stage.watcher(size=20)
    await stage.happen(21)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await stage.happen()
    assert scope.cancelled_caught
    assert len(other.take()) == 22
    assert full.is_closed


async def test_a_restart_ends_everybody() -> None:
    stage = Stage()
    watchers = [stage.watcher(bookmarks=True) for _ in range(3)]
    await stage.happen()
    stage.dispatcher.restart()
    assert [(watcher.is_closed, len(watcher.take())) for watcher in watchers] == [(True, 1)] * 3
    assert (len(stage.dispatcher), stage.clock.next_timer, stage.terminated) == (0, None, 0)


async def test_behaviour_23_bookmarks_come_about_every_minute_and_before_the_end() -> None:
    stage = Stage()
    watcher = stage.watcher(bookmarks=True, deadline=100.0, repeats=False)
    await stage.clock.advance(70)
    assert watcher.take() == []  # as long as nothing happens
    stage.dispatcher.progress(20)
    await stage.clock.advance(27.9)
    assert watcher.take() == []
    await stage.clock.advance(1.4)
    assert told(watcher.take()) == [("BOOKMARK", 20)]
    await stage.clock.advance(100)
    assert watcher.take() == []
    assert stage.clock.next_timer is None


async def test_behaviour_23_none_comes_to_a_watch_that_is_about_to_end_or_did_not_ask() -> None:
    stage = Stage()
    short, unasked = stage.watcher(bookmarks=True, deadline=1.0), stage.watcher()
    assert stage.clock.next_timer is None
    await stage.clock.advance(200)
    assert (short.take(), unasked.take()) == ([], [])


async def test_a_minute_after_the_first_comes_the_next() -> None:
    stage = Stage()
    watcher = stage.watcher(bookmarks=True)
    moments = []
    watcher.wake = lambda: moments.append(stage.clock.monotonic())
    await stage.clock.advance(250)
    assert [60 * n <= moment < 60 * n + 1.25 * n for n, moment in enumerate(moments, 1)] == [True] * 4
    assert told(watcher.take()) == [("BOOKMARK", START)] * 4


async def test_one_bookmark_goes_to_all_who_are_due_in_a_second() -> None:
    stage = Stage()
    watchers = [stage.watcher(bookmarks=True) for _ in range(3)]
    await stage.clock.advance(61.3)
    first, second, third = (watcher.take()[0] for watcher in watchers)
    assert isinstance(first, Bookmark)
    assert first is second is third


async def test_whoever_is_due_earlier_than_all_others_is_not_kept_waiting() -> None:
    stage = Stage()
    late = stage.watcher(bookmarks=True)
    early = stage.watcher(bookmarks=True, deadline=5.0)
    await stage.clock.advance(4.3)
    assert (len(early.take()), late.take()) == (1, [])


async def test_a_bookmark_that_is_owed_is_offered_with_every_tick() -> None:
    stage = Stage()
    watcher = CacheWatcher(InitialState([], 0.0), 12, size=10, bookmarks=True, ends_with_bookmark=True)
    stage.dispatcher.join(watcher)
    states = []
    await stage.clock.advance(3.8)
    states.append(watcher.state)
    stage.dispatcher.progress(12)
    await stage.clock.advance(1.25)
    states.append(watcher.state)
    assert states == [BookmarkState.WAITING, BookmarkState.RECEIVED]
    await stage.clock.advance(50)
    assert told(watcher.take()) == [("END", 12), ("BOOKMARK", 12)]


async def test_bookmarks_tell_the_latest_where_it_can_be_asked_for() -> None:
    asked: list[float] = []
    stage = Stage(lambda: asked.append(1))
    watcher = stage.watcher(bookmarks=True)
    await stage.clock.advance(60.3)
    assert (watcher.take(), len(asked)) == ([], 1)
    stage.dispatcher.progress(33)
    assert told(watcher.take()) == [("BOOKMARK", 33)]
    stage.dispatcher.progress(34)
    await stage.clock.advance(50)
    assert (watcher.take(), len(asked)) == ([], 1)


async def test_without_an_answer_they_tell_what_is_known() -> None:
    stage = Stage(lambda: None)
    watcher = stage.watcher(bookmarks=True)
    await stage.clock.advance(63)
    assert told(watcher.take()) == [("BOOKMARK", START)]


async def test_in_the_midst_of_a_batch_no_bookmark_comes() -> None:
    stage = Stage()
    watcher = stage.watcher(bookmarks=True)
    await stage.dispatcher.dispatch(change(11, key="default/a"))
    await stage.clock.advance(63)
    await stage.dispatcher.dispatch(change(11, key="default/b"))
    assert told(watcher.take()) == [("ADDED", 11), ("ADDED", 11)]
    stage.dispatcher.progress(11)
    assert told(watcher.take()) == [("BOOKMARK", 11)]


async def test_leaving_between_a_question_and_its_answer_is_harmless() -> None:
    stage = Stage(lambda: None)
    watcher = stage.watcher(bookmarks=True)
    await stage.clock.advance(60.3)
    stage.dispatcher.leave(watcher)
    stage.dispatcher.progress(33)
    assert (watcher.take(), stage.clock.next_timer) == ([], None)
