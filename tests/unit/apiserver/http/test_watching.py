import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import anyio
import httpx
import msgspec
import pytest

from kinformer.apiserver import ApiServer
from kinformer.apiserver.http._watching import STREAMS, Streams, WatchStream, frame_object
from kinformer.apiserver.registry import StatusError
from kinformer.apiserver.rest import Event
from kinformer.testing import AppTransport, FakeClock, settle

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"


class Setting:
    """A server, and a client of it."""

    def __init__(self, server: ApiServer, client: httpx.AsyncClient, clock: FakeClock) -> None:
        self.server = server
        self.client = client
        self.clock = clock

    async def create(self, name: str, **labels: str) -> None:
        body = {"metadata": {"name": name, "labels": labels}}
        assert (await self.client.post(CONFIG_MAPS, json=body)).status_code == 201

    @asynccontextmanager
    async def watch(self, query: str = "", accept: str = "*/*") -> AsyncIterator["Lines"]:
        url = f"{CONFIG_MAPS}?watch=true&{query}"
        async with self.client.stream("GET", url, headers={"Accept": accept}) as response:
            assert response.status_code == 200
            yield Lines(response)


class Lines:
    """The events of a watch, and the pieces that they came in."""

    def __init__(self, response: httpx.Response) -> None:
        self.response = response
        self.pieces = response.aiter_raw()
        self.waiting: list[Any] = []

    async def piece(self) -> list[Any]:
        return [msgspec.json.decode(line) for line in (await anext(self.pieces)).splitlines()]

    async def event(self) -> Any:
        while not self.waiting:
            self.waiting = await self.piece()
        return self.waiting.pop(0)

    async def rest(self) -> list[Any]:
        found, self.waiting = self.waiting, []
        async for piece in self.pieces:
            found += [msgspec.json.decode(line) for line in piece.splitlines()]
        return found


@asynccontextmanager
async def setting() -> AsyncIterator[Setting]:
    clock = FakeClock()
    async with (
        ApiServer(clock=clock, random=Random(1)) as server,
        httpx.AsyncClient(transport=AppTransport(server.app), base_url="http://test") as client,
    ):
        yield Setting(server, client, clock)


async def test_a_watch_is_open_before_its_first_event_x_5() -> None:
    async with setting() as here, here.watch("allowWatchBookmarks=false") as lines:
        assert lines.response.headers["content-type"] == "application/json"
        assert here.server.app.open_watches == 1
        await here.create("a")
        event = await lines.event()
        assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "a")
        assert (event["object"]["kind"], event["object"]["apiVersion"]) == ("ConfigMap", "v1")


async def test_what_happened_at_once_comes_in_one_piece() -> None:
    async with setting() as here:
        for name in "abc":
            await here.create(name)
        async with here.watch() as lines:
            assert [event["object"]["metadata"]["name"] for event in await lines.piece()] == ["a", "b", "c"]


async def test_selectors_hold_and_an_object_that_stops_matching_is_deleted_x_6() -> None:
    async with setting() as here:
        await here.create("a", app="x")
        await here.create("b")
        async with here.watch("labelSelector=app%3Dx") as lines:
            assert (await lines.event())["object"]["metadata"]["name"] == "a"
            headers = {"Content-Type": "application/merge-patch+json"}
            body = b'{"metadata":{"labels":null}}'
            await here.client.patch(f"{CONFIG_MAPS}/a", content=body, headers=headers)
            assert (await lines.event())["type"] == "DELETED"


async def test_watch_list_ends_its_first_part_with_a_bookmark_x_3_x_9() -> None:
    async with setting() as here:
        await here.create("a")
        query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
        async with here.watch(query) as lines:
            assert (await lines.event())["type"] == "ADDED"
            bookmark = await lines.event()
            assert bookmark["type"] == "BOOKMARK"
            assert bookmark["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_with_tables_has_columns_once_t_4() -> None:
    async with setting() as here:
        await here.create("a")
        await here.create("b")
        async with here.watch("allowWatchBookmarks=true", TABLE) as lines:
            first, second, bookmark = [await lines.event() for _ in range(3)]
        assert first["object"]["kind"] == "Table"
        assert [column["name"] for column in first["object"]["columnDefinitions"]] == ["Name", "Data", "Age"]
        assert second["object"]["columnDefinitions"] is None
        assert second["object"]["rows"][0]["cells"][0] == "b"
        assert second["object"]["metadata"]["resourceVersion"].isdigit()
        annotations = bookmark["object"]["rows"][0]["object"]["metadata"]["annotations"]
        assert annotations == {"k8s.io/initial-events-end": "true"}


async def test_a_watch_of_metadata_shows_nothing_else_t_6() -> None:
    async with setting() as here:
        await here.create("a")
        async with here.watch("allowWatchBookmarks=true", METADATA) as lines:
            event = await lines.event()
            assert (event["type"], event["object"]["kind"]) == ("ADDED", "PartialObjectMetadata")
            assert (await lines.event())["type"] == "BOOKMARK"


@pytest.mark.parametrize("accept", ["*/*", TABLE, METADATA])
async def test_a_version_that_is_too_new_is_told_inside_the_stream_x_8(accept: str) -> None:
    async with setting() as here, anyio.create_task_group() as tasks:
        events: list[Any] = []

        async def read() -> None:
            query = "resourceVersion=99999999999999&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
            async with here.watch(query, accept) as lines:
                events.extend(await lines.rest())

        tasks.start_soon(read)
        await here.clock.advance(4)
        await settle()
        assert [event["type"] for event in events] == ["ERROR"]
        assert (events[0]["object"]["kind"], events[0]["object"]["code"]) == ("Status", 504)


async def test_a_watch_ends_properly_at_its_deadline_x_10() -> None:
    async with setting() as here, anyio.create_task_group() as tasks:
        ends: list[float] = []

        async def read() -> None:
            async with here.watch("timeoutSeconds=10") as lines:
                assert await lines.rest() == []
            ends.append(here.clock.monotonic())

        tasks.start_soon(read)
        await here.clock.advance(9.9)
        assert ends == []
        await here.clock.advance(1)
        await settle()
        assert ends == [10.0]


async def test_a_watch_without_a_deadline_ends_within_half_an_hour_and_an_hour_x_10() -> None:
    async with setting() as here, anyio.create_task_group() as tasks:
        ends: list[float] = []

        async def read() -> None:
            async with here.watch() as lines:
                await lines.rest()
            ends.append(here.clock.monotonic())

        tasks.start_soon(read)
        await here.clock.advance(3600)
        await settle()
        assert 1800 <= ends[0] <= 3600


async def test_a_client_that_goes_leaves_nothing_behind() -> None:
    async with setting() as here:
        async with here.watch():
            assert here.server.app.open_watches == 1
        assert here.server.app.open_watches == 0


async def test_a_server_that_stops_ends_its_watches_properly() -> None:
    events: list[Any] = []
    server = ApiServer(clock=FakeClock())
    async with (
        httpx.AsyncClient(transport=AppTransport(server.app), base_url="http://test") as client,
        anyio.create_task_group() as tasks,
    ):
        async with server:
            here = Setting(server, client, FakeClock())

            async def read() -> None:
                async with here.watch() as lines:
                    events.append(await lines.rest())

            tasks.start_soon(read)
            await settle()
            assert server.app.open_watches == 1
        assert server.app.open_watches == 0
    assert events == [[]]


class Source:
    """A watch that gives what it is told to, and then fails or waits."""

    def __init__(self, batches: Sequence[Sequence[Event]], failure: Exception | None = None) -> None:
        self.batches = list(batches)
        self.failure = failure
        self.is_open = False

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncIterator[Sequence[Event]]]:
        self.is_open = True
        try:
            yield self
        finally:
            self.is_open = False

    def __aiter__(self) -> "Source":
        return self

    async def __anext__(self) -> Sequence[Event]:
        if self.batches:
            return self.batches.pop(0)
        if self.failure is not None:
            raise self.failure
        await anyio.Event().wait()
        raise AssertionError


def app_of(source: Source, streams: Streams) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope["extensions"] = {STREAMS: streams}
        await WatchStream(source.open(), frame_object, Streams())(scope, receive, send)

    return httpx.AsyncClient(transport=AppTransport(app), base_url="http://test")


@pytest.mark.parametrize(
    ("failure", "code"),
    [(StatusError(410, "Expired", "old"), 410), (LookupError("bug"), 500)],
    ids=["known", "bug"],
)
async def test_a_failure_inside_is_an_error_event_and_the_end_e_3(
    failure: Exception, code: int, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source([[Event("ADDED", {"x": 1})], []], failure)
    with caplog.at_level(logging.ERROR, "kinformer.apiserver"):
        async with app_of(source, Streams()) as client:
            lines = (await client.get("/")).text.splitlines()
    events = [msgspec.json.decode(line) for line in lines]
    assert [event["type"] for event in events] == ["ADDED", "ERROR"]
    assert events[1]["object"]["code"] == code
    assert len(caplog.records) == (1 if code == 500 else 0)
    assert not source.is_open


async def test_a_large_batch_comes_in_several_pieces() -> None:
    source = Source([[Event("ADDED", {"x": "y" * 400_000}) for _ in range(5)]])
    async with app_of(source, Streams()) as client, client.stream("GET", "/") as response:
        pieces = response.aiter_raw()
        assert [(await anext(pieces)).count(b"\n") for _ in range(2)] == [3, 2]


async def test_a_server_ends_the_streams_that_it_passed_through() -> None:
    streams = Streams()
    source = Source([[Event("ADDED", {"x": 1})]])
    async with app_of(source, streams) as client, client.stream("GET", "/") as response:
        pieces = response.aiter_raw()
        await anext(pieces)
        assert len(streams) == 1
        streams.end_all()
        assert [piece async for piece in pieces] == []
    assert (len(streams), source.is_open) == (0, False)


async def test_a_stream_that_is_cancelled_closes_its_watch() -> None:
    streams = Streams()
    source = Source([])

    async def receive() -> Any:
        await anyio.Event().wait()

    async def send(message: Any) -> None:
        pass

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(WatchStream(source.open(), frame_object, streams), {}, receive, send)
        await settle()
        assert (source.is_open, len(streams)) == (True, 1)
        tasks.cancel_scope.cancel()
    assert (source.is_open, len(streams)) == (False, 0)
