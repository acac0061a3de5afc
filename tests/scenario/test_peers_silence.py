"""Watches that died or hung without a word in other clients, and clients that gave up; named after public reports."""

import logging
from itertools import repeat
from random import Random

import httpx
import pytest

from kinformer.reflector import Ages
from kinformer.testing import HOLD, settle
from tests.scenario.peers_stage import (
    Answer,
    Reply,
    Stage,
    added,
    alive,
    bookmark,
    failure,
    modified,
    page,
    pod,
    refusal,
)

SNAPSHOT = [added("a", 10), bookmark(20, ends=True)]


async def test_a_watch_that_falls_silent_is_noticed_within_75_seconds_and_goes_on_where_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Scenarios 11, 14 and 19: kubernetes-client/python#2462, nolar/kopf#860, apache/airflow#12644 and #36998."""
    caplog.set_level(logging.INFO, "kinformer.reflector")
    stage = Stage(streams=[[*SNAPSHOT, 30.0, bookmark(21), HOLD]], watches=[[added("b", 22), HOLD]])
    async with stage.running(30.0):
        await stage.clock.advance(74.9)
        assert stage.asked == ["STREAM"]
        assert stage.hooks.failures == []
        await stage.clock.advance(0.1)
        assert stage.asked == ["STREAM", "WATCH 21"]
        assert stage.content == {"a": "10", "b": "22"}
        assert stage.true() == {"Synced"}
    (failed,) = stage.hooks.failures
    assert (failed.state, failed.next_state, failed.delay) == ("Watching", "Watching", 0.0)
    assert "went silent" in caplog.text


async def test_a_watch_that_was_reopened_and_falls_silent_at_once_is_noticed_as_soon() -> None:
    """Scenario 11, the second time: a bookmark comes only after a minute."""
    stage = Stage(streams=[[*SNAPSHOT, 2.0]], watches=[[HOLD], [added("b", 22), HOLD]])
    async with stage.running(2.0):
        await stage.clock.advance(75.0)
        assert stage.asked == ["STREAM", "WATCH 20", "WATCH 20"]
        assert stage.content == {"a": "10", "b": "22"}


async def test_a_watch_whose_server_never_sends_bookmarks_ends_by_our_own_deadline() -> None:
    """Scenario 12: kubernetes-client/python#1148 and #1402, where only the server's timeout was there to help."""
    stage = Stage(lists=[page(version=20)], watches=[[HOLD], [HOLD]])
    async with stage.running():
        timeout = int(stage.server.requests[-1].params["timeoutSeconds"])
        await stage.clock.advance(timeout + 29.9)
        assert stage.asked == ["LIST 0", "WATCH 20"]
        await stage.clock.advance(0.1)
        assert stage.asked == ["LIST 0", "WATCH 20", "WATCH 20"]


async def test_a_quiet_collection_is_left_alone() -> None:
    """Scenario 13, row 17: kubernetes-client/python#2067; bookmarks keep an idle connection from being cut."""
    minutes = [step for minute in range(4) for step in (60.0, bookmark(21 + minute))]
    stage = Stage(streams=[[*SNAPSHOT, *minutes, HOLD]])
    async with stage.running(300.0):
        assert stage.asked == ["STREAM"]
        assert stage.hooks.failures == []
        assert stage.log.take() == ["add a(10) initially"]


@pytest.mark.parametrize(
    "broken",
    [
        refusal(500),
        httpx.ReadError("reset"),
        refusal(504, "Timeout"),
        Reply(200, b"<html>"),
        refusal(403, "Forbidden"),
    ],
    ids=["500", "reset", "504", "garbage", "403"],
)
async def test_a_later_page_that_fails_starts_the_list_anew_while_the_old_content_is_served(
    broken: Answer,
) -> None:
    """Scenario 15: nolar/kopf#787."""
    old = [page(pod("a", 1), version=10, token="1"), page(pod("b", 2), version=10)]
    half = [page(pod("a", 1), version=30, token="1"), page(pod("c", 25), version=30, token="2"), broken]
    whole = [page(pod("a", 1), version=40, token="1"), page(pod("d", 35), version=40)]
    stage = Stage(lists=[*old, *half, *whole], watches=[[5.0, failure(410, "Expired")], [HOLD]])
    async with stage.running(5.0):
        await stage.clock.advance(1.9)
        assert stage.asked[-3:] == ["LIST 10", "PAGE 1", "PAGE 2"]
        assert stage.content == {"a": "1", "b": "2"}
        await stage.clock.advance(30.0)
        assert stage.content == {"a": "1", "d": "35"}
        assert stage.true() == {"Synced"}
        assert sorted(stage.log.take()[2:]) == ["add d(35)", "delete b(2) as tombstone"]


async def test_a_continue_token_that_expired_costs_one_whole_list_at_once() -> None:
    """Row 7: other clients raised, or stood still for ever."""
    lists = [
        page(pod("a", 1), version=10, token="1"),
        refusal(410, "Expired"),
        page(pod("a", 1), pod("b", 2), version=11),
    ]
    stage = Stage(lists=lists, watches=[[HOLD]])
    async with stage.running():
        assert stage.asked == ["LIST 0", "PAGE 1", "LIST 0", "WATCH 11"]
        assert stage.content == {"a": "1", "b": "2"}


async def test_nobody_is_left_with_an_informer_that_ended_by_itself() -> None:
    """Scenario 16: nolar/kopf#1276, where the watch ended and the operator lived on. What is a bug comes out of ``run``."""

    class Buggy(Random):
        def random(self) -> float:
            raise RuntimeError("chance with a bug")

    stage = Stage(streams=[[*SNAPSHOT, HOLD]], random=Buggy())
    with pytest.raises(ExceptionGroup) as caught:
        async with stage.running():
            pass
    assert caught.group_contains(RuntimeError, match="chance with a bug")


@pytest.mark.parametrize(
    ("answer", "condition"),
    [
        (refusal(500), "Disconnected"),
        (refusal(503), "Disconnected"),
        (refusal(403, "Forbidden"), "Forbidden"),
        (refusal(401, "Unauthorized"), "Forbidden"),
        (refusal(404, "NotFound"), "KindMissing"),
        (refusal(429, "TooManyRequests"), "Throttled"),
        (httpx.ConnectError("refused"), "Disconnected"),
        (httpx.ReadError("reset"), "Disconnected"),
        (Reply(503, b"<html>no backend</html>"), "Disconnected"),
        (Reply(200, b"<html>log in</html>"), "Decoding"),
    ],
    ids=["500", "503", "403", "401", "404", "429", "refused", "reset", "a proxy's page", "a portal's page"],
)
async def test_however_long_it_fails_it_goes_on_trying_says_so_and_recovers(
    answer: Answer, condition: str
) -> None:
    """Scenario 18, rows 2, 3 and 8: jupyterhub/kubespawner#938 gave up after 30 s and served its frozen cache as new."""
    stage = Stage(
        streams=[[*SNAPSHOT, 1.0], *repeat(answer, 99)], lists=repeat(answer), watches=repeat(answer)
    )
    async with stage.running(1.0):
        await stage.clock.advance(600.0)
        assert stage.informer.is_synced
        assert stage.content == {"a": "10"}
        assert stage.true() == {"Synced", condition}
        assert 1.0 <= stage.informer.conditions[condition].since < 3.0
        assert stage.informer.conditions[condition].message
        stage.server.answer("STREAM", [added("a", 10), added("b", 30), bookmark(40, ends=True), *alive(40)])
        stage.server.answer("WATCH", [added("b", 30), *alive(40)])
        await stage.clock.advance(70.0)
        assert stage.content == {"a": "10", "b": "30"}
        assert stage.true() == {"Synced"}
        assert stage.busiest_minute() <= 12
        assert stage.log.take() == ["add a(10) initially", "add b(30)"]


async def test_how_long_nothing_has_arrived_can_be_read_off() -> None:
    """Scenario 17: jupyterhub/kubespawner#209 and #577."""
    stage = Stage(streams=[[*SNAPSHOT, HOLD]], watches=repeat(httpx.ConnectError("no route")))
    async with stage.running(70.0):
        assert stage.true() == {"Synced"}
        await stage.clock.advance(530.0)
        assert stage.informer.ages == Ages(600.0, 600.0)  # since the last object, and since the last bookmark
        gone = stage.informer.conditions["Disconnected"]
        assert (gone.status, gone.since) == (True, 75.0)
        assert "no route" in gone.message


async def test_one_may_stop_while_the_first_list_is_under_way() -> None:
    """Row 18: a stop that waited for the watch to end."""
    for script in (
        {"streams": [HOLD]},
        {"lists": [HOLD]},
        {"lists": [page(pod("a", 1), version=1, token="1"), HOLD]},
    ):
        stage = Stage(**script)
        async with stage.running():
            await settle()
            assert not stage.informer.is_synced
        assert stage.clock.monotonic() == 0.0


async def test_an_error_of_the_server_in_the_stream_costs_one_list_and_tells_nothing_twice() -> None:
    """Row 6."""
    stage = Stage(
        lists=[page(pod("a", 1), version=10), page(pod("a", 1), pod("b", 12), version=20)],
        watches=[[modified("a", 11), 2.0, failure(500, "InternalError")], [HOLD]],
    )
    async with stage.running(20.0):
        assert stage.asked == ["LIST 0", "WATCH 10", "LIST 11", "WATCH 20"]
        assert stage.log.take() == [
            "add a(1) initially",
            "update a(1) to a(11)",
            "update a(11) to a(1)",
            "add b(12)",
        ]
