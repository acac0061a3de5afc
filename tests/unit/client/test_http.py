from random import Random
from typing import Any

import anyio
import httpx
import pytest

from kinformer.client import Config, Tls
from kinformer.client._calls import Call
from kinformer.client._http import Http
from kinformer.errors import (
    ClosedError,
    ConflictError,
    NotFoundError,
    TransportError,
)
from kinformer.hooks import NoHooks, RequestFinished
from kinformer.testing import FakeClock, settle
from tests.unit.client.http_stage import GET, POST, Opened, outcome, tried


async def test_a_request_says_who_asks_for_what(script: Any) -> None:
    script.answer(b"hello")
    async with Opened(script) as opened:
        assert await opened.http.request(GET) == b"hello"
    (request,) = script.requests
    assert str(request.url) == "http://server/base/api/v1/pods?limit=5"
    assert request.headers["accept"] == "application/json"
    assert request.headers["user-agent"].startswith("kinformer/")
    assert "content-type" not in request.headers
    assert "authorization" not in request.headers


async def test_a_name_that_needs_quoting_is_quoted(script: Any) -> None:
    script.answer()
    async with Opened(script) as opened:
        await opened.http.request(Call("GET", "/roles/system:a b?c#d"))
    assert script.requests[0].url.raw_path == b"/base/roles/system:a%20b%3Fc%23d"


async def test_the_transport_lives_as_long_as_the_connection(script: Any) -> None:
    async with Opened(script):
        assert script.is_entered
        assert not script.is_closed
    assert script.is_closed


async def test_before_and_after_it_is_a_mistake_to_ask(script: Any) -> None:
    opened = Opened(script)
    with pytest.raises(RuntimeError, match="async with Client"):
        await opened.http.request(GET)
    async with opened:
        pass
    with pytest.raises(ClosedError, match="closed: make a new one"):
        await opened.http.request(GET)
    with pytest.raises(ClosedError):
        async with opened.http.stream(GET, within=1.0):
            pass


async def test_a_refusal_is_an_error_at_once(script: Any) -> None:
    script.status(404, "NotFound", message="no such pod")
    async with Opened(script) as opened:
        with pytest.raises(
            NotFoundError, match=r"^GET /api/v1/pods: no such pod \(404 NotFound\)$"
        ) as caught:
            await opened.http.request(GET)
        assert (caught.value.call, caught.value.message) == ("GET /api/v1/pods", "no such pod")
        assert opened.ear.heard == [RequestFinished("GET", "/api/v1/pods", 404, 0.0, 1, "server")]


async def test_a_server_that_says_nothing_is_given_up_on(script: Any) -> None:
    async with Opened(script) as opened:
        error, moment = await tried(opened, POST)
        assert isinstance(error, TransportError)
        assert "no answer within 65 s" in str(error)
        assert not error.refused
        assert moment == 65.0
        assert opened.ear.heard == [RequestFinished("POST", "/api/v1/pods", 0, 65.0, 1, "server")]
    assert script.cancelled == 1


async def test_a_cancelled_request_leaves_nothing(script: Any) -> None:
    async with Opened(script) as opened:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opened.http.request, GET)
            await settle()
            tasks.cancel_scope.cancel()
        assert script.cancelled == 1
        assert opened.clock.next_timer is None


async def test_warnings_reach_the_log(script: Any, caplog: pytest.LogCaptureFixture) -> None:
    script.answer(b"", 200, [("Warning", '299 - "old"'), ("Warning", '299 - "older"')])
    script.stream(headers={"Warning": '299 - "stream"'})
    async with Opened(script) as opened:
        await opened.http.request(GET)
        async with opened.http.stream(GET, within=1.0):
            pass
    messages = [record.getMessage() for record in caplog.records]
    assert [message.rpartition(": ")[2] for message in messages] == ["old", "older", "stream"]


class Changing:
    """Credentials that know two tokens."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)

    async def authorization(self, *, rejected: str | None = None) -> str:
        if rejected == self.tokens[0] and len(self.tokens) > 1:
            self.tokens.pop(0)
        return self.tokens[0]


async def test_refused_credentials_are_renewed_once(script: Any) -> None:
    script.answer(b"", 401)
    script.answer(b"hello")
    async with Opened(script, Changing("Bearer old", "Bearer new")) as opened:
        assert await opened.http.request(GET) == b"hello"
    assert script.authorizations == ["Bearer old", "Bearer new"]


async def test_credentials_that_stay_refused_are_an_error(script: Any) -> None:
    script.status(401, "Unauthorized")
    async with Opened(script, Changing("Bearer old")) as opened:
        error = await outcome(opened.http.request(GET))
    assert error.code == 401
    assert len(script.requests) == 1


class Slow:
    """Credentials that are had when a test says so."""

    def __init__(self) -> None:
        self.door = anyio.Event()

    async def authorization(self, *, rejected: str | None = None) -> str:  # noqa: ARG002 -- the protocol's
        await self.door.wait()
        return "Bearer t"


@pytest.mark.parametrize("call", [GET, POST], ids=["a read", "a write"])
async def test_a_request_whose_credentials_come_after_the_end_is_not_made(script: Any, call: Call) -> None:
    credentials, found = Slow(), []

    async def request() -> None:
        found.append(await outcome(opened.http.request(call)))

    async with anyio.create_task_group() as tasks:
        async with Opened(script, credentials) as opened:
            tasks.start_soon(request)
            await settle()
        credentials.door.set()
    assert isinstance(found[0], ClosedError)
    assert script.requests == []


async def test_a_cookie_is_not_taken(script: Any) -> None:
    script.answer(b"one", headers={"Set-Cookie": "a=b; Path=/"})
    script.answer(b"two")
    async with Opened(script) as opened:
        await opened.http.request(GET)
        assert await opened.http.request(GET) == b"two"
    assert "cookie" not in script.requests[1].headers


async def test_a_stream_gives_chunks_as_they_come(script: Any) -> None:
    feed = script.stream()
    async with Opened(script) as opened:
        async with opened.http.stream(GET, within=30.0) as chunks:
            feed.send(b"a", b"bc")
            assert [await anext(chunks), await anext(chunks)] == [b"a", b"bc"]
            feed.send(b"d", None)
            assert [chunk async for chunk in chunks] == [b"d"]
            assert opened.ear.heard == []
        assert feed.is_closed
        assert [event.code for event in opened.ear.heard] == [200]
        assert opened.clock.next_timer is None
    assert script.requests[0].headers["accept-encoding"] == "identity"


async def test_a_stream_that_breaks_off_raises_from_the_iteration(script: Any) -> None:
    feed = script.stream()
    feed.send(b"a", httpx.ReadError("reset"))
    async with Opened(script) as opened:
        async with opened.http.stream(GET, within=30.0) as chunks:
            assert await anext(chunks) == b"a"
            with pytest.raises(TransportError, match="connection was lost: reset"):
                await anext(chunks)
        assert feed.is_closed


async def test_a_stream_of_which_a_read_was_cancelled_has_not_ended(script: Any) -> None:
    feed = script.stream()
    async with Opened(script) as opened, opened.http.stream(GET, within=60.0) as chunks:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await anext(chunks)
        feed.send(b"more", None)
        with pytest.raises(TransportError, match="a read was cancelled"):
            await anext(chunks)


async def test_a_stream_that_ended_stays_so(script: Any) -> None:
    script.stream().send(None)
    async with Opened(script) as opened, opened.http.stream(GET, within=60.0) as chunks:
        assert [chunk async for chunk in chunks] == [chunk async for chunk in chunks] == []


@pytest.mark.parametrize("code", [201, 302, 410, 500])
async def test_a_stream_that_is_refused_raises_from_entering(script: Any, code: int) -> None:
    feed = script.stream(code)
    feed.send(b"no", None)
    async with Opened(script) as opened:
        error = await outcome(opened.http.stream(GET, within=30.0).__aenter__())
        assert (error.code, error.message) == (code, "no")
        assert feed.is_closed


async def test_a_refusal_that_never_ends_is_cut_short(script: Any) -> None:
    feed = script.stream(409)
    feed.send(b"no")
    async with Opened(script) as opened:
        async with anyio.create_task_group() as tasks:
            found: list[Any] = []

            async def ask() -> None:
                found.append(await outcome(opened.http.stream(GET, within=30.0).__aenter__()))

            tasks.start_soon(ask)
            await opened.clock.advance(65.0)
            await settle()
        assert isinstance(found[0], ConflictError)
        assert found[0].call == str(GET)
        assert feed.is_closed


@pytest.mark.parametrize("failure", [httpx.ConnectError("refused"), None], ids=["refused", "silent"])
async def test_a_stream_that_cannot_be_opened_is_tried_once(
    script: Any, failure: httpx.HTTPError | None
) -> None:
    if failure:
        script.fail(failure)
    async with Opened(script) as opened:
        found: list[Any] = []

        async def ask() -> None:
            found.append(await outcome(opened.http.stream(GET, within=30.0).__aenter__()))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await opened.clock.advance(65.0)
            await settle()
        assert isinstance(found[0], TransportError)
        assert found[0].refused is bool(failure)
        assert [event.code for event in opened.ear.heard] == [0]
    assert len(script.requests) == 1


async def test_a_stream_that_the_server_forgets_ends_on_our_clock(script: Any) -> None:
    feed = script.stream()
    async with Opened(script) as opened:
        found: list[Any] = []

        async def ask() -> None:
            async with opened.http.stream(GET, within=30.0) as chunks:
                assert await anext(chunks) == b"a"
                found.append(await outcome(anext(chunks)))
                found.append(opened.clock.monotonic())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await opened.clock.advance(20.0)
            feed.send(b"a")
            await opened.clock.advance(20.0)
        assert isinstance(found[0], TransportError)
        assert found[1] == 30.0
        assert feed.is_closed


@pytest.mark.parametrize("moment", ["opening", "reading"])
async def test_a_cancelled_stream_is_closed(script: Any, moment: str) -> None:
    feed = script.stream() if moment == "reading" else None
    async with Opened(script) as opened:

        async def read() -> None:
            async with opened.http.stream(GET, within=30.0) as chunks:
                async for _ in chunks:
                    pass

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await settle()
            tasks.cancel_scope.cancel()
        assert feed.is_closed if feed else script.cancelled == 1
        assert opened.clock.next_timer is None
        assert len(opened.ear.heard) == 1


async def test_a_reader_that_fails_closes_the_stream(script: Any) -> None:
    feed = script.stream()
    async with Opened(script) as opened:
        with pytest.raises(ZeroDivisionError):
            async with opened.http.stream(GET, within=30.0):
                raise ZeroDivisionError
        assert feed.is_closed


async def test_an_unverified_server_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:

    http = Http(None, timeout=1.0, clock=FakeClock(), random=Random(), hooks=NoHooks())
    await http.open(Config("https://server", tls=Tls(verify=False)))
    await http.aclose()
    assert "is not verified" in caplog.text
