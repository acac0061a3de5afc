"""How many connections there are, what each carries, and when it ends."""

import json
from asyncio import StreamWriter
from contextlib import AsyncExitStack
from typing import Any

import anyio
import httpx
import pytest

from kinformer.client import Client
from kinformer.errors import TransportError
from kinformer.meta import Resource
from kinformer.testing import FakeClock
from tests.responder import Asked
from tests.wire.stream_stage import END, HEAD, asking, at_rest, chunk, saying, serving, until, whole

pytestmark = pytest.mark.wire

PODS = Resource.builtin("Pod")


async def page(asked: Asked, writer: StreamWriter) -> None:
    """A list of two pages, then whatever is asked for."""
    items = [{"metadata": {"name": "a", "namespace": "b", "resourceVersion": "1"}}]
    metadata: dict[str, Any] = {"resourceVersion": "9"}
    if "continue" not in asked.path:
        metadata["continue"] = "more"
    writer.write(whole(json.dumps({"kind": "PodList", "metadata": metadata, "items": items}).encode()))


async def test_the_pages_of_a_list_and_what_is_read_next_come_over_one_connection() -> None:
    async with serving(page) as server, Client(server.url) as client:
        pods = client.resource(PODS)
        assert [len(each.items) async for each in pods.pages(limit=1)] == [1, 1]
        await pods.list()
        assert [len(visit) for visit in server.visits] == [4]


async def test_what_is_written_goes_over_httpx() -> None:
    async with serving(saying(whole(b"{}"))) as server, Client(server.url) as client:
        await client.request("GET", "/a")
        await client.request("POST", "/b", content=b"{}")
        await client.request("DELETE", "/c")
        await client.request("GET", "/d")
    assert server.visits == [["/a", "/d"], ["/b", "/c"]]


async def test_a_client_that_is_told_to_streams_over_httpx_too() -> None:
    async with serving(saying(whole(b"{}"))) as server, Client(server.url, streaming="httpx") as client:
        await client.request("GET", "/a")
        await client.request("POST", "/b", content=b"{}")
    assert server.visits == [["/a", "/b"]]


async def test_each_stream_has_a_connection_of_its_own_and_closes_it_when_it_is_left() -> None:
    async with serving(saying(HEAD + chunk(b"a"))) as server, asking() as client, AsyncExitStack() as stack:
        for number in range(3):
            response = await stack.enter_async_context(client.stream("GET", f"{server.url}/{number}"))
            assert await anext(aiter(response.stream)) == b"a"  # type: ignore[arg-type]  # an async client's
        assert server.closed == 0
        await stack.aclose()
        await until(lambda: server.closed == 3)
        assert server.visits == [["/0"], ["/1"], ["/2"]]


async def test_a_stream_that_was_read_to_its_end_leaves_its_connection_to_the_next() -> None:
    async with serving(saying(HEAD + chunk(b"a") + END)) as server, asking() as client:
        for path in ("/a", "/b"):
            assert (await client.get(server.url + path)).content == b"a"
    assert server.visits == [["/a", "/b"]]


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"a", "Connection: close"),
        whole(b"a") + b"surplus",
        whole(b"a") + whole(b"b"),
        b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na",
    ],
    ids=["close", "surplus", "two answers", "an old server"],
)
async def test_a_connection_that_cannot_be_relied_upon_is_closed_after_its_answer(answer: bytes) -> None:
    async with serving(saying(answer)) as server, asking() as client:
        for path in ("/a", "/b"):
            assert (await client.get(server.url + path)).content == b"a"
        await until(lambda: server.closed == 2)
    assert server.visits == [["/a"], ["/b"]]


async def test_what_comes_late_without_being_asked_for_is_not_taken_for_the_next_answer() -> None:
    released = anyio.Event()

    async def reply(asked: Asked, writer: StreamWriter) -> None:
        writer.write(whole(asked.path.encode()))
        if asked.path == "/a":
            await released.wait()
            writer.write(whole(b"poison"))

    async with serving(reply) as server, asking() as client:
        assert (await client.get(server.url + "/a")).text == "/a"
        released.set()
        await until(lambda: server.closed == 1)
        assert (await client.get(server.url + "/b")).text == "/b"


async def test_a_connection_that_the_server_closed_while_it_was_idle_costs_nobody_an_error() -> None:
    async def reply(asked: Asked, writer: StreamWriter) -> None:
        writer.write(whole(b"a"))
        await writer.drain()
        writer.transport.abort()  # and no header says so

    async with serving(reply) as server, asking() as client:
        assert (await client.get(server.url)).content == b"a"
        await until(lambda: server.closed == 1)
        await at_rest()
        assert (await client.get(server.url)).content == b"a"
        assert len(server.visits) == 2


async def hang_up_on_the_second(asked: Asked, writer: StreamWriter) -> None:
    """As a server does whose keep-alive timeout strikes while a request is on its way."""
    if asked.path == "/again":
        writer.transport.abort()
    else:
        writer.write(whole(b"a"))


async def test_a_request_that_crosses_with_the_end_of_its_connection_is_made_once_more() -> None:
    refusals = 1

    async def reply(asked: Asked, writer: StreamWriter) -> None:
        nonlocal refusals
        if asked.path == "/again" and refusals:
            refusals -= 1
            writer.transport.abort()
        else:
            writer.write(whole(b"a"))

    async with serving(reply) as server, asking() as client:
        await client.get(server.url)
        assert (await client.get(server.url + "/again")).content == b"a"
    assert server.visits == [["/", "/again"], ["/again"]]


async def test_it_is_made_once_more_and_not_for_ever() -> None:
    async with serving(hang_up_on_the_second) as server, asking() as client:
        await client.get(server.url)
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await client.get(server.url + "/again")
    assert server.visits == [["/", "/again"], ["/again"]]


async def test_where_that_was_in_vain_no_request_is_made_twice_for_a_minute() -> None:
    clock = FakeClock()
    async with serving(hang_up_on_the_second) as server, asking(clock=clock) as client:
        for requests in (3, 5, 7):
            await client.get(server.url)
            with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
                await client.get(server.url + "/again")
            assert sum(map(len, server.visits)) == requests
        await clock.advance(60.0)
        await client.get(server.url)
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await client.get(server.url + "/again")
        assert sum(map(len, server.visits)) == 10


async def test_on_a_new_connection_it_is_made_once() -> None:
    async with serving(hang_up_on_the_second) as server, asking() as client:
        with pytest.raises((httpx.ReadError, httpx.RemoteProtocolError)):
            await client.get(server.url + "/again")
    assert server.visits == [["/again"]]


@pytest.mark.parametrize("begun", [b"HTTP/1.1 2", b"HTTP/1.1 100 Continue\r\n\r\n", whole(b"abc")[:-1]])
async def test_what_has_begun_to_be_answered_is_not_asked_again(begun: bytes) -> None:
    async def reply(asked: Asked, writer: StreamWriter) -> None:
        if asked.path == "/again":
            writer.write(begun)
            writer.close()
        else:
            writer.write(whole(b"a"))

    async with serving(reply) as server, asking() as client:
        await client.get(server.url)
        with pytest.raises(httpx.RemoteProtocolError, match="in the middle"):
            await client.get(server.url + "/again")
    assert server.visits == [["/", "/again"]]


async def test_a_connection_is_not_kept_for_longer_than_servers_do() -> None:
    clock = FakeClock()
    async with serving(saying(whole(b"a"))) as server, asking(clock=clock) as client:
        await client.get(server.url)
        await clock.advance(59.0)
        await client.get(server.url)
        await clock.advance(60.0)
        await client.get(server.url)
        await until(lambda: server.closed == 1)
    assert [len(visit) for visit in server.visits] == [2, 1]


async def test_eight_connections_wait_for_more_and_no_ninth() -> None:
    gate = anyio.Event()

    async def reply(asked: Asked, writer: StreamWriter) -> None:
        await gate.wait()
        writer.write(whole(b"a"))

    async with serving(reply) as server, asking() as client:
        async with anyio.create_task_group() as tasks:
            for _ in range(12):
                tasks.start_soon(client.get, server.url)
            await until(lambda: sum(map(len, server.visits)) == 12)
            gate.set()
        await until(lambda: server.closed == 4)
        await at_rest()
        assert server.closed == 4


async def test_leaving_the_client_closes_all_connections_and_ends_what_is_read() -> None:
    raised: list[TransportError] = []

    async def follow(client: Client) -> None:
        with pytest.raises(TransportError, match="the client was closed") as caught:
            async with client.resource(PODS).watch() as batches:
                await anext(batches)
        raised.append(caught.value)

    async with serving(saying(HEAD + chunk(b"a"))) as server, anyio.create_task_group() as tasks:
        async with Client(server.url) as client:
            for _ in range(3):
                tasks.start_soon(follow, client)
            await until(lambda: len(server.visits) == 3)
            await at_rest()
        await until(lambda: len(raised) == server.closed == 3)
