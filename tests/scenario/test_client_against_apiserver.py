"""The client against the embedded apiserver, in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client, is_deleted, retry_on_conflict, wait_for
from kinformer.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    InvalidError,
    NotFoundError,
)
from kinformer.meta import EventType, Object, Resource, WatchEvent
from kinformer.testing import AppTransport, custom_object, custom_resource_definition

MAPS = Resource.builtin("ConfigMap")
DEPLOYMENTS = Resource.builtin("Deployment")
WIDGETS = Resource("example.dev", "v1", "widgets", "Widget")


@asynccontextmanager
async def running() -> AsyncIterator[Client]:
    """A client of a new server."""
    async with (
        ApiServer() as server,
        Client("http://embedded", transport=AppTransport(server.app)) as client,
    ):
        yield client


def config_map(name: str = "a", **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "labels": {"app": name}}, "data": data}


def deployment(replicas: int = 1) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}


async def test_an_object_is_made_read_changed_and_deleted() -> None:
    async with running() as client:
        maps = client.resource(MAPS)
        made = await maps.create(config_map(x="1"))
        assert made.metadata.uid
        assert (await maps.get("default/a"))["data"] == {"x": "1"}
        with pytest.raises(AlreadyExistsError):
            await maps.create(config_map())

        draft = made.thaw()
        draft["data"]["x"] = "2"
        changed = await maps.replace(draft)
        assert changed.metadata.resource_version != made.metadata.resource_version
        with pytest.raises(ConflictError):
            await maps.replace(draft)

        patched = await maps.patch("default/a", {"data": {"y": "3"}})
        assert patched["data"] == {"x": "2", "y": "3"}
        patched = await maps.patch("default/a", [{"op": "remove", "path": "/data/y"}], kind="json")
        assert patched["data"] == {"x": "2"}
        with pytest.raises(InvalidError):
            await maps.patch("default/a", [{"op": "remove", "path": "/data/y"}], kind="json")

        with pytest.raises(ConflictError):
            await maps.delete("default/a", uid="another")
        await maps.delete("default/a", uid=made.metadata.uid)
        with pytest.raises(NotFoundError):
            await maps.get("default/a")


async def test_a_dry_run_leaves_nothing() -> None:
    async with running() as client:
        maps = client.resource(MAPS)
        await maps.create(config_map(), dry_run=True)
        assert (await maps.list(namespace="default", labels="app=a")).items == ()


async def test_unknown_fields_are_refused_warned_of_or_dropped(caplog: pytest.LogCaptureFixture) -> None:
    async with running() as client:
        schema = {"type": "object", "properties": {"spec": {"type": "object"}}}
        definition = custom_resource_definition(WIDGETS, schema=schema)
        await client.resource(Resource.builtin("CustomResourceDefinition")).create(definition)
        widgets = client.resource(await client.mapper.find("widgets"))
        with pytest.raises(BadRequestError, match='unknown field "nonsense"'):
            await widgets.create(custom_object(WIDGETS, "a") | {"nonsense": 1}, field_validation="Strict")
        await widgets.create(custom_object(WIDGETS, "a") | {"nonsense": 1}, field_validation="Ignore")
        assert caplog.messages == []
        made = await widgets.create(custom_object(WIDGETS, "b") | {"nonsense": 1}, field_validation="Warn")
        assert "nonsense" not in made
        assert len(caplog.messages) == 1
        assert 'the server warns: unknown field "nonsense"' in caplog.messages[0]


async def test_the_one_that_was_meant_is_deleted_and_waited_for_and_no_other() -> None:
    async with running() as client:
        maps = client.resource(MAPS).where(namespace="default")
        old = await maps.create(config_map())
        await maps.delete("a", uid=old.metadata.uid)
        new = await maps.create(config_map())
        assert await wait_for(maps, "a", is_deleted, uid=old.metadata.uid, timeout=5.0) is None
        with pytest.raises(ConflictError):
            await maps.delete("a", uid=old.metadata.uid)
        assert (await maps.get("a")).metadata.uid == new.metadata.uid


async def test_apply_makes_and_changes_and_minds_other_owners() -> None:
    async with running() as client:
        maps = client.resource(MAPS)
        await maps.apply(config_map(x="1"), field_manager="one")
        with pytest.raises(ConflictError) as caught:
            await maps.apply(config_map(x="2"), field_manager="two")
        assert caught.value.details["causes"][0]["reason"] == "FieldManagerConflict"
        forced = await maps.apply(config_map(x="2"), field_manager="two", force=True)
        assert forced["data"] == {"x": "2"}


async def test_status_and_scale_are_written_apart_from_the_rest() -> None:
    async with running() as client:
        deployments = client.resource(DEPLOYMENTS)
        await deployments.create(deployment())
        await deployments.status.patch("default/web", {"status": {"replicas": 1}, "spec": {"replicas": 9}})
        found = await deployments.get("default/web")
        assert (found["spec"]["replicas"], found.at("status", "replicas")) == (1, 1)
        scale = await deployments.scale.get("default/web")
        assert (scale.kind, scale["spec"]["replicas"]) == ("Scale", 1)
        await deployments.scale.patch("default/web", {"spec": {"replicas": 3}})
        assert (await deployments.get("default/web"))["spec"]["replicas"] == 3


async def test_pages_show_one_moment() -> None:
    async with running() as client:
        maps = client.resource(MAPS).where(namespace="default")
        for number in range(7):
            await maps.create(config_map(f"m{number}"))
        names, versions = [], set()
        async for page in maps.pages(limit=3, labels="app"):
            names += [obj.key.name for obj in page.items]
            versions.add(page.version)
            if len(names) == 3:
                await maps.delete("m6")
                await maps.create(config_map("m9"))
        assert names == [f"m{number}" for number in range(7)]
        assert len(versions) == 1


async def test_a_watch_tells_what_happens_after_a_list() -> None:
    async with running() as client:
        maps = client.resource(MAPS).where(namespace="default", labels="app=a")
        version = (await maps.list()).version
        async with maps.watch(version=version) as batches:
            await maps.create(config_map("a"))
            await maps.create(config_map("b"))
            await maps.patch("a", {"data": {"x": "1"}})
            await maps.delete("a")
            events: list[WatchEvent] = []
            while len(events) < 3:
                events += await anext(batches)
        assert [event.type for event in events] == [EventType.ADDED, EventType.MODIFIED, EventType.DELETED]
        assert {event.obj.key.name for event in events} == {"a"}


async def test_a_watch_list_ends_its_beginning_with_a_bookmark() -> None:
    async with running() as client:
        maps = client.resource(MAPS).where(namespace="default", labels="app")
        for name in "abc":
            await maps.create(config_map(name))
        async with maps.watch(initial_events=True) as batches:
            events: list[WatchEvent] = []
            while not (events and events[-1].ends_initial_events):
                events += await anext(batches)
        assert [event.obj.key.name for event in events[:-1]] == ["a", "b", "c"]
        assert events[-1].version


async def test_what_the_server_refuses_has_its_class() -> None:
    async with running() as client:
        with pytest.raises(NotFoundError):
            await client.resource(Resource("example.com", "v1", "widgets", "Widget")).list()
        with pytest.raises(BadRequestError):
            await client.resource(MAPS).list(version="nonsense")
        with pytest.raises((ExpiredError, BadRequestError)):
            await client.resource(MAPS).list(limit=1, continue_token="nonsense")


async def test_a_conflict_is_solved_by_reading_anew() -> None:
    async with running() as client:
        maps = client.resource(MAPS)
        await maps.create(config_map(n="0"))

        async def add() -> Object:
            draft = (await maps.get("default/a")).thaw()
            draft["data"]["n"] = str(int(draft["data"]["n"]) + 1)
            return await maps.replace(draft)

        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(lambda: retry_on_conflict(add, attempts=10))
        assert (await maps.get("default/a"))["data"] == {"n": "4"}


async def test_waiting_sees_what_comes_and_what_goes() -> None:
    async with running() as client:
        deployments = client.resource(DEPLOYMENTS)

        async def live() -> None:
            await deployments.create(deployment())
            condition = {"type": "Available", "status": "True"}
            await deployments.status.patch("default/web", {"status": {"conditions": [condition]}})

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(live)
            found = await wait_for(deployments, "default/web", "Available", timeout=5.0)
            assert found.key.name == "web"
            tasks.start_soon(deployments.delete, "default/web")
            assert await wait_for(deployments, "default/web", is_deleted, timeout=5.0) is None
