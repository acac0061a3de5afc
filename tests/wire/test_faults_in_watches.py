"""Faults that strike a watch which has been well so far."""

import json

import pytest

from kinformer.testing import FakeClock
from tests.wire.fault_proxy import Break, Cut, Freeze, Garble, Phase, Reset
from tests.wire.fault_stage import REFUSAL, TRANSPORTS, Site, Streaming, serving, site

pytestmark = pytest.mark.wire

LINE = 300
"""Bytes from the beginning of an event that end inside of it."""

CYCLES = ("STREAM", "STREAM LIST WATCH")
"""How an informer gets to its first watch: by a watch-list or, where that is refused, by a list."""


def error(code: int, reason: str, **details: int) -> bytes:
    status = {"kind": "Status", "apiVersion": "v1", "code": code, "reason": reason, "details": details}
    return json.dumps({"type": "ERROR", "object": status}).encode()


@pytest.mark.parametrize(
    ("fault", "streaming", "resumes", "within"),
    [
        (Cut(), "kinformer", True, 2.0),
        (Cut(LINE), "kinformer", True, 2.0),
        (Cut(LINE), "httpx", True, 2.0),
        (Reset(), "kinformer", True, 2.0),
        (Reset(LINE), "kinformer", True, 2.0),
        (Reset(LINE), "httpx", True, 2.0),
        (Freeze(), "kinformer", True, 75.0),
        (Freeze(LINE), "kinformer", True, 75.0),
        (Freeze(LINE), "httpx", True, 75.0),
        (Garble(LINE), "kinformer", False, 2.0),
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
        "garbled",
    ],
)
async def test_a_connection_that_fails_costs_few_requests_and_nothing_is_missed(
    fault: Break | Garble, streaming: Streaming, resumes: bool, within: float
) -> None:
    await play(fault, resumes=resumes, within=within, streaming=streaming)


@pytest.mark.parametrize(
    ("line", "resumes", "within"),
    [
        (error(410, "Expired"), False, 2.0),
        (error(429, "TooManyRequests", retryAfterSeconds=7), True, 7.0),
        (error(500, "InternalError"), False, 2.0),
        (error(503, "ServiceUnavailable"), False, 2.0),
        (b"}garbage{", False, 2.0),
    ],
    ids=["410", "429", "500", "503", "garbage"],
)
async def test_a_line_that_is_no_event_costs_few_requests_and_nothing_is_missed(
    line: bytes, resumes: bool, within: float
) -> None:
    await play(line, resumes=resumes, within=within)


async def play(
    fault: Break | Garble | bytes, *, resumes: bool, within: float, streaming: Streaming = "kinformer"
) -> None:
    """Let a fault strike a watch that came of a watch-list, and one that came of a list, and follow what happens on."""
    clock = FakeClock()
    async with serving(clock, "a", "b", "c") as server:
        for cycle in CYCLES:
            async with site(clock, streaming=streaming) as stage:
                if "LIST" in cycle:
                    stage.proxy.always(Phase.STREAM, REFUSAL)
                async with stage.following(server):
                    assert await stage.until_equal(within=0.0) == 0.0
                    await stage.pass_time(130.0)  # two bookmarks
                    strike(stage, fault)
                    await server.change()
                    assert await stage.until_equal(within=within) > 0.0
                    await server.change()
                    assert await stage.until_equal(within=0.0) == 0.0
                    assert stage.asked == f"{cycle} {'WATCH' if resumes else cycle}"
                    assert stage.true() == {"Synced"}


def strike(stage: Site, fault: Break | Garble | bytes) -> None:
    if isinstance(fault, bytes):
        stage.stream.insert(fault)
    else:
        stage.stream.strike(fault)


@pytest.mark.parametrize("streaming", TRANSPORTS)
async def test_an_object_of_six_megabytes_passes_in_a_list_a_watch_list_and_a_watch(
    streaming: Streaming,
) -> None:
    clock = FakeClock()
    async with serving(clock, "large", "small") as server:
        for number in range(3):
            argument = [{"op": "add", "path": "/spec/containers/0/args", "value": []}] if not number else []
            value = {"op": "add", "path": "/spec/containers/0/args/-", "value": "x" * 2 * 1024 * 1024}
            await server.pods.patch("default/large", [*argument, value], kind="json")
        for cycle in CYCLES:
            async with site(clock, streaming=streaming) as stage:
                if "LIST" in cycle:
                    stage.proxy.always(Phase.STREAM, REFUSAL)
                async with stage.following(server):
                    await stage.informer.wait_synced()  # the client still reads when all has left the proxy
                    assert await stage.until_equal(within=0.0) == 0.0
                    changed = await server.pods.patch(
                        "default/large", {"metadata": {"labels": {"by": cycle[-1]}}}
                    )
                    await stage.informer.wait_for(changed.metadata.resource_version)
                    assert await stage.until_equal(within=0.0) == 0.0
                    assert stage.asked == cycle
                    assert max(len(record.raw) for record in stage.informer.store) > 6_000_000
