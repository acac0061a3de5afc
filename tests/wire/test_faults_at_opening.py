"""Faults that strike a request as it is opened or answered: each kind, in each phase of an informer's life."""

import json

import pytest

from kinformer.testing import FakeClock
from tests.wire.fault_proxy import Answer, Cut, Fault, Freeze, Phase, Reset
from tests.wire.fault_stage import REFUSAL, Site, Streaming, serving, site

pytestmark = pytest.mark.wire

LINE = 400
"""Bytes of an answer that end inside of its first object."""


def status(code: int, reason: str, *headers: str) -> Answer:
    content = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason}
    return Answer(code, json.dumps(content).encode(), ("Content-Type: application/json", *headers))


EXPIRED = status(410, "Expired")
THROTTLED = status(429, "TooManyRequests", "Retry-After: 7")
INTERNAL = status(500, "InternalError")
UNAVAILABLE = status(503, "ServiceUnavailable")
GARBAGE = Answer(200, b"<html>welcome to the proxy</html>\n")

UNTIL_THEN = {
    Phase.LIST: "STREAM LIST",
    Phase.PAGE: "STREAM LIST LIST PAGE",
    Phase.STREAM: "STREAM",
    Phase.WATCH: "STREAM WATCH",
}
"""What has been asked for when the fault strikes; watch-lists are refused where lists are wanted, and cut for a watch."""

ANEW = {
    Phase.LIST: "STREAM LIST WATCH",
    Phase.PAGE: "STREAM LIST PAGE PAGE WATCH",
    Phase.STREAM: "STREAM",
    Phase.WATCH: "STREAM",
}
"""What a new cycle asks for."""

ON = {**ANEW, Phase.WATCH: "WATCH"}
"""The same, but a watch goes on from where it was."""

AT_ONCE = {**ON, Phase.LIST: "LIST WATCH", Phase.PAGE: "PAGE PAGE WATCH"}
"""The same, where the client makes a request again by itself: an old connection ended, and nothing had come back on it."""

AT_THE_LATEST = {
    Phase.LIST: "LIST WATCH",
    Phase.PAGE: "LIST WATCH",
    Phase.STREAM: "STREAM",
    Phase.WATCH: "STREAM",
}
"""What is asked for when a version is too old."""


@pytest.mark.parametrize(
    ("fault", "streaming", "within"),
    [
        (Cut(), "kinformer", 5.0),
        (Cut(LINE), "kinformer", 5.0),
        (Cut(LINE), "httpx", 5.0),
        (Reset(), "kinformer", 5.0),
        (Reset(LINE), "kinformer", 5.0),
        (Reset(LINE), "httpx", 5.0),
        (Freeze(), "kinformer", 75.0),
        (Freeze(LINE), "kinformer", 77.0),
        (Freeze(LINE), "httpx", 77.0),
    ],
    ids=[
        "cut",
        "cut in a line",
        "cut in a line, with httpx",
        "reset",
        "reset in a line",
        "reset in a line, with httpx",
        "half-open",
        "half-open in a line",
        "half-open in a line, with httpx",
    ],
)
async def test_a_connection_that_fails_costs_few_requests_and_nothing_is_missed(
    fault: Cut | Reset | Freeze, streaming: Streaming, within: float
) -> None:
    then = ON
    if fault in (Cut(), Reset()):
        # A connection that was kept may have been closed before the request came, which is made once more at once.
        then = {**ON, Phase.LIST: "LIST WATCH", Phase.PAGE: "PAGE PAGE WATCH"}
    await play(fault, then, within=within, streaming=streaming)


@pytest.mark.parametrize(
    ("answer", "then", "within"),
    [
        (EXPIRED, AT_THE_LATEST, 5.0),
        (THROTTLED, ON, 9.0),
        (INTERNAL, ANEW, 5.0),
        (UNAVAILABLE, ANEW, 5.0),
        (GARBAGE, ANEW, 5.0),
    ],
    ids=["410", "429", "500", "503", "garbage"],
)
async def test_an_answer_that_is_none_costs_few_requests_and_nothing_is_missed(
    answer: Answer, then: dict[Phase, str], within: float
) -> None:
    await play(answer, then, within=within)


async def play(
    fault: Fault, then: dict[Phase, str], *, within: float, streaming: Streaming = "kinformer"
) -> None:
    """Let a fault strike an opening in each phase, and follow what happens on."""
    clock = FakeClock()
    async with serving(clock, "a", "b", "c", "d", "e") as server:
        for phase in Phase:
            async with site(clock, streaming=streaming) as stage:
                arrange(stage, phase)
                stage.proxy.plan(phase, fault)
                async with stage.following(server):
                    if phase is Phase.WATCH:
                        await stage.until_equal(within=0.0)
                        stage.stream.strike(Cut())
                        await server.change()
                    await stage.until_equal(within=within)
                    await server.change()
                    assert await stage.until_equal(within=0.0) == 0.0
                    assert stage.asked == f"{UNTIL_THEN[phase]} {then[phase]}", phase
                    assert stage.true() == {"Synced"}


def arrange(stage: Site, phase: Phase) -> None:
    """Let the informer come to a phase."""
    if phase in (Phase.LIST, Phase.PAGE):
        stage.proxy.always(Phase.STREAM, REFUSAL)
    if phase is Phase.PAGE:  # a server pages only where it cannot answer from its cache
        stage.proxy.has_small_pages = True
        stage.proxy.plan(Phase.LIST, EXPIRED)


async def test_a_first_watch_that_is_half_open_before_any_bookmark_is_given_up_after_its_time() -> None:
    """Nobody can know yet that this server sends bookmarks; a machine that is gone is found out by TCP before that."""
    clock = FakeClock()
    async with serving(clock, "a") as server, site(clock) as stage:
        stage.proxy.always(Phase.STREAM, REFUSAL)
        stage.proxy.plan(Phase.WATCH, Freeze(LINE))
        async with stage.following(server):
            await stage.until_equal(within=0.0)
            await server.change()
            assert await stage.until_equal(within=630.0) >= 330.0
            assert stage.asked == "STREAM LIST WATCH WATCH"
