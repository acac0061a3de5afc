"""What ``Http`` does with the body of an answer: who takes it, what closes it, and what is left to the connection."""

from typing import Any

import anyio
import httpx
import pytest

from kinformer.errors import ConflictError, TransportError
from kinformer.testing import settle
from tests.unit.client.http_stage import GET, Opened, outcome, tried


class Taker:
    """A receiver that writes down what it gets."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []

    def feed(self, chunk: bytes, /) -> None:
        if chunk == b"bad":
            raise ZeroDivisionError
        self.chunks.append(chunk)

    def finish(self) -> list[bytes]:
        return self.chunks


class Line:
    """A connection, as a transport shows it."""

    def __init__(self) -> None:
        self.is_closed = False

    def get_extra_info(self, info: str) -> None:
        return None

    async def aclose(self) -> None:
        self.is_closed = True


async def test_a_receiver_gets_the_body_while_it_arrives(script: Any) -> None:
    feed, taker = script.stream(), Taker()
    async with Opened(script) as opened, anyio.create_task_group() as tasks:
        tasks.start_soon(opened.http.receive, GET, lambda: taker)
        feed.send(b"a")
        await settle()
        assert taker.chunks == [b"a"]
        feed.send(b"b", None)
    assert taker.chunks == [b"a", b"b"]
    assert feed.is_closed


async def test_each_try_has_a_receiver_of_its_own(script: Any) -> None:
    for end in (httpx.ReadError("reset"), None):
        script.stream().send(b"a", b"b", end)
    made: list[Taker] = []

    def make() -> Taker:
        made.append(Taker())
        return made[-1]

    async with Opened(script) as opened:
        found: list[Any] = []

        async def ask() -> None:
            found.append(await opened.http.receive(GET, make))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await opened.clock.advance(60.0)
    assert found == [[b"a", b"b"]]
    assert [taker.chunks for taker in made] == [[b"a", b"b"], [b"a", b"b"]]


async def test_a_refusal_is_not_for_the_receiver(script: Any) -> None:
    script.status(409, "Conflict", message="no")
    taker = Taker()
    async with Opened(script) as opened:
        with pytest.raises(ConflictError, match="no"):
            await opened.http.receive(GET, lambda: taker)
    assert taker.chunks == []


async def test_a_receiver_that_fails_closes_the_answer(script: Any) -> None:
    feed = script.stream()
    feed.send(b"bad")
    async with Opened(script) as opened:
        with pytest.raises(ZeroDivisionError):
            await opened.http.receive(GET, Taker)
        assert feed.is_closed
        assert [event.code for event in opened.ear.heard] == [0]


async def test_an_answer_that_does_not_end_is_given_up_and_closed(script: Any) -> None:
    feed = script.stream()
    feed.send(b"a")
    async with Opened(script) as opened:
        error, moment = await tried(opened, GET, 70.0)
        assert isinstance(error, TransportError)
        assert "no answer within 65 s" in str(error)
        assert moment == 65.0
        assert feed.is_closed


@pytest.mark.parametrize(("end", "is_kept"), [(None, True), (httpx.ReadError("reset"), False)])
async def test_only_an_answer_that_was_read_to_its_end_leaves_its_connection_as_it_was(
    script: Any, end: Exception | None, is_kept: bool
) -> None:
    line = Line()
    script.stream(extensions={"network_stream": line}).send(b"a", end)
    async with Opened(script) as opened:
        await outcome(opened.http.request(GET, retries=False))
    assert line.is_closed is not is_kept


@pytest.mark.parametrize(("code", "reads_all"), [(200, True), (200, False), (409, True)])
async def test_only_a_stream_that_was_read_to_its_end_leaves_its_connection_as_it_was(
    script: Any, code: int, reads_all: bool
) -> None:
    line = Line()
    script.stream(code, extensions={"network_stream": line}).send(b"a", None)

    async def read(opened: Opened) -> None:
        async with opened.http.stream(GET, within=30.0) as chunks:
            async for _ in chunks:
                if not reads_all:
                    break

    async with Opened(script) as opened:
        await outcome(read(opened))
    assert line.is_closed is not reads_all


async def test_a_connection_that_others_share_is_left_alone(script: Any) -> None:
    line = Line()
    script.stream(extensions={"network_stream": line, "http_version": b"HTTP/2"}).send(b"a")
    async with Opened(script) as opened, opened.http.stream(GET, within=30.0) as chunks:
        await anext(chunks)
    assert not line.is_closed
