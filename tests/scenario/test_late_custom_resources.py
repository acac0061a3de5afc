"""Informers and controllers of a custom resource that the embedded apiserver comes to serve much later."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from typing import Self

import anyio
import httpx

from kinformer.apiserver import ApiServer
from kinformer.client import Client
from kinformer.controller import Controller, Manager, Request
from kinformer.informer import InformerFactory
from kinformer.meta import Resource
from kinformer.testing import (
    AppTransport,
    Cluster,
    FakeClock,
    config_map,
    custom_object,
    custom_resource_definition,
)

CONFIG_MAPS = Resource.builtin("ConfigMap")
DEFINITIONS = Resource.builtin("CustomResourceDefinition")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
DEFINED = custom_resource_definition(WEBSITES)


class Witness(httpx.AsyncBaseTransport):
    """Sees what is asked of a server, and which answers are still being read."""

    def __init__(self, inner: AppTransport) -> None:
        self.inner = inner
        self.asked: list[httpx.URL] = []
        self.open: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.inner.__aexit__()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url)
        response = await self.inner.handle_async_request(request)
        assert isinstance(response.stream, httpx.AsyncByteStream)
        response.stream = _Seen(response.stream, request.url.path.rpartition("/")[2], self.open)
        return response

    def watches(self, plural: str) -> list[httpx.URL]:
        return [url for url in self.asked if url.path.endswith(f"/{plural}") and "watch" in url.params]


class _Seen(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, name: str, counted: Counter[str]) -> None:
        self.inner, self.name, self.counted = inner, name, counted
        counted[name] += 1

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self.inner:
            yield chunk

    async def aclose(self) -> None:
        self.counted[self.name] -= 1
        await self.inner.aclose()


@asynccontextmanager
async def stage() -> AsyncIterator[tuple[Client, Witness, FakeClock]]:
    clock = FakeClock()
    async with ApiServer(clock=clock) as server:
        witness = Witness(AppTransport(server.app, clock=clock))
        async with Client("http://server", transport=witness, clock=clock) as client:
            yield client, witness, clock


async def test_informers_of_a_kind_follow_its_definition_and_watch_definitions_no_longer_than_that() -> None:
    async with stage() as (client, witness, clock), anyio.create_task_group() as tasks:
        definitions, websites = client.resource(DEFINITIONS), client.resource(WEBSITES)
        factory = InformerFactory(client, clock=clock)
        with ExitStack() as held:
            everywhere = held.enter_context(factory.acquire(WEBSITES))
            somewhere = held.enter_context(factory.acquire(WEBSITES, namespaces=["default"]))
            pods = held.enter_context(factory.acquire(CONFIG_MAPS))
            tasks.start_soon(factory.run)
            await clock.advance(300.0)
            assert pods.is_synced
            assert everywhere.conditions["KindMissing"].status
            assert witness.open["customresourcedefinitions"] == 2
            assert {url.params["fieldSelector"] for url in witness.watches("customresourcedefinitions")} == {
                "metadata.name=websites.example.dev"
            }
            before = len(witness.watches("websites"))

            await definitions.create(
                custom_resource_definition(Resource("example.dev", "v1", "gadgets", "Gadget"))
            )
            await clock.advance(0.5)
            assert len(witness.watches("websites")) == before

            await definitions.create(DEFINED)
            await websites.create(custom_object(WEBSITES, "hello"))
            await clock.advance(0.5)
            for informer in (everywhere, somewhere):
                assert [site.key.name for site in informer.lister.list()] == ["hello"]
                assert not informer.conditions["KindMissing"].status
            assert witness.open["customresourcedefinitions"] == 0

            asked = len(witness.watches("customresourcedefinitions"))
            await clock.advance(1000.0)
            assert len(witness.watches("customresourcedefinitions")) == asked
        tasks.cancel_scope.cancel()


async def test_a_definition_that_is_replaced_is_followed_again() -> None:
    async with stage() as (client, _, clock), anyio.create_task_group() as tasks:
        definitions, websites = client.resource(DEFINITIONS), client.resource(WEBSITES)
        await definitions.create(DEFINED)
        factory = InformerFactory(client, clock=clock)
        with factory.acquire(WEBSITES) as informer:
            tasks.start_soon(factory.run)
            for number in range(3):
                await websites.create(custom_object(WEBSITES, f"site-{number}"))
                await clock.advance(1.0)
                assert [site.key.name for site in informer.lister.list()] == [f"site-{number}"]
                await definitions.delete("websites.example.dev")
                await clock.advance(100.0)
                assert informer.conditions["KindMissing"].status
                await definitions.create(DEFINED)
                await clock.advance(0.1)
        tasks.cancel_scope.cancel()


async def test_a_controller_follows_the_first_object_of_a_kind_that_was_not_there_within_a_second() -> None:
    async def reconcile(request: Request) -> None:
        site = request.lister(WEBSITES).get(request.key)
        if site is not None:
            body = config_map(request.key.name, request.key.namespace)
            await request.client.resource(CONFIG_MAPS).apply(body, field_manager="website")

    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        controller = Controller("website", reconcile).watches(WEBSITES).owns(CONFIG_MAPS)
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        tasks.start_soon(manager.run)
        await cluster.advance(3600.0)
        await cluster.create(DEFINED)
        await cluster.create(custom_object(WEBSITES, "hello"))

        async def is_made() -> bool:
            return (await cluster.client.resource(CONFIG_MAPS).get("default/hello")).key.name == "hello"

        await cluster.until(is_made, timeout=1.0)
        manager.stop()
