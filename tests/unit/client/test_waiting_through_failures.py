"""How a wait survives what goes wrong meanwhile."""

from collections.abc import Callable
from functools import partial
from typing import Any

import httpx
import pytest

from kinformer.testing import settle
from tests.unit.client.waiting_stage import Waiting, event, page, pod


async def test_the_end_of_a_watch_is_survived_without_haste(script: Any) -> None:
    script.answer(page(pod(), version="5"))
    first, second = script.stream(), script.stream()
    waiting = Waiting(script)

    async def changes() -> None:
        bookmark = {"kind": "Pod", "metadata": {"resourceVersion": "9"}}
        first.send(event("MODIFIED", pod("6")), event("BOOKMARK", bookmark), None)
        await settle()
        assert len(script.requests) == 2
        await waiting.clock.advance(1.0)
        second.send(event("MODIFIED", pod("10", "True")))

    assert (await waiting.run("Ready", changes)).metadata.resource_version == "10"
    assert "resourceVersion=9" in script.asked[2]
    assert first.is_closed


async def test_a_forgotten_version_is_survived_by_a_new_list(script: Any) -> None:
    script.answer(page(pod(), version="5"))
    script.status(410, "Expired")
    script.answer(page(pod(), version="50"))
    feed = script.stream()
    script.answer(page(pod("70", "True"), version="70"))
    waiting = Waiting(script)

    async def changes() -> None:
        await waiting.clock.advance(1.0)
        feed.send(event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}))
        await waiting.clock.advance(2.0)

    assert (await waiting.run("Ready", changes)).metadata.resource_version == "70"
    assert len(script.requests) == 5


async def test_a_version_that_a_restored_server_has_not_reached_is_survived_by_a_new_list(
    script: Any,
) -> None:
    script.answer(page(pod(), version="5000"))
    script.status(504, "Timeout", message="Too large resource version: 5000, current: 70")
    script.answer(page(pod("70", "True"), version="70"))
    waiting = Waiting(script)
    assert (await waiting.run("Ready", partial(waiting.clock.advance, 2.0))).metadata.resource_version == "70"


async def test_an_outage_is_survived(script: Any) -> None:
    script.fail(httpx.ConnectError("refused"))
    script.answer(b"", 503, {"Retry-After": "5"})
    script.answer(page(pod(), version="5"))
    feed = script.stream()
    script.fail(httpx.ConnectError("refused"))
    last = script.stream()
    waiting = Waiting(script)

    async def changes() -> None:
        await waiting.clock.advance(1.0)
        assert len(script.requests) == 2
        await waiting.clock.advance(5.0)
        feed.send(httpx.ReadError("reset"))
        await waiting.clock.advance(4.0 + 8.0)
        last.send(event("MODIFIED", pod("6", "True")))

    assert (await waiting.run("Ready", changes)).metadata.resource_version == "6"


EXPIRED = {"kind": "Status", "apiVersion": "v1", "code": 410, "reason": "Expired"}


def refuse(script: Any) -> None:
    script.fail(httpx.ConnectError("refused"))


def fail(script: Any) -> None:
    script.status(500, "InternalError")


def throttle(script: Any) -> None:
    script.answer(b"", 429)


def babble(script: Any) -> None:
    script.answer(b"<html>")


def forget(script: Any) -> None:
    script.answer(page(pod()))
    script.answer(EXPIRED, 410)


def forget_in_the_stream(script: Any) -> None:
    script.answer(page(pod()))
    script.stream().send(event("ERROR", EXPIRED))


def hang_up(script: Any) -> None:
    script.stream().send(None)


def garble(script: Any) -> None:
    script.stream().send(b"garbage\n")


@pytest.mark.parametrize(
    "failure", [refuse, fail, throttle, babble, forget, forget_in_the_stream, hang_up, garble]
)
async def test_no_failure_makes_more_than_twelve_requests_in_a_minute(
    script: Any, failure: Callable[[Any], None]
) -> None:
    waiting = Waiting(script)
    if failure in {hang_up, garble}:
        script.answer(page(pod()))
    for _ in range(100):
        failure(script)

    async def time() -> None:
        await waiting.clock.advance(60.0)

    assert await waiting.run("Ready", time, timeout=600.0) == "still waiting"
    assert 5 <= len(script.requests) <= 12


async def test_a_watch_that_told_something_before_it_ended_is_opened_again_soon(script: Any) -> None:
    script.answer(page(pod(), version="1"))
    for number in range(2, 8):
        script.stream().send(event("MODIFIED", pod(str(number), "False")), None)
    script.stream().send(event("MODIFIED", pod("8", "True")))
    waiting = Waiting(script)

    async def time() -> None:
        await waiting.clock.advance(6.0)

    assert (await waiting.run("Ready", time)).metadata.resource_version == "8"
