"""What servers answer, good and bad, as a client sees it: an answer, or a ``TransportError`` that says what was wrong."""

import gzip
import json
from asyncio import StreamWriter
from pathlib import Path

import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client, Config, Tls
from kinformer.errors import ExpiredError, ServerError, TransportError
from kinformer.meta import Resource
from kinformer.testing import config_map
from tests.certificates import Authority
from tests.responder import Asked
from tests.wire.stream_stage import END, HEAD, Reply, chunk, saying, serving, until, whole

pytestmark = pytest.mark.wire

PODS = Resource.builtin("Pod")
CONFIG_MAPS = Resource.builtin("ConfigMap")
OK = b"HTTP/1.1 200 OK\r\n"
EVENT = b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"}}}\n'


def hanging_up_after(answer: bytes) -> Reply:
    async def reply(asked: Asked, writer: StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()
        writer.close()

    return reply


async def read(answer: bytes) -> bytes:
    """A body as ``Client.request`` gets it from a server that hangs up behind it."""
    async with serving(hanging_up_after(answer)) as server, Client(server.url) as client:
        return await client.request("GET", "/x")


async def watched(answer: bytes) -> list[str]:
    """The names in a watch, and how it ended."""
    seen: list[str] = []
    async with serving(hanging_up_after(answer)) as server, Client(server.url) as client:
        try:
            async with client.resource(PODS).watch() as batches:
                async for batch in batches:
                    seen += [event.obj.key.name for event in batch]
            seen.append("the end")
        except TransportError as error:
            seen.append(str(error))
    return seen


@pytest.mark.parametrize(
    "answer",
    [
        whole(b"abc"),
        OK + b"\r\nabc",
        b"HTTP/1.0 200 OK\r\n\r\nabc",
        HEAD + chunk(b"a") + chunk(b"bc") + END,
        HEAD + b"1;x=y\r\na\r\n" + b"2\r\nbc\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + whole(b"abc"),
        whole(gzip.compress(b"abc"), "Content-Encoding: gzip"),
        HEAD[:-2] + b"Content-Encoding: gzip\r\n\r\n" + chunk(gzip.compress(b"abc")) + END,
    ],
    ids=["length", "connection", "1.0", "chunks", "extensions", "interim", "gzip", "gzip in chunks"],
)
async def test_each_form_of_an_answer_gives_its_body(answer: bytes) -> None:
    assert await read(answer) == b"abc"


@pytest.mark.parametrize("answer", [b"HTTP/1.1 204 No Content\r\n\r\n", whole(b"")])
async def test_an_answer_may_have_no_body(answer: bytes) -> None:
    assert await read(answer) == b""


BROKEN = {
    "no answer": (b"", "without an answer"),
    "half a head": (OK + b"Content", "in the middle"),
    "half a body": (whole(b"abc")[:-1], "in the middle"),
    "half a chunk": (HEAD + chunk(EVENT) + b"50\r\n{", "in the middle"),
    "no last chunk": (HEAD + chunk(EVENT), "in the middle"),
    "garbage": (b"<html>\r\n\r\n", "Expected HTTP/"),
    "TLS": (b"\x15\x03\x03\x00\x02\x02\x16", "Expected HTTP/"),
    "garbage for a chunk": (HEAD + chunk(EVENT) + b"zz\r\n", "Invalid character in chunk size"),
    "a negative chunk": (HEAD + chunk(EVENT) + b"-1\r\n", "Invalid character in chunk size"),
    "a chunk too large to be": (HEAD + chunk(EVENT) + b"f" * 17 + b"\r\n", "Chunk size overflow"),
    "a chunk that is longer than it says": (
        HEAD + chunk(EVENT) + b"1\r\nab\r\n",
        "Expected LF after chunk data",
    ),
    "length and chunks": (
        OK + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
        "can't be present",
    ),
    "two lengths": (OK + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", "Duplicate Content-Length"),
    "a negative length": (OK + b"Content-Length: -3\r\n\r\n", "Invalid character in Content-Length"),
    "another protocol": (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "another protocol"),
    "many headers": (OK + b"A: b\r\n" * 300 + b"\r\n", "more than 256 headers"),
    "a long header": (OK + b"A: " + b"b" * 300_000, "more than 65536 bytes of headers"),
    "a long chunk extension": (
        HEAD + chunk(EVENT) + b"1;" + b"x" * 300_000,
        "more than 65536 bytes of headers",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_what_is_no_answer_is_a_lost_connection_that_says_why(name: str) -> None:
    answer, reason = BROKEN[name]
    async with serving(hanging_up_after(answer)) as server, Client(server.url) as client:
        with pytest.raises(TransportError, match=r"^GET .*: the connection was lost") as caught:
            await client.resource(PODS).without_retries().get("a/b")
    assert reason in str(caught.value)
    assert not caught.value.refused


@pytest.mark.parametrize("name", [name for name in BROKEN if BROKEN[name][0].startswith(HEAD)])
async def test_a_watch_gives_what_came_before_it_broke(name: str) -> None:
    answer, reason = BROKEN[name]
    name_of_event, end = await watched(answer)
    assert name_of_event == "a"
    assert "the connection was lost" in end
    assert reason in end


async def test_a_watch_that_ends_as_it_should_just_ends() -> None:
    assert await watched(HEAD + chunk(EVENT + EVENT) + END) == ["a", "a", "the end"]
    assert await watched(OK + b"\r\n" + EVENT) == ["a", "the end"]


async def test_a_watch_that_is_packed_against_our_wish_is_unpacked() -> None:
    packed = gzip.compress(EVENT * 100)
    head = HEAD[:-2] + b"Content-Encoding: gzip\r\n\r\n"
    assert await watched(head + chunk(packed[:50]) + chunk(packed[50:]) + END) == ["a"] * 100 + ["the end"]


async def test_a_refusal_is_told_as_such() -> None:
    gone = json.dumps({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}).encode()
    async with serving(saying(whole(gone, code=410))) as server, Client(server.url) as client:
        for _ in range(2):
            with pytest.raises(ExpiredError, match="too old"):
                async with client.resource(PODS).watch(version="1"):
                    pass
        assert len(server.visits) == 1, "a refusal that was read to its end leaves the connection as it was"


async def test_a_refusal_of_which_nobody_reads_the_end_closes_its_connection() -> None:
    answer = HEAD.replace(b"200", b"500") + chunk(b"no" * 1_000_000)
    async with serving(saying(answer)) as server, Client(server.url) as client:
        with pytest.raises(ServerError):
            async with client.resource(PODS).watch():
                pass
        await until(lambda: server.closed == 1)


async def test_a_real_server_is_listed_in_pages_and_watched() -> None:
    async with ApiServer() as server, server.serve() as endpoint, Client(endpoint.url) as client:
        maps = client.resource(CONFIG_MAPS)
        for number in range(7):
            await maps.create(config_map(f"c{number}", namespace="default"))
        pages = [page async for page in maps.pages(namespace="default", limit=2)]
        assert [len(page.items) for page in pages] == [2, 2, 2, 1]
        async with maps.watch(namespace="default", version=pages[-1].version) as batches:
            await maps.create(config_map("late", namespace="default"))
            (event,) = await anext(batches)
            assert event.obj.key.name == "late"


async def test_a_server_is_watched_over_tls_under_another_name(tmp_path: Path) -> None:
    authority = Authority()
    context = authority.server(tmp_path, "kubernetes")
    async with serving(saying(HEAD + chunk(EVENT) + END), context) as server:
        tls = Tls(ca_data=authority.pem, server_name="kubernetes")
        async with Client(Config(server.url, tls=tls)) as client, client.resource(PODS).watch() as batches:
            assert len(await anext(batches)) == 1
        for wrong in (Tls(ca_data=authority.pem), Tls(ca_data=Authority().pem, server_name="kubernetes")):
            async with Client(Config(server.url, tls=wrong)) as client:
                with pytest.raises(TransportError, match="certificate") as caught:
                    await client.resource(PODS).without_retries().list()
                assert caught.value.refused
