from random import Random
from typing import Any

import anyio
import httpx
import pytest

from kinformer.client import Client
from kinformer.controller import Controller, EventRecorder, Manager, Request
from kinformer.hooks import EventDropped, NoHooks
from kinformer.meta import Object, Resource
from kinformer.testing import AppTransport, Cluster, config_map, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
PAGE = Object.from_mapping(config_map("page"), CONFIG_MAPS)


class Memory(NoHooks):
    def __init__(self) -> None:
        self.dropped: list[str] = []

    def event_dropped(self, event: EventDropped, /) -> None:
        self.dropped.append(event.reason)


class Faulty(AppTransport):
    """A transport that answers what a test says to requests about events, for a while."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.server.app, clock=cluster.clock)
        self.answers: list[int | None] = []  # None: the request is done, and its answer lost
        self.tries = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if "/events" not in request.url.path:
            return await super().handle_async_request(request)
        self.tries += 1
        answer = self.answers.pop(0) if self.answers else 0
        if answer is None:
            await (await super().handle_async_request(request)).aclose()
            raise httpx.ReadError("the answer is lost")
        if answer:
            return httpx.Response(answer, json={"kind": "Status", "message": "no"})
        return await super().handle_async_request(request)


class Scene:
    """A recorder whose way to the server a test may break."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.hooks = Memory()
        self.wire = Faulty(cluster)
        self.client = Client("http://c.invalid", transport=self.wire, clock=cluster.clock)

    def recorder(self) -> EventRecorder:
        return EventRecorder(self.client, "site", instance="i", random=Random(1), hooks=self.hooks)


async def events(cluster: Cluster) -> list[tuple[str, int]]:
    found = (await cluster.client.resource(EVENTS).list()).items
    return sorted((one["reason"], one.at("series", "count", default=1)) for one in found)


async def test_what_is_told_is_written_and_counted_up() -> None:
    async with Cluster() as cluster:
        recorder = EventRecorder(cluster.client, "site")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(recorder.run)
            recorder.event(PAGE, "Created", "it is there")
            await settle()
            assert await events(cluster) == [("Created", 1)]
            for _ in range(3):
                recorder.event(PAGE, "Created", "it is there")
            recorder.event(PAGE, "Broken", type="Warning", action="Check", related=PAGE)
            await settle()
            assert await events(cluster) == [("Broken", 1), ("Created", 4)]
            recorder.close()
    assert recorder.dropped == 0


async def test_what_waits_is_written_before_it_ends() -> None:
    async with Cluster() as cluster:
        recorder = EventRecorder(cluster.client, "site")
        recorder.event(PAGE, "Created")
        recorder.close()
        recorder.close()
        recorder.event(PAGE, "Late")
        await recorder.run()
        assert await events(cluster) == [("Created", 1)]
        assert recorder.dropped == 1
        assert cluster.clock.next_timer is None


async def test_what_was_only_counted_is_written_at_the_end() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        recorder = EventRecorder(cluster.client, "site")
        tasks.start_soon(recorder.run)
        for _ in range(40):
            recorder.event(PAGE, "Created")
            await settle()
        assert await events(cluster) == [("Created", 25)]
        recorder.close()
        await settle()
        assert await events(cluster) == [("Created", 40)]


@pytest.mark.parametrize(("answers", "tries"), [([503, 503], 3), ([429], 2), ([None], 2), ([500, None], 3)])
async def test_what_may_work_later_is_tried_again(answers: list[int | None], tries: int) -> None:
    async with Cluster() as cluster:
        scene = Scene(cluster)
        async with scene.client, anyio.create_task_group() as tasks:
            recorder = scene.recorder()
            scene.wire.answers = answers
            tasks.start_soon(recorder.run)
            recorder.event(PAGE, "Created")
            await cluster.clock.advance(60)
            assert await events(cluster) == [("Created", 1)]
            assert scene.wire.tries == tries
            recorder.close()
        assert scene.hooks.dropped == []


@pytest.mark.parametrize(("answers", "tries"), [([403], 1), ([404], 1), ([422], 1), ([503] * 9, 5)])
async def test_what_will_not_work_is_dropped_and_does_not_hold_up_the_rest(
    answers: list[int | None], tries: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with Cluster() as cluster:
        scene = Scene(cluster)
        async with scene.client, anyio.create_task_group() as tasks:
            recorder = scene.recorder()
            scene.wire.answers = answers
            tasks.start_soon(recorder.run)
            recorder.event(PAGE, "Refused")
            await cluster.clock.advance(200)
            assert scene.wire.tries == tries
            scene.wire.answers = []
            recorder.event(PAGE, "Created")
            await settle()
            assert await events(cluster) == [("Created", 1)]
            recorder.close()
        assert scene.hooks.dropped == ["Refused"]
    assert "site: an event 'Refused' is not written: " in caplog.text


async def test_an_event_that_was_deleted_meanwhile_is_written_anew() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        recorder = EventRecorder(cluster.client, "site")
        tasks.start_soon(recorder.run)
        recorder.event(PAGE, "Created")
        await settle()
        await cluster.client.resource(EVENTS).delete_collection(namespace="default")
        recorder.event(PAGE, "Created")
        await settle()
        assert await events(cluster) == [("Created", 2)]
        recorder.close()


async def test_at_the_end_it_does_not_wait_for_ever() -> None:
    async with Cluster() as cluster:
        scene = Scene(cluster)
        async with scene.client, anyio.create_task_group() as tasks:
            recorder = scene.recorder()
            scene.wire.answers = [503] * 9
            tasks.start_soon(recorder.run)
            recorder.event(PAGE, "Created")
            recorder.event(PAGE, "Changed")
            await settle()
            recorder.close()
            await cluster.clock.advance(5)
        assert scene.hooks.dropped == ["Created", "Changed"]
        assert cluster.clock.next_timer is None


async def test_cancelled_it_drops_what_waits() -> None:
    async with Cluster() as cluster:
        scene = Scene(cluster)
        async with scene.client:
            recorder = scene.recorder()
            scene.wire.answers = [503] * 9
            recorder.event(PAGE, "Created")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(recorder.run)
                await settle()
                tasks.cancel_scope.cancel()
        assert scene.hooks.dropped == ["Created"]
        assert cluster.clock.next_timer is None


async def test_a_reconciler_tells_through_its_request_up_to_the_very_end() -> None:
    seen: list[Request] = []

    async def reconcile(request: Request) -> None:
        page = request.lister(CONFIG_MAPS).get(request.key)
        if page is not None:
            request.event(page, "Seen", "all is well")
        seen.append(request)

    controller = Controller("site", reconcile).watches(CONFIG_MAPS)
    async with Cluster(config_map("page")) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: bool(seen))
            manager.stop()
        (found,) = (await cluster.client.resource(EVENTS).list()).items
        assert (found["reason"], found["note"], found["reportingController"]) == (
            "Seen",
            "all is well",
            "site",
        )
        assert found["regarding"]["name"] == "page"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"reason": "not one word"}, "reason='not one word' must be one word in CamelCase"),
        ({"reason": "Created", "action": ""}, "action='' must be one word in CamelCase"),
        ({"reason": "Created", "type": "Error"}, "type='Error' must be 'Normal' or 'Warning'"),
    ],
)
async def test_what_no_server_would_take_is_refused_at_once(arguments: Any, text: str) -> None:
    async with Cluster() as cluster:
        with pytest.raises(ValueError, match=text):
            EventRecorder(cluster.client, "site").event(PAGE, **arguments)


def test_a_request_without_a_recorder_says_so() -> None:
    request = Request("", PAGE.key, Client("http://c.invalid"))
    with pytest.raises(RuntimeError, match="nobody records events here"):
        request.event(PAGE, "Seen")
