import contextlib
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio
import httpx
import pytest

from kinformer.testing import AppTransport, FakeClock, settle

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

START = {"type": "http.response.start", "status": 200, "headers": [(b"x-test", b"1")]}


def chunk(body: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


class Ticker:
    """An application that sends a line whenever it is told to, and notes how it ended."""

    def __init__(self, *, listens: bool = True) -> None:
        self.listens = listens
        self.lines: list[bytes] = []
        self.sent = 0
        self.ends: list[str] = []
        self._wake = anyio.Event()

    def tick(self, line: bytes) -> None:
        self.lines.append(line)
        self._wake.set()
        self._wake = anyio.Event()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            await receive()
            await send(START)
            async with anyio.create_task_group() as tasks:
                if self.listens:
                    tasks.start_soon(self._listen, receive, tasks.cancel_scope)
                for number in range(1_000_000):
                    while len(self.lines) <= number:
                        await self._wake.wait()
                    await send(chunk(self.lines[number]))
                    self.sent += 1
        except anyio.get_cancelled_exc_class():
            self.ends.append("cancelled")
            raise
        self.ends.append("returned")

    async def _listen(self, receive: Receive, scope: anyio.CancelScope) -> None:
        message = await receive()
        self.ends.append(message["type"])
        scope.cancel()


def client_of(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=AppTransport(app), base_url="http://test")


async def echo(scope: Message, receive: Receive, send: Send) -> None:
    message = await receive()
    await send(START)
    facts = [scope["method"], scope["path"], scope["raw_path"].decode(), scope["query_string"].decode()]
    await send(chunk("|".join(facts).encode() + b"|"))
    await send(chunk(bytes(message["body"]), more=False))


async def test_a_request_reaches_the_application_and_its_answer_comes_back() -> None:
    async with client_of(echo) as client:
        response = await client.post("/a%2Fb/c?x=1&y=%20", content=b"body")
    assert response.status_code == 200
    assert response.headers["x-test"] == "1"
    assert response.text == "POST|/a/b/c|/a%2Fb/c|x=1&y=%20|body"


async def test_a_streamed_request_body_arrives_whole() -> None:
    async def parts() -> Any:
        yield b"one "
        yield b"two"

    async with client_of(echo) as client:
        response = await client.post("/", content=parts())
    assert response.text.endswith("|one two")


async def test_head_gives_no_body() -> None:
    async with client_of(echo) as client:
        response = await client.head("/")
    assert response.status_code == 200
    assert response.content == b""


async def test_lines_arrive_while_the_application_runs() -> None:
    app = Ticker()
    async with client_of(app) as client, client.stream("GET", "/") as response:
        lines = response.aiter_lines()
        app.tick(b"one\n")
        assert await anext(lines) == "one"
        app.tick(b"two\n")
        assert await anext(lines) == "two"
        assert app.ends == []


@pytest.mark.parametrize(
    ("listens", "ends"),
    [(True, ["http.disconnect", "returned"]), (False, ["cancelled"])],
    ids=["listening", "deaf"],
)
async def test_closing_a_response_ends_the_application_before_it_returns(
    listens: bool, ends: list[str]
) -> None:
    app = Ticker(listens=listens)
    async with client_of(app) as client:
        async with client.stream("GET", "/"):
            assert app.ends == []
        assert app.ends == ends


async def test_leaving_the_transport_ends_every_application() -> None:
    app = Ticker()
    client = client_of(app)
    async with client:
        first = await client.send(client.build_request("GET", "/"), stream=True)
        second = await client.send(client.build_request("GET", "/"), stream=True)
    assert app.ends.count("returned") == 2
    with pytest.raises(httpx.RemoteProtocolError, match="broke off"):
        await first.aread()
    await second.aclose()


async def test_the_application_outlives_a_cancel_scope_around_the_request() -> None:
    app = Ticker()
    async with client_of(app) as client:
        with anyio.CancelScope() as scope:
            response = await client.send(client.build_request("GET", "/"), stream=True)
            scope.cancel()
        app.tick(b"still here\n")
        assert await anext(response.aiter_raw()) == b"still here\n"
        assert app.ends == []
        await response.aclose()
    assert app.ends == ["http.disconnect", "returned"]


async def test_cancelling_a_request_before_the_head_ends_the_application() -> None:
    ends: list[str] = []

    async def mute(scope: Message, receive: Receive, send: Send) -> None:
        try:
            await anyio.Event().wait()
        finally:
            ends.append("gone")

    async with client_of(mute) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.get, "/")
            await settle()
            tasks.cancel_scope.cancel()
        assert ends == ["gone"]


async def test_cancelling_a_reader_ends_the_application() -> None:
    app = Ticker()
    async with client_of(app) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.get, "/")
            await settle()
            tasks.cancel_scope.cancel()
        assert app.ends == ["http.disconnect", "returned"]


async def test_send_waits_for_a_slow_reader() -> None:
    app = Ticker()
    async with client_of(app) as client, client.stream("GET", "/") as response:
        for _ in range(100):
            app.tick(b"x" * 16_384)
        await settle()
        assert app.sent == 4
        chunks = response.aiter_raw()
        await anext(chunks)
        await settle()
        assert app.sent == 5


async def test_closing_a_response_wakes_a_send_that_waits() -> None:
    app = Ticker(listens=False)
    async with client_of(app) as client:
        async with client.stream("GET", "/"):
            for _ in range(100):
                app.tick(b"x" * 16_384)
            await settle()
        assert app.ends == ["cancelled"]


async def test_an_application_that_fails_before_the_head_gives_an_error_with_its_cause() -> None:
    async def broken(scope: Message, receive: Receive, send: Send) -> None:
        raise ValueError("no")

    async with client_of(broken) as client:
        with pytest.raises(httpx.RemoteProtocolError, match=r"without a response: ValueError") as caught:
            await client.get("/")
    assert isinstance(caught.value.__cause__, ValueError)


async def test_an_application_that_returns_without_an_answer_gives_an_error() -> None:
    async def silent(scope: Message, receive: Receive, send: Send) -> None:
        return

    async with client_of(silent) as client:
        with pytest.raises(httpx.RemoteProtocolError, match="ended without a response"):
            await client.get("/")


@pytest.mark.parametrize("fails", [True, False], ids=["fails", "returns"])
async def test_an_answer_that_breaks_off_gives_what_it_had_and_then_an_error(fails: bool) -> None:
    async def half(scope: Message, receive: Receive, send: Send) -> None:
        await send(START)
        await send(chunk(b"half"))
        if fails:
            raise ValueError("no")

    async with client_of(half) as client, client.stream("GET", "/") as response:
        chunks = response.aiter_raw()
        assert await anext(chunks) == b"half"
        with pytest.raises(httpx.RemoteProtocolError, match="broke off"):
            await anext(chunks)


@pytest.mark.parametrize(
    "messages",
    [[chunk(b"x")], [START, START], [START, chunk(b"", more=False), chunk(b"")]],
    ids=["early", "twice", "late"],
)
async def test_messages_out_of_order_are_refused(messages: list[Message]) -> None:
    refusals: list[str] = []

    async def confused(scope: Message, receive: Receive, send: Send) -> None:
        for message in messages:
            try:
                await send(message)
            except RuntimeError as refusal:
                refusals.append(str(refusal))
                raise

    async with client_of(confused) as client:
        with contextlib.suppress(httpx.RemoteProtocolError):
            await client.get("/")
    assert len(refusals) == 1


async def test_a_transport_that_is_not_open_says_what_to_do() -> None:
    transport = AppTransport(echo)
    with pytest.raises(RuntimeError, match="async with"):
        await transport.handle_async_request(httpx.Request("GET", "http://test/"))
    async with transport:
        with pytest.raises(RuntimeError, match="open already"):
            await transport.__aenter__()


async def test_an_application_that_waits_on_a_fake_clock_answers_when_the_time_comes() -> None:
    clock = FakeClock()

    async def late(scope: Message, receive: Receive, send: Send) -> None:
        await clock.sleep(600)
        await send(START)
        await send(chunk(b"late", more=False))

    answers: list[str] = []

    async def ask(client: httpx.AsyncClient) -> None:
        answers.append((await client.get("/")).text)

    async with client_of(late) as client, anyio.create_task_group() as tasks:
        tasks.start_soon(ask, client)
        await clock.advance(599)
        assert answers == []
        await clock.advance(1)
        await settle()
        assert answers == ["late"]


async def test_an_error_inside_of_the_block_leaves_it_as_it_is() -> None:
    app = Ticker()
    with pytest.raises(LookupError, match="mine"):  # noqa: PT012 -- it is the block that fails
        async with client_of(app) as client:
            await client.send(client.build_request("GET", "/"), stream=True)
            raise LookupError("mine")
    assert app.ends == ["http.disconnect", "returned"]


async def test_after_a_disconnect_sending_is_harmless() -> None:
    ends: list[str] = []

    async def stubborn(scope: Message, receive: Receive, send: Send) -> None:
        await receive()
        await send(START)
        await receive()
        await send(chunk(b"too late", more=False))
        ends.append("returned")

    async with client_of(stubborn) as client:
        async with client.stream("GET", "/"):
            pass
        assert ends == ["returned"]
