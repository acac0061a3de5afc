"""Faults that strike a request as it is opened or answered: each kind, in each phase of an informer's life."""

import json

import pytest

from kinformer.testing import FakeClock
from tests.wire.fault_proxy import Answer, Cut, Fault, Freeze, Phase, Reset
from tests.wire.fault_stage import REFUSAL, Site, serving, site

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
    ("fault", "then", "within"),
    [
        (Cut(), AT_ONCE, 5.0),
        (Cut(LINE), ON, 5.0),
        (Reset(), AT_ONCE, 5.0),
        (Reset(LINE), ON, 5.0),
        (Freeze(), ON, 75.0),
        (Freeze(LINE), ON, 77.0),
        (EXPIRED, AT_THE_LATEST, 5.0),
        (THROTTLED, ON, 9.0),
        (INTERNAL, ANEW, 5.0),
        (UNAVAILABLE, ANEW, 5.0),
        (GARBAGE, ANEW, 5.0),
    ],
    ids=[
        "cut before the answer",
        "cut in a line",
        "reset before the answer",
        "reset in a line",
        "half-open before the answer",
        "half-open in a line",
        "410",
        "429",
        "500",
        "503",
        "garbage",
    ],
)
async def test_one_that_strikes_an_opening_costs_few_requests_and_nothing_is_missed(
    fault: Fault, then: dict[Phase, str], within: float
) -> None:
    clock = FakeClock()
    async with serving(clock, "a", "b", "c", "d", "e") as server:
        for phase in Phase:
            async with site(clock) as stage:
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
