"""How requests are tried again, and take their turns."""

from typing import Any

import anyio
import httpx
import pytest

from kinformer.client import RateLimit
from kinformer.errors import (
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.testing import settle
from tests.unit.client.http_stage import GET, POST, Opened, tried


async def test_a_throttled_request_comes_back_when_it_was_told_to(script: Any) -> None:
    for _ in range(2):
        script.answer(b"later", 429, {"Retry-After": "3"})
    script.answer(b"done")
    async with Opened(script) as opened:
        body, moment = await tried(opened, POST)
        assert body == b"done"
        assert 6.0 <= moment <= 6.6
        assert [(event.code, event.attempt) for event in opened.ear.heard] == [(429, 1), (429, 2), (200, 3)]


async def test_retries_come_to_an_end_with_the_last_error(script: Any) -> None:
    for _ in range(30):
        script.status(503, "ServiceUnavailable", details={"retryAfterSeconds": 1})
    async with Opened(script) as opened:
        error, moment = await tried(opened, GET)
        assert type(error) is ServerError
        assert 15 <= len(script.requests) <= 20
        assert 50.0 <= moment <= 60.0


async def test_retries_come_to_an_end_after_a_minute(script: Any) -> None:
    for _ in range(9):
        script.answer(b"later", 429, {"Retry-After": "20"})
    async with Opened(script) as opened:
        error, moment = await tried(opened, GET)
        assert isinstance(error, ThrottledError)
        assert len(script.requests) == 3
        assert 40.0 <= moment <= 44.0


async def test_a_server_that_says_nothing_for_a_minute_is_not_asked_again(script: Any) -> None:
    async with Opened(script) as opened:
        error, moment = await tried(opened, GET)
        assert isinstance(error, TransportError)
        assert (len(script.requests), moment) == (1, 65.0)


@pytest.mark.parametrize(
    ("failure", "refused", "get", "post"),
    [
        (httpx.ConnectError("refused"), True, 5, 5),
        (httpx.ConnectTimeout("slow"), True, 5, 5),
        (httpx.ReadError("reset"), False, 5, 1),
        (httpx.RemoteProtocolError("cut"), False, 5, 1),
        (httpx.ReadTimeout("slow"), False, 5, 1),
    ],
)
async def test_lost_connections_are_repeated_where_that_is_safe(
    script: Any, failure: httpx.HTTPError, refused: bool, get: int, post: int
) -> None:
    for call, count in ((GET, get), (POST, post)):
        script.requests.clear()
        for _ in range(count):
            script.fail(failure)
        async with Opened(script) as opened:
            error, _ = await tried(opened, call)
        assert isinstance(error, TransportError)
        assert error.__cause__ is failure
        assert error.refused is refused
        assert str(error).startswith(str(call))
        assert len(script.requests) == count


async def test_without_retries_there_is_one_try(script: Any) -> None:
    script.fail(httpx.ConnectError("refused"))
    script.answer(b"", 429, {"Retry-After": "1"})
    async with Opened(script) as opened:
        with pytest.raises(TransportError):
            await opened.http.request(GET, retries=False)
        with pytest.raises(ThrottledError):
            await opened.http.request(GET, retries=False)


async def test_each_try_takes_its_turn_after_its_wait(script: Any) -> None:
    for _ in range(2):
        script.answer(b"later", 429, {"Retry-After": "1"})
    script.answer(b"done")
    async with Opened(script, rate_limit=RateLimit(0.1, 1)) as opened:
        body, moment = await tried(opened, POST)
        assert (body, moment) == (b"done", 20.0)
        assert [event.duration for event in opened.ear.heard] == [0.0, 0.0, 0.0]


async def test_what_is_not_tried_again_takes_its_turn_too(script: Any) -> None:
    script.answer(b"one")
    script.answer(b"two")
    async with Opened(script, rate_limit=RateLimit(0.1, 1)) as opened:
        await opened.http.request(GET, retries=False)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: opened.http.request(GET, retries=False))
            await opened.clock.advance(9.9)
            assert len(script.requests) == 1
            await opened.clock.advance(0.1)
        assert len(script.requests) == 2


async def test_a_watch_takes_no_turn(script: Any) -> None:
    async with Opened(script, rate_limit=RateLimit(0.1, 1)) as opened:
        for _ in range(3):
            feed = script.stream()
            async with opened.http.stream(GET, within=60.0):
                pass
            assert feed.is_closed
        script.answer(b"done")
        assert await opened.http.request(GET) == b"done"
        assert opened.clock.monotonic() == 0.0


async def test_time_in_line_is_neither_the_servers_nor_that_of_the_retries(
    script: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG", "kinformer.client")
    script.answer(b"first")
    script.fail(httpx.ReadError("reset"))
    script.answer(b"done")
    async with Opened(script, rate_limit=RateLimit(0.01, 1)) as opened:
        await opened.http.request(GET)
        body, moment = await tried(opened, GET)
        assert (body, moment) == (b"done", 200.0)
    assert "waited 100.0 s for a turn" in caplog.text


async def test_waiting_for_a_turn_can_be_cancelled(script: Any) -> None:
    script.answer(b"first")
    script.answer(b"second")
    async with Opened(script, rate_limit=RateLimit(0.1, 1)) as opened:
        await opened.http.request(GET)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opened.http.request, GET)
            await settle()
            tasks.cancel_scope.cancel()
        assert opened.clock.next_timer is None
        assert len(script.requests) == 1
        await opened.clock.advance(10.0)
        assert await opened.http.request(GET) == b"second"


async def test_a_wait_before_a_retry_can_be_cancelled(script: Any) -> None:
    script.answer(b"", 429, {"Retry-After": "3"})
    async with Opened(script) as opened:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opened.http.request, GET)
            await settle()
            assert opened.clock.next_timer is not None
            tasks.cancel_scope.cancel()
        assert opened.clock.next_timer is None
        assert len(script.requests) == 1
