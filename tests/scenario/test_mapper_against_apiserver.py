"""The mapper against the embedded apiserver: what is served, what has just been defined, what is gone."""

from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client, is_deleted, wait_for
from kinformer.errors import AmbiguousError, NoMatchError
from kinformer.meta import Resource
from kinformer.testing import AppTransport, custom_object, custom_resource_definition
from tests.scenario.cancellation_stage import sweep, world

DEFINITIONS = Resource.builtin("CustomResourceDefinition")
WIDGETS = Resource("example.dev", "v1", "widgets", "Widget")


class PlainOnly:
    """An application that has never heard of aggregated discovery."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.paths: list[str] = []

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
        headers = [(name, value) for name, value in scope["headers"] if name != b"accept"]
        accept = (b"accept", b"application/json")
        await self.app(dict(scope) | {"headers": [*headers, accept]}, receive, send)


@asynccontextmanager
async def running(*, plain: bool = False) -> AsyncIterator[Client]:
    async with ApiServer() as server:
        app = PlainOnly(server.app) if plain else server.app
        async with Client("http://embedded", transport=AppTransport(app)) as client:
            yield client


@pytest.mark.parametrize("plain", [False, True], ids=["aggregated", "plain"])
async def test_everything_is_found_by_each_of_its_names(plain: bool) -> None:
    async with running(plain=plain) as client:
        catalog = await client.mapper.catalog()
        assert len(catalog.resources) > 50
        assert catalog.failures == {}
        for one in catalog.resources:
            resource = one.resource
            assert await client.mapper.find(one.full_name) == resource
            assert await client.mapper.find_kind(resource.api_version, resource.kind) == resource
            for name in (resource.plural, resource.kind, one.singular, *one.short_names):
                assert (await client.mapper.find(name)).kind == resource.kind


async def test_a_shared_name_means_the_usual_one() -> None:
    async with running() as client:
        for name in ("events", "ev", "Event", "hpa", "pods", "deploy"):
            assert await client.mapper.find(name) == Resource.builtin(name)


async def test_both_kinds_of_discovery_say_the_same() -> None:
    async with running() as one, running(plain=True) as other:
        assert set((await one.mapper.catalog()).resources) == set((await other.mapper.catalog()).resources)


@pytest.mark.parametrize("plain", [False, True], ids=["aggregated", "plain"])
async def test_a_kind_is_found_as_soon_as_it_is_defined(plain: bool) -> None:
    async with running(plain=plain) as client:
        with pytest.raises(NoMatchError, match="no resource called 'widgets'"):
            await client.mapper.find("widgets")
        definitions = client.resource(DEFINITIONS)
        await definitions.create(custom_resource_definition(WIDGETS))
        await wait_for(definitions, "widgets.example.dev", "Established", timeout=5.0)
        found = await client.mapper.find("Widget")
        assert found == WIDGETS
        await client.resource(found).create(custom_object(found, "first", namespace="default"))

        await definitions.delete("widgets.example.dev")
        await wait_for(definitions, "widgets.example.dev", is_deleted, timeout=5.0)
        client.mapper.invalidate()
        with pytest.raises(NoMatchError):
            await client.mapper.find_kind("example.dev/v1", "Widget")


async def test_two_definitions_of_one_name_are_told_apart() -> None:
    other = Resource("other.dev", "v1", "widgets", "Widget")
    async with running() as client:
        for resource in (WIDGETS, other):
            await client.resource(DEFINITIONS).create(custom_resource_definition(resource))
        with pytest.raises(AmbiguousError) as caught:
            await client.mapper.find("widgets")
        assert set(caught.value.candidates) == {"widgets.v1.example.dev", "widgets.v1.other.dev"}
        assert await client.mapper.find("widgets.other.dev") == other


async def test_a_question_that_is_cut_short_leaves_nothing_and_the_next_is_answered() -> None:
    async with world() as client:

        async def ask(number: int) -> None:
            client.mapper.invalidate()
            async with anyio.create_task_group() as tasks:
                for name in ("deploy", "gadgets"):
                    tasks.start_soon(client.mapper.find, name)

        async def pass_time(number: int) -> None:
            await client.clock.advance(60.0)  # type: ignore[attr-defined]  # the world's clock is a fake one

        await sweep(ask, prepare=pass_time)
        assert (await client.mapper.find("gadgets")).kind == "Gadget"
