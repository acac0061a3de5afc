from random import Random
from typing import Any, Self

import anyio
import httpx
import pytest

from kinformer.client import Anonymous, Config, Credentials, RateLimit
from kinformer.client._calls import Call
from kinformer.client._http import Http
from kinformer.errors import (
    ClosedError,
    ConflictError,
    NotFoundError,
    RequestError,
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.hooks import NoHooks, RequestFinished
from kinformer.testing import FakeClock, settle

GET = Call("GET", "/api/v1/pods", {"limit": "5", "continue": ""})
POST = Call("POST", "/api/v1/pods", content=b"{}")


class Ear(NoHooks):
    def __init__(self) -> None:
        self.heard: list[RequestFinished] = []

    def request_finished(self, event: RequestFinished, /) -> None:
        self.heard.append(event)


class Opened:
    """An ``Http`` that is open while it is entered."""

    def __init__(
        self, script: Any, credentials: Credentials | None = None, *, rate_limit: RateLimit | None = None
    ) -> None:
        self.clock = FakeClock()
        self.ear = Ear()
        self.config = Config("http://server/base", credentials or Anonymous())
        self.http = Http(
            script, timeout=65.0, clock=self.clock, random=Random(1), hooks=self.ear, rate_limit=rate_limit
        )

    async def __aenter__(self) -> Self:
        await self.http.open(self.config)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.http.aclose()


async def outcome(call: Any) -> Any:
    try:
        return await call
    except (RequestError, RuntimeError) as error:
        return error


async def tried(opened: Opened, call: Call, seconds: float = 600.0) -> Any:
    """The outcome of a request, and the moment at which it came."""
    found: list[Any] = []

    async def ask() -> None:
        found.extend([await outcome(opened.http.request(call)), opened.clock.monotonic()])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await opened.clock.advance(seconds)
        tasks.cancel_scope.cancel()
    return found


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
        with pytest.raises(NotFoundError, match="no such pod"):
            await opened.http.request(GET)
        assert opened.ear.heard == [RequestFinished("GET", "/api/v1/pods", 404, 0.0, 1)]


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
    for _ in range(15):
        script.status(503, "ServiceUnavailable", details={"retryAfterSeconds": 1})
    async with Opened(script) as opened:
        error, moment = await tried(opened, GET)
        assert type(error) is ServerError
        assert len(script.requests) == 11
        assert 10.0 <= moment <= 11.0


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


async def test_a_server_that_says_nothing_is_given_up_on(script: Any) -> None:
    async with Opened(script) as opened:
        error, moment = await tried(opened, POST)
        assert isinstance(error, TransportError)
        assert "no answer within 65 s" in str(error)
        assert not error.refused
        assert moment == 65.0
        assert opened.ear.heard == [RequestFinished("POST", "/api/v1/pods", 0, 65.0, 1)]
    assert script.cancelled == 1


async def test_a_cancelled_request_leaves_nothing(script: Any) -> None:
    async with Opened(script) as opened:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opened.http.request, GET)
            await settle()
            tasks.cancel_scope.cancel()
        assert script.cancelled == 1
        assert opened.clock.next_timer is None


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

    async def authorization(self, *, rejected: str = "") -> str:
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
    from kinformer.client import Tls

    http = Http(None, timeout=1.0, clock=FakeClock(), random=Random(), hooks=NoHooks())
    await http.open(Config("https://server", tls=Tls(verify=False)))
    await http.aclose()
    assert "is not verified" in caplog.text
