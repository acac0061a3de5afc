"""What a reflector makes of answers as they come off the wire, through a real client."""

import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any, Self

import anyio
import httpx
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client
from kinformer.meta import Resource
from kinformer.reflector import Reflector
from kinformer.testing import AppTransport, FakeClock, settle
from kinformer.testing import pod as new_pod
from tests.scenario.reflector_stage import Mirror

PODS = Resource.builtin("Pod")


class Canned(httpx.AsyncBaseTransport):
    """Answers one request after the other with JSON, or with the lines of a watch; and then never again."""

    def __init__(self, *answers: dict[str, Any] | list[dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        query = request.url.params
        verb = ("STREAM" if "sendInitialEvents" in query else "WATCH") if "watch" in query else "LIST"
        self.asked.append(f"{verb} {query.get('resourceVersion', '')}".rstrip())
        if not self.answers:
            await anyio.Event().wait()
        answer = self.answers.pop(0)
        if isinstance(answer, list):
            return httpx.Response(200, stream=Lines(answer))
        return httpx.Response(answer.get("code", 200), json=answer)


class Lines(httpx.AsyncByteStream):
    """The body of a watch, which stays open after its last line."""

    def __init__(self, lines: Iterable[dict[str, Any]]) -> None:
        self.lines = lines

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for line in self.lines:
            yield json.dumps(line).encode() + b"\n"
        await anyio.Event().wait()


def pods(version: str, *names: str) -> dict[str, Any]:
    return {
        "kind": "PodList",
        "metadata": {"resourceVersion": version},
        "items": [pod(name, version)["object"] for name in names],
    }


def pod(name: str, version: str, kind: str = "ADDED") -> dict[str, Any]:
    metadata = {"namespace": "default", "name": name, "resourceVersion": version}
    return {"type": kind, "object": {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}}


def mark(version: str, end: str | None) -> dict[str, Any]:
    annotations = {} if end is None else {"k8s.io/initial-events-end": end}
    metadata = {"resourceVersion": version, "annotations": annotations}
    return {"type": "BOOKMARK", "object": {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}}


def table(version: str) -> dict[str, Any]:
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"resourceVersion": version},
        "rows": [{"cells": ["a"]}],
    }


@asynccontextmanager
async def playing(
    transport: httpx.AsyncBaseTransport, *, watch_list: bool
) -> AsyncIterator[tuple[Reflector, Mirror, FakeClock]]:
    clock, sink = FakeClock(), Mirror()
    async with Client("http://server", transport=transport, clock=clock) as client:
        source = client.resource(PODS).without_retries()
        reflector = Reflector(source, sink, watch_list=watch_list, clock=clock)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(reflector.run)
            await settle()
            yield reflector, sink, clock
            tasks.cancel_scope.cancel()


async def test_b03_an_annotation_that_says_anything_but_true_ends_no_snapshot() -> None:
    lines = [pod("a", "10"), mark("28", None), mark("29", "false"), mark("30", "True"), mark("31", "")]
    transport = Canned(lines)
    async with playing(transport, watch_list=True) as (_, sink, _clock):
        assert sink.story == []
    transport = Canned([*lines, mark("32", "true"), pod("b", "33")])
    async with playing(transport, watch_list=True) as (reflector, sink, _clock):
        assert sink.story == ["replace a", "added b"]
        assert reflector.version == "33"
    assert transport.asked == ["STREAM"]


@pytest.mark.parametrize(
    "status",
    [
        {"details": {"causes": [{"reason": "ResourceVersionTooLarge", "message": "anything"}]}},
        {"details": {"causes": [{"message": "Too large resource version"}]}},
        {"message": "Timeout: Too large resource version: 9, current: 1"},
    ],
    ids=["by type", "by the message of a cause", "by message"],
)
async def test_b07_each_shape_of_a_version_from_the_future_leads_to_the_latest_at_once(
    status: dict[str, Any],
) -> None:
    future = {"kind": "Status", "code": 504, "reason": "Timeout", **status}
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}}
    transport = Canned(pods("150", "a"), [gone], future, pods("9", "b"))
    async with playing(transport, watch_list=False) as (_, sink, clock):
        await clock.advance(2.0)
        assert sink.story == ["replace a", "replace b"]
    assert transport.asked == ["LIST 0", "WATCH 150", "LIST 150", "LIST", "WATCH 9"]


async def test_b13_a_table_is_refused_as_a_list_and_changes_nothing() -> None:
    transport = Canned(table("100"), pods("101", "a"))
    async with playing(transport, watch_list=False) as (reflector, sink, clock):
        assert sink.story == []
        assert "Table" in reflector.conditions["Decoding"].message
        told = [reflector.conditions["Decoding"].status]
        await clock.advance(2.0)
        assert sink.story == ["replace a"]
        told.append(reflector.conditions["Decoding"].status)
        assert told == [True, False]
    assert transport.asked == ["LIST 0", "LIST 0", "WATCH 101"]


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
async def test_b13_a_table_in_a_stream_is_refused_and_the_version_stays(watch_list: bool) -> None:
    line = {"type": "ADDED", "object": table("200")}
    first = [[pod("a", "90"), mark("100", "true"), line]] if watch_list else [pods("100", "a"), [line]]
    again = [[pod("a", "90"), mark("210", "true")]] if watch_list else [pods("210", "a")]
    transport = Canned(*first, *again)
    async with playing(transport, watch_list=watch_list) as (reflector, sink, clock):
        assert reflector.version == "100"
        assert reflector.conditions["Decoding"].status
        await clock.advance(2.0)
        assert reflector.version == "210"
        assert sink.story == ["replace a", "replace a"]
    assert transport.asked[-2 if not watch_list else -1].endswith(" 100")


class Counted(httpx.AsyncBaseTransport):
    """Counts what goes through."""

    def __init__(self, inner: AppTransport) -> None:
        self.inner = inner
        self.queries: list[dict[str, str]] = []

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.inner.__aexit__()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.queries.append(dict(request.url.params))
        return await self.inner.handle_async_request(request)


async def test_b02_the_server_sees_exactly_one_request_for_a_snapshot_and_what_follows_it() -> None:
    clock, sink = FakeClock(), Mirror()
    async with (
        ApiServer(clock=clock) as server,
        Client("http://a", transport=AppTransport(server.app, clock=clock), clock=clock) as writer,
    ):
        for name in ("a", "b"):
            await writer.resource(PODS).create(new_pod(name))
        counted = Counted(AppTransport(server.app, clock=clock))
        async with (
            Client("http://b", transport=counted, clock=clock) as reader,
            anyio.create_task_group() as tasks,
        ):
            reflector = Reflector(reader.resource(PODS).without_retries(), sink, clock=clock)
            await tasks.start(reflector.run)
            await writer.resource(PODS).create(new_pod("c"))
            await clock.advance(120.0)
            assert sink.story == ["replace a,b", "added c"]
            (query,) = counted.queries
            tasks.cancel_scope.cancel()
    assert 300 <= int(query.pop("timeoutSeconds")) < 600
    assert query == {
        "watch": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
