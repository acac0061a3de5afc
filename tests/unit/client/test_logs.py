"""Logs, of a scripted server, and of an application that writes while it is read."""

from collections.abc import MutableMapping
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs

import anyio
import httpx
import pytest

from kinformer.client import Client, RateLimit
from kinformer.client._logs import log_call
from kinformer.errors import BadRequestError, NotFoundError, TransportError
from kinformer.testing import AppTransport, FakeClock, settle

PATH = "/api/v1/namespaces/default/pods/web/log"
NOTHING: dict[str, Any] = {
    "container": "",
    "follow": False,
    "previous": False,
    "since_seconds": 0,
    "since_time": None,
    "tail_lines": None,
    "limit_bytes": 0,
    "timestamps": False,
}


def client(script: Any, **options: Any) -> Client:
    return Client("http://server", transport=script, clock=FakeClock(), **options)


@pytest.mark.parametrize(
    ("wish", "params"),
    [
        ({}, {}),
        ({"container": "app"}, {"container": "app"}),
        ({"follow": True, "previous": True}, {"follow": "true", "previous": "true"}),
        ({"since_seconds": 5}, {"sinceSeconds": "5"}),
        ({"since_time": datetime(2026, 1, 2, 3, 4, 5, 999, UTC)}, {"sinceTime": "2026-01-02T03:04:05Z"}),
        (
            {"since_time": datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2)))},
            {"sinceTime": "2026-01-02T01:04:05Z"},
        ),
        ({"tail_lines": 0}, {"tailLines": "0"}),
        ({"tail_lines": 7, "limit_bytes": 9}, {"tailLines": "7", "limitBytes": "9"}),
        ({"timestamps": True}, {"timestamps": "true"}),
    ],
)
def test_a_log_is_asked_for_as_the_api_says(wish: dict[str, Any], params: dict[str, str]) -> None:
    call = log_call("default/web", **NOTHING | wish)
    assert str(call) == f"GET {PATH}"
    assert {name: value for name, value in call.params.items() if value} == params


@pytest.mark.parametrize(
    ("wish", "match"),
    [
        ({"since_seconds": -1}, "since_seconds -1 must not be negative"),
        ({"tail_lines": -1}, "tail_lines -1 must not be negative"),
        ({"limit_bytes": -1}, "limit_bytes -1 must not be negative"),
        ({"since_seconds": 5, "since_time": datetime(2026, 1, 1, tzinfo=UTC)}, "two beginnings: give one"),
        ({"since_time": datetime(2026, 1, 1)}, "must have a time zone"),  # noqa: DTZ001 -- that is what it is about
    ],
)
def test_a_log_that_cannot_be_is_refused_at_once(wish: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        log_call("default/web", **NOTHING | wish)
    with pytest.raises(ValueError, match="'web' does not fit pods"):
        log_call("web", **NOTHING)


async def test_a_whole_log_is_bytes(script: Any) -> None:
    script.answer("gr\u00fc\u00dfe\n".encode())
    async with client(script) as c:
        assert await c.read_logs("default/web", tail_lines=1) == "gr\u00fc\u00dfe\n".encode()
    assert script.asked == [f"GET {PATH} tailLines=1"]


async def test_a_whole_log_is_asked_for_again_like_any_other_read(script: Any) -> None:
    script.answer(b"", 429, {"Retry-After": "0"})
    script.answer(b"hello\n")
    async with client(script) as c:
        assert await c.read_logs("default/web") == b"hello\n"


async def test_a_log_comes_in_the_chunks_in_which_it_was_read(script: Any) -> None:
    feed = script.stream()
    feed.send(b"one\ntw", b"o\n", None)
    async with client(script) as c, c.logs("default/web", follow=True) as chunks:
        assert [chunk async for chunk in chunks] == [b"one\ntw", b"o\n"]
    assert script.asked == [f"GET {PATH} follow=true"]
    assert feed.is_closed


async def test_a_log_may_be_silent_for_as_long_as_it_likes(script: Any) -> None:
    feed, seen, clock = script.stream(), list[bytes](), FakeClock()

    async def follow() -> None:
        async with (
            Client("http://server", transport=script, clock=clock) as c,
            c.logs("default/web", follow=True) as chunks,
        ):
            seen.extend([chunk async for chunk in chunks])

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await clock.advance(100_000.0)
        feed.send(b"at last\n", None)
    assert seen == [b"at last\n"]


@pytest.mark.parametrize(
    ("code", "reason", "error"), [(400, "BadRequest", BadRequestError), (404, "NotFound", NotFoundError)]
)
async def test_a_refused_log_has_the_class_of_its_refusal(
    script: Any, code: int, reason: str, error: type[Exception]
) -> None:
    for _ in range(2):
        script.status(code, reason, message="container is waiting to start")
    async with client(script) as c:
        with pytest.raises(error, match="waiting to start"):
            async with c.logs("default/web"):
                pass
        with pytest.raises(error, match="waiting to start"):
            await c.read_logs("default/web")


async def test_a_log_that_is_cut_off_says_so_and_is_not_begun_again(script: Any) -> None:
    feed = script.stream()
    feed.send(b"one\n", httpx.ReadError("reset"))
    async with client(script) as c, c.logs("default/web", follow=True) as chunks:
        assert await anext(chunks) == b"one\n"
        with pytest.raises(TransportError, match="the connection was lost"):
            await anext(chunks)
    assert len(script.requests) == 1
    assert feed.is_closed


async def test_a_log_takes_its_turn(script: Any) -> None:
    for _ in range(2):
        script.stream().send(None)
    async with client(script, rate_limit=RateLimit(0.1, 1)) as c:
        assert isinstance(c.clock, FakeClock)

        async def read() -> None:
            async with c.logs("default/web") as chunks:
                assert [chunk async for chunk in chunks] == []

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(read)
            await c.clock.advance(9.0)
            assert len(script.requests) == 1
            await c.clock.advance(1.0)
        assert len(script.requests) == 2


@pytest.mark.parametrize("where", ["the turn", "the opening", "the log"])
async def test_a_log_can_be_left_wherever_it_waits(script: Any, where: str) -> None:
    feed = script.stream() if where == "the log" else None
    limit = RateLimit(0.1, 1) if where == "the turn" else None
    async with client(script, rate_limit=limit) as c:
        if limit:
            script.answer()
            await c.request("GET", "/version")

        async def read() -> None:
            async with c.logs("default/web", follow=True) as chunks:
                await anext(chunks)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await settle()
            tasks.cancel_scope.cancel()
        assert isinstance(c.clock, FakeClock)
        assert c.clock.next_timer is None
    assert script.cancelled == (where == "the opening")
    assert feed is None or feed.is_closed


class Kubelet:
    """An application that serves one log, writes on while somebody follows, and notes when nobody does any more."""

    def __init__(self, *lines: bytes) -> None:
        self.lines = list(lines)
        self.written = anyio.Event()
        self.is_left = False

    def write(self, line: bytes) -> None:
        self.lines.append(line)
        self.written.set()
        self.written = anyio.Event()

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        query = parse_qs(scope["query_string"].decode())
        await receive()
        head = [(b"content-type", b"text/plain")]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        done = max(0, len(self.lines) - int(query.get("tailLines", ["1000"])[0]))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.notice, receive, tasks)
            while True:
                while done < len(self.lines):
                    await send({"type": "http.response.body", "body": self.lines[done], "more_body": True})
                    done += 1
                if "follow" not in query:
                    break
                await self.written.wait()
            tasks.cancel_scope.cancel()
        await send({"type": "http.response.body", "body": b""})

    async def notice(self, receive: Any, tasks: anyio.abc.TaskGroup) -> None:
        assert (await receive())["type"] == "http.disconnect"
        self.is_left = True
        tasks.cancel_scope.cancel()


async def test_a_log_is_followed_while_it_is_written_until_the_block_is_left() -> None:
    kubelet = Kubelet(b"one\n", b"two\n")
    async with Client("http://server", transport=AppTransport(kubelet)) as c:
        async with c.logs("default/web", follow=True, tail_lines=1) as chunks:
            assert await anext(chunks) == b"two\n"
            kubelet.write(b"three\n")
            assert await anext(chunks) == b"three\n"
            assert not kubelet.is_left
        assert kubelet.is_left


async def test_a_log_that_is_not_followed_ends() -> None:
    kubelet = Kubelet(b"one\n", b"two\n")
    async with Client("http://server", transport=AppTransport(kubelet)) as c:
        async with c.logs("default/web") as chunks:
            assert b"".join([chunk async for chunk in chunks]) == b"one\ntwo\n"
        assert await c.read_logs("default/web", tail_lines=1) == b"two\n"
