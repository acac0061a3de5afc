"""Requests, memory and tasks that other clients wasted; named after public reports."""

from collections.abc import Iterable
from itertools import pairwise, repeat

import httpx
import pytest

from kinformer.testing import HOLD
from tests.scenario.peers_stage import (
    Answer,
    Reply,
    Stage,
    Step,
    added,
    alive,
    bookmark,
    event,
    failure,
    modified,
    page,
    pod,
    refusal,
)

WELL = page(pod("a", 1), version=10)
"""A list that comes out well."""

OPENED: list[Step] = [added("a", 1), bookmark(10, ends=True)]
"""A watch-list that comes out well."""

ALIEN = {"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s", "resourceVersion": "11"}}

ANSWERS: dict[str, Answer] = {
    "500": refusal(500, "InternalError"),
    "502 from a proxy": Reply(502, b"<html>bad gateway</html>"),
    "503": refusal(503, "ServiceUnavailable"),
    "504": refusal(504, "Timeout"),
    "401": refusal(401, "Unauthorized"),
    "403": refusal(403, "Forbidden"),
    "404": refusal(404, "NotFound"),
    "405": refusal(405, "MethodNotAllowed"),
    "410": refusal(410, "Expired"),
    "422": refusal(422, "Invalid"),
    "429": refusal(429, "TooManyRequests"),
    "429 that asks for no wait": refusal(429, "TooManyRequests", ("Retry-After", "0")),
    "a redirection": Reply(302, b"", (("Location", "/login"),)),
    "refused": httpx.ConnectError("refused"),
    "reset": httpx.ReadError("reset"),
    "closed without an answer": httpx.RemoteProtocolError("server disconnected"),
    "no time to connect": httpx.ConnectTimeout("slow"),
    "a portal's page": Reply(200, b"<html>log in</html>"),
    "nothing": Reply(200, b""),
    "a table": Reply(200, {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}),
}
"""To every request."""

STREAMS: dict[str, list[Step]] = {
    "closed at once": [],
    "closed after an event": [modified("a", 11)],
    "closed after a bookmark": [bookmark(11)],
    "closed after half a second": [0.5],
    "cut in an event": [b'{"type":"MODIFIED","obj', httpx.ReadError("reset")],
    "reset": [httpx.ReadError("reset")],
    "410": [failure(410, "Expired")],
    "500": [failure(500, "InternalError")],
    "429": [failure(429, "TooManyRequests")],
    "an error without a status": [event("ERROR", {})],
    "garbage": [b"garbage\n"],
    "garbage without end": [b"garbage\n", HOLD],
    "a foreign kind": [event("ADDED", ALIEN)],
    "an unknown type": [event("RENAMED", pod("a", 11))],
    "a bookmark of an older history": [bookmark(5)],
}
"""To every watch, after lists that come out well."""


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_no_answer_whatever_it_is_makes_more_than_twelve_requests_in_a_minute(answer: Answer) -> None:
    """Scenario 32: jupyterhub/kubespawner#209, about 4,000 a minute."""
    stage = Stage(streams=repeat(answer), lists=repeat(answer), watches=repeat(answer))
    async with stage.running(300.0):
        pass
    assert len(stage.server.requests) > 8
    assert stage.busiest_minute() <= 12


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
@pytest.mark.parametrize("steps", STREAMS.values(), ids=STREAMS)
async def test_no_stream_however_it_ends_makes_more_than_twelve_requests_in_a_minute(
    steps: list[Step], watch_list: bool
) -> None:
    """Scenario 32, row 1."""
    streams: Iterable[Answer] = repeat([*OPENED, *steps] if watch_list else Reply(400))
    stage = Stage(streams=streams, lists=repeat(WELL), watches=repeat(steps))
    async with stage.running(300.0):
        assert stage.informer.is_synced
        assert set(stage.content) == {"a"}
    assert stage.busiest_minute() <= 12
    assert len(stage.server.requests) > 8


@pytest.mark.parametrize(
    "lists",
    [
        [page(version=10, token="1"), page(version=10, token="1")],
        [page(version=10, token="1"), refusal(410, "Expired"), refusal(410, "Expired")],
        [page(version=10, token="1"), httpx.ReadError("reset")],
    ],
    ids=["the token repeats", "the token always expires", "the second page is always lost"],
)
async def test_no_list_that_cannot_be_finished_makes_more_than_twelve_requests_in_a_minute(
    lists: list[Answer],
) -> None:
    """Scenario 32, for lists in pages; later pages are free, since each finishes what was begun."""
    stage = Stage(lists=[answer for _ in range(200) for answer in lists])
    async with stage.running(300.0):
        assert not stage.informer.is_synced
    assert stage.busiest_minute() <= 12


async def test_a_server_that_asks_for_time_gets_it_and_nothing_is_lost() -> None:
    """Scenario 28, row 15: nolar/kopf#1011, where a 429 at the start crashed the operator."""
    busy = refusal(429, "TooManyRequests", ("Retry-After", "10"))
    pods = [added(f"p{number}", number) for number in range(1, 1001)]
    stage = Stage(streams=[busy, busy, busy, [*pods, bookmark(2000, ends=True), *alive(2000)]])
    async with stage.running(29.9):
        assert stage.true() == {"Throttled"}
        await stage.clock.advance(20.0)
        assert len(stage.content) == 1000
        assert stage.true() == {"Synced"}
    gaps = [later.at - earlier.at for earlier, later in pairwise(stage.server.requests)]
    assert len(gaps) == 3
    assert all(10.0 <= gap < 15.0 for gap in gaps)


async def test_a_list_is_never_a_quorum_read_while_all_is_well() -> None:
    """Scenario 31: jupyterhub/kubespawner#753, with lists at no version and watches of ten seconds."""
    stage = Stage(
        lists=[WELL, page(pod("a", 1), version=20)],
        watches=[[300.0], [2.0, failure(500, "InternalError")], [HOLD]],
    )
    async with stage.running(310.0):
        first, second = (request.params for request in stage.server.requests if request.phase == "LIST")
        assert (first["resourceVersion"], first["limit"]) == ("0", "500")
        assert second == {"resourceVersion": "10"}
        timeouts = {
            int(request.params["timeoutSeconds"])
            for request in stage.server.requests
            if request.phase == "WATCH"
        }
        assert len(timeouts) == 3
        assert all(300 <= timeout < 600 for timeout in timeouts)


async def test_a_watch_list_asks_for_nothing_newer_than_what_is_known() -> None:
    """Scenario 31, in one request: a watch-list is answered out of the cache."""
    stage = Stage(streams=[[*OPENED, 2.0, failure(500)], [*OPENED, HOLD]])
    async with stage.running(20.0):
        first, second = (request.params for request in stage.server.requests)
        assert first["sendInitialEvents"] == second["sendInitialEvents"] == "true"
        assert first["resourceVersionMatch"] == second["resourceVersionMatch"] == "NotOlderThan"
        assert ("resourceVersion" in first, second["resourceVersion"]) == (False, "10")
