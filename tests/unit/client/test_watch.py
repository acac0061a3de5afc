from collections.abc import Sequence
from typing import Any

import anyio
import httpx
import pytest

from kinformer.client import Client
from kinformer.errors import ClosedError, DecodeError, ExpiredError, TransportError
from kinformer.meta import EventType, Resource, WatchEvent
from kinformer.testing import FakeClock, settle

PODS = Resource.builtin("Pod")


def added(name: str, version: str = "1") -> dict[str, Any]:
    meta = {"name": name, "namespace": "default", "resourceVersion": version}
    return {"type": "ADDED", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": meta}}


def names(batch: Sequence[WatchEvent]) -> list[str]:
    return [event.obj.key.name for event in batch]


def client(script: Any) -> Client:
    return Client("http://server", transport=script, clock=FakeClock())


async def test_what_one_read_completes_is_one_batch(script: Any) -> None:
    feed = script.stream()
    async with client(script) as open_client, open_client.resource(PODS).watch(version="7") as batches:
        both = b"".join(httpx.Request("POST", "http://x", json=added(name)).content + b"\n" for name in "ab")
        feed.send(both + b'{"type":"ADDED"')
        assert names(await anext(batches)) == ["a", "b"]
        feed.send(b',"object":{"metadata":{"name":"c"}}}')
        await settle()
        feed.send(b"\n", None)
        assert names(await anext(batches)) == ["c"]
        with pytest.raises(StopAsyncIteration):
            await anext(batches)
        with pytest.raises(StopAsyncIteration):
            await anext(batches)
    assert script.asked == ["GET /api/v1/pods watch=true resourceVersion=7 allowWatchBookmarks=true"]
    assert feed.is_closed


async def test_the_iteration_ends_with_the_stream(script: Any) -> None:
    feed = script.stream()
    feed.send(added("a"), None)
    async with client(script) as open_client, open_client.resource(PODS).watch() as batches:
        assert [names(batch) async for batch in batches] == [["a"]]


async def test_a_last_line_without_its_end_is_not_lost(script: Any) -> None:
    feed = script.stream()
    feed.send(b'{"type":"ADDED","object":{"metadata":{"name":"a"}}}', None)
    async with client(script) as open_client, open_client.resource(PODS).watch() as batches:
        assert [names(batch) async for batch in batches] == [["a"]]


async def test_a_bad_line_is_an_event_and_the_stream_goes_on(script: Any) -> None:
    feed = script.stream()
    feed.send(b"garbage\n", added("a"), None)
    async with client(script) as open_client, open_client.resource(PODS).watch() as batches:
        events = [event async for batch in batches for event in batch]
    assert isinstance(events[0].error, DecodeError)
    assert events[1].obj.key.name == "a"


async def test_a_cut_in_the_middle_of_a_line_raises_and_gives_no_half_object(script: Any) -> None:
    feed = script.stream()
    feed.send(added("a"), b'{"type":"ADDED","object":{"meta', httpx.RemoteProtocolError("cut"))
    async with client(script) as open_client, open_client.resource(PODS).watch() as batches:
        assert names(await anext(batches)) == ["a"]
        with pytest.raises(TransportError, match="cut"):
            await anext(batches)


async def test_a_version_that_is_forgotten_may_be_said_when_opening_or_in_the_stream(script: Any) -> None:
    script.status(410, "Expired")
    feed = script.stream()
    feed.send({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}, None)
    async with client(script) as open_client:
        with pytest.raises(ExpiredError):
            async with open_client.resource(PODS).watch(version="1"):
                pass
        async with open_client.resource(PODS).watch(version="1") as batches:
            events = [event async for batch in batches for event in batch]
    assert [event.type for event in events] == [EventType.ERROR]
    assert str(events[0].error) == "GET /api/v1/pods: the server gave no message (410 Expired)"
    assert isinstance(events[0].error, ExpiredError)


async def test_a_watch_is_opened_once_whatever_happens(script: Any) -> None:
    script.answer(b"", 429, {"Retry-After": "1"})
    async with client(script) as open_client:
        with pytest.raises(Exception, match="429"):
            async with open_client.resource(PODS).watch():
                pass
    assert len(script.requests) == 1


@pytest.mark.parametrize(("timeout", "deadline"), [(300, 330.0), (0, 3630.0)])
async def test_a_server_that_forgets_to_end_is_left_after_its_time_and_a_grace(
    script: Any, timeout: int, deadline: float
) -> None:
    feed = script.stream()
    clock = FakeClock()
    ended: list[float] = []

    async def follow() -> None:
        open_client = Client("http://server", transport=script, clock=clock)
        async with open_client, open_client.resource(PODS).watch(timeout=timeout) as batches:
            with pytest.raises(TransportError, match="has not ended the stream"):
                await anext(batches)
            ended.append(clock.monotonic())

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(follow)
        await clock.advance(4000.0)
    assert ended == [deadline]
    assert feed.is_closed


async def test_a_cancelled_watch_leaves_no_connection(script: Any) -> None:
    feed = script.stream()
    async with client(script) as open_client:

        async def follow() -> None:
            async with open_client.resource(PODS).watch() as batches:
                async for _ in batches:
                    pass

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(follow)
            await settle()
            feed.send(added("a"))
            await settle()
            assert not feed.is_closed
            tasks.cancel_scope.cancel()
        assert feed.is_closed


async def test_a_bad_selector_is_refused_before_anything_is_opened(script: Any) -> None:
    async with client(script) as open_client:
        with pytest.raises(ValueError, match="unable to parse"):
            open_client.resource(PODS).watch(labels="a in")
    assert script.requests == []


async def test_a_closed_client_opens_no_watch(script: Any) -> None:
    async with client(script) as open_client:
        pods = open_client.resource(PODS)
    with pytest.raises(ClosedError):
        async with pods.watch():
            pass
