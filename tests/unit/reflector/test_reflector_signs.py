"""Signs of life: how a reflector tells a quiet stream from a dead one, and what it shows of that."""

import math

import pytest

from kinformer.hooks import ReflectorFailed, WatchListDelayed
from kinformer.reflector import Ages
from kinformer.testing import (
    HOLD,
    After,
    StreamStep,
    bookmark,
)
from tests.unit.reflector.stage import EMPTY, END, PAGE, A, Stage


async def test_silence_after_a_bookmark_reopens_the_watch_from_the_last_version() -> None:
    stage = Stage(lists=[EMPTY], watches=[[bookmark("110"), 60.0, bookmark("120"), HOLD], [HOLD]])
    async with stage.running(134.9):
        assert stage.asked == ["list 0", "watch 100"]
        await stage.clock.advance(0.1)
        assert stage.asked == ["list 0", "watch 100", "watch 120"]
        assert not stage.reflector.conditions["Disconnected"].status
    _, failed = stage.hooks.events
    assert isinstance(failed, ReflectorFailed)
    assert (failed.state, failed.next_state, failed.delay) == ("Watching", "Watching", 0.0)


async def test_silence_of_a_stream_that_never_showed_a_bookmark_is_normal() -> None:
    stage = Stage(lists=[EMPTY], watches=[[A, HOLD]])
    async with stage.running(299.0):
        assert stage.asked == ["list 0", "watch 100"]


async def test_a_server_that_has_shown_a_bookmark_is_expected_to_show_more_in_every_stream() -> None:
    stage = Stage(lists=[EMPTY], watches=[[bookmark("110"), 2.0], [HOLD], [HOLD]])
    async with stage.running(76.9):
        assert stage.asked == ["list 0", "watch 100", "watch 110"]
        await stage.clock.advance(0.1)
        assert stage.asked == ["list 0", "watch 100", "watch 110", "watch 110"]


async def test_a_stream_that_outlives_its_timeout_is_reopened() -> None:
    stage = Stage(lists=[EMPTY], watches=[[HOLD], [HOLD]])
    async with stage.running():
        timeout = stage.source.watches[0].timeout
        await stage.clock.advance(timeout + 29.9)
        assert len(stage.source.watches) == 1
        await stage.clock.advance(0.1)
        assert stage.asked == ["list 0", "watch 100", "watch 100"]


async def test_a_watch_list_that_goes_silent_is_tried_again_after_a_wait() -> None:
    stage = Stage(watches=[[bookmark("5"), HOLD], [END, HOLD]], watch_list=True)
    async with stage.running(80.0):
        assert stage.asked == ["stream", "stream"]
        assert stage.source.requests[1].at == pytest.approx(76.2)


async def test_a_watch_list_that_never_speaks_is_tried_again_after_75_seconds_and_then_listed() -> None:
    stage = Stage(lists=[EMPTY], watches=[[HOLD], HOLD, [A, HOLD], [HOLD]], watch_list=True)
    async with stage.running(250.0):
        assert stage.asked == ["stream", "stream", "stream", "list 0", "watch 100"]
        assert [request.at for request in stage.source.requests[:4]] == pytest.approx(
            [0.0, 76.2, 153.6, 233.4]
        )


async def test_hooks_hear_of_a_bookmark_that_is_late_while_nothing_else_comes() -> None:
    often: list[StreamStep] = [9.0, A]
    busy: list[StreamStep] = [25.0, A, *often * 5, 15.0, END, 30.0, A, HOLD]
    stage = Stage(watches=[busy], watch_list=True)
    async with stage.running(180.0):
        assert stage.asked == ["stream"]
        assert stage.hooks.delays == [
            WatchListDelayed("pods", 0, 10.0),
            WatchListDelayed("pods", 0, 20.0),
            WatchListDelayed("pods", 6, 10.0),
        ]


async def test_the_silence_of_a_complete_watch_list_is_no_delay() -> None:
    stage = Stage(watches=[[END, 70.0, A, HOLD], [HOLD]], watch_list=True)
    async with stage.running(100.0):
        assert stage.hooks.delays == []


async def test_the_ages_of_the_last_object_and_of_the_last_bookmark_tell_a_quiet_stream_from_a_dead_one() -> (
    None
):
    steps: list[StreamStep] = [10.0, A, 20.0, bookmark("105"), 5.0, [A, bookmark("106")], HOLD]
    stage = Stage(lists=[After(3.0, PAGE), EMPTY], watches=[steps])
    async with stage.running(1.0):
        assert stage.reflector.ages == Ages(math.inf, math.inf)
        seen = []
        for _ in range(6):
            await stage.clock.advance(9.0)
            seen.append((stage.reflector.ages.event, stage.reflector.ages.bookmark))
    assert seen == [(7.0, math.inf), (6.0, math.inf), (15.0, math.inf), (24.0, 4.0), (8.0, 8.0), (17.0, 17.0)]


async def test_a_watch_list_shows_its_age_while_it_is_on_the_way() -> None:
    stage = Stage(watches=[[A, 30.0, END, HOLD]], watch_list=True)
    async with stage.running(20.0):
        assert stage.reflector.ages == Ages(20.0, math.inf)
        await stage.clock.advance(15.0)
        assert stage.reflector.ages == Ages(35.0, 5.0)
