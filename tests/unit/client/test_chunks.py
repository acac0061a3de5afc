from typing import Any

import anyio
import httpx
import pytest

from kinformer.client._calls import Call
from kinformer.client._chunks import Chunks
from kinformer.errors import TransportError
from kinformer.testing import FakeClock, settle

CALL = Call("GET", "/x")


def chunks_of(feed: Any, clock: FakeClock, until: float = 30.0) -> Chunks:
    return Chunks(CALL, httpx.Response(200, stream=feed), clock, until, None)


@pytest.fixture
def feed(script: Any) -> Any:
    return script.stream()


async def test_chunks_come_as_they_are_until_the_end(feed: Any) -> None:
    chunks = chunks_of(feed, FakeClock())
    feed.send(b"a", b"b", None)
    assert await anext(chunks) == b"a"
    assert not chunks.is_whole
    assert [chunk async for chunk in chunks] == [b"b"]
    assert bool(chunks.is_whole)


async def test_a_failure_is_told_once_and_remembered(feed: Any) -> None:
    chunks = chunks_of(feed, FakeClock())
    feed.send(httpx.ReadError("reset"))
    with pytest.raises(TransportError, match="GET /x: the connection was lost: reset"):
        await anext(chunks)
    with pytest.raises(TransportError, match="broke off earlier"):
        await anext(chunks)
    assert not chunks.is_whole


async def test_when_the_time_is_up_the_stream_is_over(feed: Any) -> None:
    clock = FakeClock()
    chunks = chunks_of(feed, clock)

    async def read() -> None:
        with pytest.raises(TransportError, match="has not ended the stream in its time"):
            await anext(chunks)
        assert clock.monotonic() == 30.0

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await clock.advance(40.0)
    assert clock.next_timer is None


async def test_a_cancelled_read_ends_the_stream(feed: Any) -> None:
    chunks = chunks_of(feed, FakeClock())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anext, chunks)
        await settle()
        tasks.cancel_scope.cancel()
    with pytest.raises(TransportError, match="a read was cancelled"):
        await anext(chunks)


@pytest.mark.parametrize(
    ("parts", "body", "is_whole"),
    [
        ([b"ab", b"c", None], b"abc", True),
        ([b"ab", b"cd", b"ef", None], b"abcd", False),
        ([b"ab", httpx.ReadError("reset")], b"ab", False),
    ],
)
async def test_some_of_a_body_is_what_can_be_had_of_it(
    parts: list[Any], body: bytes, is_whole: bool, feed: Any
) -> None:
    chunks = chunks_of(feed, FakeClock())
    feed.send(*parts)
    assert await chunks.some(4, 10.0) == body
    assert chunks.is_whole is is_whole


async def test_some_of_a_body_that_does_not_end_takes_no_longer_than_it_may(feed: Any) -> None:
    clock, found = FakeClock(), list[bytes]()
    chunks = chunks_of(feed, clock)
    feed.send(b"ab")

    async def read() -> None:
        found.append(await chunks.some(100, 10.0))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await clock.advance(10.0)
        await settle()
        assert found == [b"ab"]
