"""Errors and bytes that other clients mistook, choked on or looped over; named after public reports."""

from itertools import pairwise, repeat
from typing import Any

import httpx
import pytest

from kinformer.errors import DecodeError, ExpiredError, ForbiddenError
from kinformer.testing import HOLD
from tests.scenario.peers_stage import (
    Answer,
    Line,
    Reply,
    Stage,
    Step,
    added,
    alive,
    bookmark,
    failure,
    line,
    modified,
    page,
    pod,
    refusal,
)

EXPIRED = failure(410, "Expired")


@pytest.mark.parametrize("answer", [refusal(410, "Expired"), [EXPIRED]], ids=["as a status", "in the stream"])
async def test_a_410_at_each_resume_costs_one_list_each_and_the_next_waits_longer(answer: Answer) -> None:
    """Scenario 21: apache/airflow#21087, #23521 and #37369."""
    stage = Stage(lists=repeat(page(pod("a", 1), version=10)), watches=repeat(answer))
    async with stage.running(600.0):
        phases = [request.split()[0] for request in stage.asked]
        assert phases[: len(phases) // 2 * 2] == ["LIST", "WATCH"] * (len(phases) // 2)
        assert stage.busiest_minute() <= 12
        assert stage.log.take() == ["add a(1) initially"]
        delays = [failed.delay for failed in stage.hooks.failures]
        assert all(later > earlier for earlier, later in pairwise(delays[:5]))


async def test_an_error_of_http_is_an_error_and_no_event() -> None:
    """Scenario 22: kubernetes-client/python-base#57, where the body of a 403 became an event."""
    stage = Stage(lists=repeat(page(pod("a", 1), version=10)), watches=[refusal(403, "Forbidden"), [HOLD]])
    async with stage.running(60.0):
        (failed,) = stage.hooks.failures
        assert isinstance(failed.error, ForbiddenError)
        assert failed.delay >= 0.8
        assert stage.hooks.quarantined == []
        assert stage.log.take() == ["add a(1) initially"]


@pytest.mark.parametrize(
    "end",
    [
        httpx.RemoteProtocolError("peer closed connection without sending complete message body"),
        httpx.ReadError("reset"),
    ],
    ids=["closed early", "reset"],
)
@pytest.mark.parametrize("at", [0, 1, 40, -2], ids=["between events", "begun", "half", "all but its end"])
async def test_a_stream_that_ends_early_goes_on_where_it_was_and_nothing_comes_twice(
    end: Exception, at: int
) -> None:
    """Scenario 23, row 9: tomplus/kubernetes_asyncio#352, #156 and #235."""
    cut: list[Step] = [modified("a", 11), 2.0, line(modified("a", 12))[:at], end]
    stage = Stage(lists=[page(pod("a", 1), version=10)], watches=[cut, [modified("a", 12), HOLD]])
    async with stage.running(10.0):
        assert stage.asked == ["LIST 0", "WATCH 10", "WATCH 11"]
        assert stage.log.take() == ["add a(1) initially", "update a(1) to a(11)", "update a(11) to a(12)"]
        assert stage.true() == {"Synced"}


@pytest.mark.parametrize("size", [7, 1000, 65_536])
async def test_a_long_line_in_pieces_of_any_size_is_one_object(size: int) -> None:
    """Scenario 24, row 12: zalando-incubator/kopf#275, tomplus/kubernetes_asyncio#137, which crashed above 64 KB."""
    text = "x" * min(1_400_000, size * 2000)
    whole = line(added("a", 11, annotations={"text": text}))
    pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
    stage = Stage(lists=[page(version=10)], watches=[[*pieces, HOLD]])
    async with stage.running():
        (obj,) = stage.informer.lister.list()
        assert obj.metadata.annotations["text"] == text


ODD = "break \u0085, separators \u2028 and \u2029, \x0b\x0c\x1c, carriage \r, letters ä€😀"
"""What ``str.splitlines`` and a decoder of pieces stumble over; JSON text may hold all of it, some of it escaped."""


@pytest.mark.parametrize("size", [1, 2, 3, 64])
async def test_a_line_ends_at_a_newline_only_and_letters_may_be_cut_in_two(size: int) -> None:
    """Scenario 25, row 13: kubernetes-client/python#1325; httpx's own lines end at U+0085."""
    lines = b"".join(line(added(f"p{number}", number, annotations={"odd": ODD})) for number in range(11, 14))
    assert "\u0085".encode() in lines
    pieces = [lines[start : start + size] for start in range(0, len(lines), size)]
    stage = Stage(lists=[page(version=10)], watches=[[*pieces, HOLD]])
    async with stage.running():
        assert [obj.metadata.annotations["odd"] for obj in stage.informer.lister.list()] == [ODD] * 3
        assert stage.hooks.quarantined == []


async def test_odd_letters_in_a_list_are_kept() -> None:
    """Scenario 25, in a list."""
    stage = Stage(lists=[page(pod("a", 1, annotations={"odd": ODD}), version=10)], watches=[[HOLD]])
    async with stage.running():
        assert [obj.metadata.annotations["odd"] for obj in stage.informer.lister.list()] == [ODD]


async def test_an_error_in_a_body_of_known_length_is_the_same_as_in_a_stream() -> None:
    """Scenario 26: kubernetes-client/python#1192, the form that a 410 had in old servers."""
    lists = [page(pod("a", 1), version=10), page(version=20)]
    stage = Stage(lists=lists, watches=[Reply(200, line(EXPIRED)), [HOLD]])
    async with stage.running(10.0):
        assert stage.asked == ["LIST 0", "WATCH 10", "LIST 10", "WATCH 20"]
        (failed,) = stage.hooks.failures
        assert isinstance(failed.error, ExpiredError)


BAD: dict[str, Any] = {"labels": ["not", "a", "mapping"]}


@pytest.mark.parametrize("phase", ["a list", "a watch-list", "a watch"])
async def test_an_object_that_cannot_be_read_is_set_aside_by_name_and_the_rest_flows(phase: str) -> None:
    """Row 14: one bad object stalled the stream, or kept the list from ever being complete."""
    good, bad, mended = pod("a", 1), pod("b", 2, **BAD), modified("b", 30)
    rest: list[Step] = [2.0, mended, *alive(40)]
    stages = {
        "a list": lambda: Stage(lists=[page(good, bad, version=10)], watches=[rest]),
        "a watch-list": lambda: Stage(streams=[[event(good), event(bad), bookmark(10, ends=True), *rest]]),
        "a watch": lambda: Stage(lists=[page(good, version=10)], watches=[[event(bad), *rest]]),
    }
    stage = stages[phase]()
    async with stage.running(1.0):
        assert stage.content == {"a": "1"}
        assert stage.true() == {"Synced", "Decoding"}
        assert "default/b" in stage.informer.conditions["Decoding"].message
        (quarantined,) = stage.hooks.quarantined
        assert quarantined.key == "default/b"
        assert isinstance(quarantined.error, DecodeError)
        await stage.clock.advance(2.0)
        assert stage.content == {"a": "1", "b": "30"}
        assert stage.true() == {"Synced"}


def event(obj: Line) -> Line:
    return {"type": "ADDED", "object": obj}
