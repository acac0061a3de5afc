"""B21, B27 and B28: what synced means, what a resync is, and what running again does.

The B numbers are those of the behaviours that ports of client-go most often get wrong; B17 to B20 and B22 to B26 are about
informers, B29 and B30 about work queues.
"""

import re
from collections.abc import Iterator
from itertools import repeat

import anyio
import pytest

from kinformer.meta import Resource
from kinformer.reflector import Reflector
from kinformer.testing import HOLD, After, FakeClock, ScriptedSource, StreamStep, added, bookmark, error_event
from tests.scenario import test_reflector_snapshots, test_reflector_watches
from tests.scenario.reflector_stage import BROKEN, EMPTY, END, GONE, Mirror, Stage, page, pod

PODS = Resource.builtin("Pod")


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
async def test_b21_it_is_synced_once_an_empty_snapshot_is_in_the_sink_and_not_before(
    watch_list: bool,
) -> None:
    first: list[StreamStep] = [5.0, END, HOLD]
    stage = Stage(
        lists=[After(5.0, page(version="30"))],
        watches=[first if watch_list else [HOLD]],
        watch_list=watch_list,
    )
    async with stage.running(4.9):
        assert stage.true() == set()
        assert stage.reflector.version == ""
        await stage.clock.advance(0.1)
        assert stage.true() == {"Synced"}
        assert stage.reflector.version == "30"
        assert stage.reflector.conditions["Synced"].since == 5.0
    assert stage.sink.story == ["replace "]


async def test_b21_it_stays_synced_through_relists_outages_and_after_its_end() -> None:
    synced = []

    def lists() -> Iterator[After]:
        while True:
            yield After(10.0, EMPTY)
            yield After(10.0, BROKEN)

    stage = Stage(lists=lists(), watches=repeat([5.0, error_event(BROKEN)]))
    async with stage.running(11.0):
        for _ in range(100):
            await stage.clock.advance(3.0)
            synced.append(stage.reflector.conditions["Synced"])
    assert len(stage.source.lists) > 5
    assert {condition.status for condition in synced} == {True}
    assert {condition.since for condition in synced} == {10.0}
    assert stage.reflector.conditions["Synced"].status


async def test_a_relist_that_finds_nothing_empties_the_sink_in_one_step() -> None:
    stage = Stage(
        lists=[page(pod("a", "1"), pod("b", "2"), version="100"), page(version="200")],
        watches=[[2.0, error_event(GONE)], [HOLD]],
    )
    await stage.play(10.0)
    assert stage.sink.story == ["replace a,b", "replace "]


class Resynced(Mirror):
    """A sink that keeps the moments at which it was asked to show everything once more."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.clock = clock
        self.moments: list[float] = []

    def resync(self) -> None:
        self.moments.append(self.clock.monotonic())


async def test_b27_a_resync_asks_the_server_nothing_and_keeps_its_rhythm() -> None:
    clock = FakeClock()
    stream: list[StreamStep] = [25.0, error_event(GONE)]
    source = ScriptedSource(PODS, lists=repeat(EMPTY), watches=[stream, [20.0], [HOLD]], clock=clock)
    sink = Resynced(clock)
    reflector = Reflector(source, sink, watch_list=False, resync=10.0, clock=clock)
    async with anyio.create_task_group() as group:
        group.start_soon(reflector.run)
        await clock.advance(20.0)
        assert len(source.requests) == 2
        await clock.advance(40.0)
        group.cancel_scope.cancel()
    assert sink.moments == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]
    assert clock.next_timer is None


async def test_b27_a_period_of_zero_is_never() -> None:
    clock = FakeClock()
    source = ScriptedSource(PODS, lists=[EMPTY], watches=[[HOLD]], clock=clock)
    sink = Resynced(clock)
    async with anyio.create_task_group() as group:
        group.start_soon(Reflector(source, sink, watch_list=False, clock=clock).run)
        await clock.advance(300.0)
        group.cancel_scope.cancel()
    assert sink.moments == []


async def test_b28_running_it_a_second_time_meanwhile_is_refused_and_asks_nothing() -> None:
    stage = Stage(lists=[EMPTY], watches=[[HOLD]])
    async with stage.running(1.0):
        with pytest.raises(RuntimeError, match="reflector pods is running already"):
            await stage.reflector.run()
        assert stage.asked == ["LIST 0", "WATCH 100"]
        await stage.clock.advance(1.0)
        assert stage.true() == {"Synced"}


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
async def test_b28_running_it_again_later_goes_on_from_where_it_was(watch_list: bool) -> None:
    first: list[StreamStep] = [END, added(pod("a", "31")), bookmark("40"), HOLD]
    stage = Stage(
        lists=[page(version="30")], watches=[first, [added(pod("b", "41")), HOLD]], watch_list=watch_list
    )
    await stage.play(1.0)
    assert stage.reflector.version == "40"
    await stage.play(1.0)
    assert stage.asked == [*(["STREAM"] if watch_list else ["LIST 0", "WATCH 30"]), "WATCH 40"]
    assert stage.sink.story[-2:] == ["added a", "added b"]


def test_each_of_the_behaviours_that_concerns_a_reflector_has_a_test_named_after_it() -> None:
    names = [*vars(test_reflector_snapshots), *vars(test_reflector_watches), *globals()]
    tested = {int(found.group(1)) for name in names if (found := re.match(r"test_b(\d\d)_", name))}
    assert tested == {*range(1, 17), 21, 27, 28}
