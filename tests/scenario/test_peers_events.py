"""Events that other clients missed, replayed, or handed out for objects that were gone; named after public reports."""

import pytest

from kinformer.testing import HOLD, settle
from tests.scenario.peers_stage import (
    Answer,
    Stage,
    added,
    bookmark,
    deleted,
    failure,
    modified,
    page,
    pod,
    refusal,
)

EXPIRED = failure(410, "Expired")


async def test_what_a_stream_replays_before_it_ends_is_neither_told_nor_resumed_from() -> None:
    """Scenario 1: kubernetes-client/python#819, zalando-incubator/kopf#42."""
    replay: list[Answer] = [[added("a", 900), added("b", 5), added("c", 40), 2.0]]
    initial: list[Answer] = [[added("a", 900), bookmark(950, ends=True), HOLD]]
    stage = Stage(streams=[*replay, *initial])
    async with stage.running(10.0):
        assert stage.asked == ["STREAM", "STREAM"]
        assert stage.log.take() == ["add a(900) initially"]
        assert stage.informer.store.version == "950"


async def test_a_reconnect_replays_nothing() -> None:
    """Scenario 1, once the list is there."""
    stage = Stage(lists=[page(pod("a", 900), pod("b", 5), version=1000)], watches=[[2.0], [2.0], [HOLD]])
    async with stage.running(10.0):
        assert stage.asked == ["LIST 0", "WATCH 1000", "WATCH 1000", "WATCH 1000"]
        assert stage.log.take() == ["add a(900) initially", "add b(5) initially"]


async def test_after_an_idle_time_the_watch_goes_on_from_the_last_bookmark() -> None:
    """Scenario 2: kubernetes-client/python#2223."""
    watches = [
        [step for minute in range(start, start + 5) for step in (60.0, bookmark(1001 + minute))]
        for start in range(0, 40, 5)
    ]
    stage = Stage(lists=[page(pod("a", 10), version=1000)], watches=[*watches, [HOLD]])
    async with stage.running(2410.0):
        assert stage.asked == ["LIST 0", *(f"WATCH {version}" for version in range(1000, 1041, 5))]
        watched = [request.params for request in stage.server.requests if request.phase == "WATCH"]
        assert {params["allowWatchBookmarks"] for params in watched} == {"true"}


async def test_a_watch_begins_at_the_version_of_the_list_and_not_of_an_object() -> None:
    """Scenario 3: tomplus/kubernetes_asyncio#135."""
    stage = Stage(
        lists=[page(*(pod(f"p{n}", n) for n in range(10, 21)), version=1000)], watches=[[2.0], [HOLD]]
    )
    async with stage.running(10.0):
        assert stage.asked == ["LIST 0", "WATCH 1000", "WATCH 1000"]


@pytest.mark.parametrize("said", ["in the stream", "as a status", "in a body of known length"])
async def test_a_410_costs_one_list_and_tells_what_is_gone_and_nothing_of_what_stayed(said: str) -> None:
    """Scenarios 4 and 5, rows 4 and 5: kubernetes-client/python#1896, kiwigrid/k8s-sidecar#85 and #267."""
    first = [pod(name, version) for version, name in enumerate("abcd", 10)]
    expired: dict[str, list[Answer]] = {
        "in the stream": [[2.0, EXPIRED]],
        "as a status": [[2.0], refusal(410, "Expired")],
        "in a body of known length": [[2.0], [b'{"type":"ERROR","object":{"kind":"Status","code":410}}']],
    }
    stage = Stage(
        lists=[page(*first, version=100), page(pod("a", 10), pod("b", 150), version=200)],
        watches=[*expired[said], [HOLD]],
    )
    async with stage.running(1.0):
        stage.log.take()
        await stage.clock.advance(20.0)
        assert stage.asked[-2:] == ["LIST 100", "WATCH 200"]
        assert [phase for phase in stage.asked if phase.startswith("LIST")] == ["LIST 0", "LIST 100"]
        told = stage.log.take()
        assert sorted(told) == [
            "delete c(12) as tombstone",
            "delete d(13) as tombstone",
            "update b(11) to b(150)",
        ]
        assert stage.content == {"a": "10", "b": "150"}


async def test_an_object_that_was_recreated_unseen_is_deleted_before_it_is_added() -> None:
    """Scenario 6: kiwigrid/k8s-sidecar#30."""
    stage = Stage(
        lists=[page(pod("x", 10, uid="1"), version=100), page(pod("x", 150, uid="2"), version=200)],
        watches=[[2.0, EXPIRED], [2.0, deleted("x", 210, uid="2"), added("x", 220, uid="3"), HOLD]],
    )
    async with stage.running(20.0):
        assert stage.log.take() == [
            "add x(10) initially",
            "delete x(10) as tombstone",
            "add x(150)",
            "delete x(210)",
            "add x(220)",
        ]
        assert stage.content == {"x": "220"}


async def test_a_watch_list_that_is_cut_before_its_end_loses_nothing() -> None:
    """Row 10: objects that had not been streamed yet were never seen."""
    cut: Answer = [added("a", 10), added("b", 11), 2.0]
    again: Answer = [added("a", 10), added("b", 11), added("c", 12), bookmark(20, ends=True), HOLD]
    stage = Stage(streams=[cut, again])
    async with stage.running(1.0):
        assert stage.log.take() == []
        assert not stage.informer.is_synced
        await stage.clock.advance(10.0)
        assert stage.content == {"a": "10", "b": "11", "c": "12"}


async def test_a_bookmark_is_told_to_nobody() -> None:
    """Row 11."""
    stage = Stage(streams=[[bookmark(10, ends=True), bookmark(11), added("a", 12), bookmark(13), HOLD]])
    async with stage.running(1.0):
        await settle()
        assert stage.log.take() == ["add a(12)"]
        assert stage.informer.store.version == "13"


async def test_a_deletion_during_a_list_of_many_pages_is_not_undone_by_it() -> None:
    """Row 21, with a change between the pages: all are of one moment, and the watch begins there."""
    pages = [
        page(pod("a", 1), version=100, token="1"),
        page(pod("b", 2), version=100, token="2"),
        page(pod("c", 3), version=100),
    ]
    stage = Stage(lists=pages, watches=[[deleted("a", 101), modified("c", 102), HOLD]])
    async with stage.running(1.0):
        assert stage.asked == ["LIST 0", "PAGE 1", "PAGE 2", "WATCH 100"]
        assert stage.content == {"b": "2", "c": "102"}
