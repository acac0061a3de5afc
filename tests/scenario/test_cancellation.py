"""Everything that waits, cut short wherever it does: nothing is left behind."""

from collections.abc import Awaitable, Callable
from itertools import count
from random import Random
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.apiserver import ApiServer
from kinformer.client import Client, ResourceClient, retry_on_conflict, wait_for
from kinformer.controller import (
    Controller,
    Manager,
    Request,
    RequeueAfter,
    add_finalizer,
    remove_finalizer,
)
from kinformer.errors import ConflictError
from kinformer.informer import InformerFactory
from kinformer.meta import Object, Resource
from kinformer.reflector import Reflector
from kinformer.store import DeltaFIFO, Store
from kinformer.testing import (
    AppTransport,
    Cluster,
    FakeClock,
    config_map,
    custom_object,
    custom_resource_definition,
)
from kinformer.testing import namespace as namespace_named
from tests.scenario.cancellation_stage import DEFINITIONS, GADGETS, YieldingKV, at_wait, sweep, world

CONFIG_MAPS = Resource.builtin("ConfigMap")
DEPLOYMENTS = Resource.builtin("Deployment")
NAMESPACES = Resource.builtin("Namespace")
WIDGETS = Resource("example.dev", "v1", "widgets", "Widget")

Work = Callable[[Client, str], Awaitable[object]]
"""One request about an object, whose name is given; it exists before unless it is to be created."""


async def list_in_pages(client: Client, name: str) -> object:
    return [page async for page in client.resource(NAMESPACES).pages(limit=2)]


async def watch_from_the_beginning(client: Client, name: str) -> object:
    async with client.resource(CONFIG_MAPS).watch(initial_events=True) as batches:
        return await anext(batches)


async def watch_from_now(client: Client, name: str) -> object:
    maps = client.resource(CONFIG_MAPS)
    seen = await maps.list(limit=1)
    async with maps.watch(version=seen.version) as batches:
        await maps.create(config_map(f"{name}-more", namespace="default"))
        return await anext(batches)


async def finalize(client: Client, name: str) -> object:
    maps = client.resource(CONFIG_MAPS)
    stale = await maps.get(f"default/{name}")
    await maps.patch(stale.key, {"data": {"x": "2"}}, kind="merge")
    held = await add_finalizer(maps, stale, "example.dev/f")
    await maps.patch(stale.key, {"data": {"x": "3"}}, kind="merge")
    await remove_finalizer(maps, held, "example.dev/f")
    return None


async def delete_it(client: Client, name: str) -> object:
    await client.resource(CONFIG_MAPS).delete(f"default/{name}")
    return None


async def delete_all(client: Client, name: str) -> object:
    await client.resource(CONFIG_MAPS).where(namespace="default").delete_collection()
    return None


async def delete_a_namespace(client: Client, name: str) -> object:
    namespaces = client.resource(NAMESPACES)
    await namespaces.create(namespace_named(name))
    await client.resource(CONFIG_MAPS).create(config_map("inside", namespace=name))
    await namespaces.delete(name)
    return None


async def define_and_withdraw(client: Client, name: str) -> object:
    definitions = client.resource(DEFINITIONS)
    if not [d for d in (await definitions.list()).items if d.metadata.name == "widgets.example.dev"]:
        await definitions.create(custom_resource_definition(WIDGETS))
    await definitions.delete("widgets.example.dev")
    return None


def to_the_map(request: Callable[[ResourceClient[Object], str], Awaitable[object]]) -> Work:
    return lambda client, name: request(client.resource(CONFIG_MAPS), f"default/{name}")


def to_the_deployment(request: Callable[[ResourceClient[Object], str], Awaitable[object]]) -> Work:
    return lambda client, name: request(client.resource(DEPLOYMENTS), f"default/{name}")


def content(key: str, **data: str) -> dict[str, Any]:
    return {**config_map(key.partition("/")[2], namespace="default"), "data": data}


ADD = [{"op": "add", "path": "/data", "value": {"x": "1"}}]
WORKS: dict[str, Work] = {
    "get": to_the_map(lambda maps, key: maps.get(key)),
    "list": to_the_map(lambda maps, key: maps.list()),
    "list in pages": list_in_pages,
    "watch from the beginning": watch_from_the_beginning,
    "watch from now": watch_from_now,
    "create": to_the_map(lambda maps, key: maps.create(content(f"{key}-new"))),
    "generate a name": to_the_map(
        lambda maps, key: maps.create({"metadata": {"generateName": "g-", "namespace": "default"}})
    ),
    "replace": to_the_map(lambda maps, key: maps.replace(content(key, x="1"))),
    "merge": to_the_map(lambda maps, key: maps.patch(key, {"data": {"x": "1"}}, kind="merge")),
    "JSON patch": to_the_map(lambda maps, key: maps.patch(key, ADD, kind="json")),
    "strategic merge": to_the_map(lambda maps, key: maps.patch(key, {"data": {"x": "1"}}, kind="strategic")),
    "apply": to_the_map(lambda maps, key: maps.apply(content(key, x="1"), field_manager="me", force=True)),
    "apply anew": to_the_map(lambda maps, key: maps.apply(content(f"{key}-new"), field_manager="me")),
    "delete": delete_it,
    "delete all": delete_all,
    "write status": to_the_deployment(
        lambda client, key: client.status.patch(key, {"status": {"replicas": 1}}, kind="merge")
    ),
    "scale": to_the_deployment(
        lambda client, key: client.scale.patch(key, {"spec": {"replicas": 3}}, kind="merge")
    ),
    "read the scale": to_the_deployment(lambda client, key: client.scale.get(key)),
    "finalize": finalize,
    "delete a namespace": delete_a_namespace,
    "define and withdraw": define_and_withdraw,
}


@pytest.mark.parametrize("name", WORKS)
async def test_a_request_that_is_cut_short_leaves_nothing_and_the_next_ones_work(name: str) -> None:
    work = WORKS[name]
    async with world() as client:

        async def prepare(number: int) -> None:
            await client.resource(CONFIG_MAPS).create(config_map(f"a{number}", namespace="default"))
            await client.resource(DEPLOYMENTS).create(deployment(f"a{number}"))

        async def request(number: int) -> None:
            await work(client, f"a{number}")

        await sweep(request, prepare=prepare)
        for resource in (CONFIG_MAPS, DEPLOYMENTS, NAMESPACES):  # the server is well, and holds whole objects
            for obj in (await client.resource(resource).list()).items:
                assert obj.metadata.uid
                assert obj.metadata.resource_version
        made = await client.resource(GADGETS).create(custom_object(GADGETS, "last", namespace="default"))
        await client.resource(GADGETS).delete(made.key)


def deployment(name: str) -> dict[str, Any]:
    labels = {"app": name}
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "c", "image": "example.dev/image"}]},
            },
        },
    }


async def test_a_cluster_that_is_cut_short_leaves_nothing() -> None:
    async def live(number: int) -> None:
        async with Cluster(config_map("a")) as cluster:
            maps = cluster.client.resource(CONFIG_MAPS)
            cluster.clock.call_at(2.0, lambda: None)
            await cluster.until(lambda: has(maps, "a"))
            await cluster.advance(3.0)

    await sweep(live, cut=at_wait)


async def has(maps: ResourceClient[Object], name: str) -> bool:
    return [obj.metadata.name for obj in (await maps.list(namespace="default")).items] == [name]


async def test_a_server_that_is_cut_short_while_it_starts_or_stops_leaves_nothing() -> None:
    async def live(number: int) -> None:
        async with ApiServer(storage=YieldingKV(), clock=FakeClock()):
            await checkpoint()

    await sweep(live)


async def test_running_controllers_that_are_cut_short_leave_nothing() -> None:
    async with Cluster(config_map("a")) as cluster:

        async def live(number: int) -> None:
            seen: list[Request] = []

            async def reconcile(request: Request) -> RequeueAfter | None:
                seen.append(request)
                await request.client.resource(CONFIG_MAPS).get(request.key)
                return None

            async with cluster.running(Controller("c", reconcile).watches(CONFIG_MAPS)):
                await cluster.until(lambda: bool(seen))

        await sweep(live, cut=at_wait)


async def test_a_manager_that_opens_its_own_client_leaves_nothing() -> None:
    async with Cluster(config_map("a")) as cluster:
        transports: list[AppTransport] = []

        async def reconcile(request: Request) -> None: ...

        async def live(number: int) -> None:
            transports.append(AppTransport(cluster.server.app, clock=cluster.clock))
            client = Client("http://test", transport=transports[-1], clock=cluster.clock)
            manager = Manager(
                Controller("c", reconcile).watches(CONFIG_MAPS), clients=client, clock=cluster.clock
            )
            async with client, anyio.create_task_group() as tasks:
                await tasks.start(manager.run)
                manager.stop()

        await sweep(live)


async def test_informers_and_reflectors_that_are_cut_short_leave_nothing() -> None:
    async with world() as client:
        maps = client.resource(CONFIG_MAPS)
        await maps.create(config_map("a", namespace="default"))

        async def inform(number: int) -> None:
            factory = InformerFactory(client, clock=FakeClock())
            async with anyio.create_task_group() as tasks:
                with factory.acquire(CONFIG_MAPS) as informer:
                    await tasks.start(factory.run)
                    await informer.wait_synced()
                    made = await maps.create(config_map(f"b{number}", namespace="default"))
                    await informer.wait_for(made.metadata.resource_version)
                tasks.cancel_scope.cancel()

        await sweep(inform)

        for watch_list in (True, False):

            async def reflect(number: int, watch_list: bool = watch_list) -> None:
                fifo = DeltaFIFO(Store())
                reflector = Reflector(maps, fifo, watch_list=watch_list, clock=FakeClock(), random=Random(1))
                async with anyio.create_task_group() as tasks:
                    await tasks.start(reflector.run)
                    assert len(fifo) >= 1
                    tasks.cancel_scope.cancel()

            await sweep(reflect)


async def test_trying_again_that_is_cut_short_leaves_nothing() -> None:
    async with world() as client:
        maps = client.resource(CONFIG_MAPS)
        await maps.create(config_map("a", namespace="default"))

        async def try_again(number: int) -> None:
            clock, attempts = FakeClock(), count()

            async def attempt() -> None:
                obj = await maps.get("default/a")
                if next(attempts) < 2:
                    raise ConflictError(409, "Conflict", "somebody was faster")
                await maps.replace({**obj.thaw(), "data": {"x": "1"}})

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(clock.advance, 60.0)
                await retry_on_conflict(attempt, clock=clock)
            assert clock.next_timer is None

        await sweep(try_again, cut=at_wait)


async def test_waiting_for_a_condition_that_is_cut_short_leaves_nothing() -> None:
    async with world() as client:
        maps = client.resource(CONFIG_MAPS)

        async def wait(number: int) -> None:
            name = f"c{number}"
            await maps.create(config_map(name, namespace="default"))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(lambda: maps.patch(f"default/{name}", {"data": {"x": "1"}}, kind="merge"))
                await wait_for(
                    maps, f"default/{name}", lambda obj: obj is not None and "data" in obj, timeout=9
                )

        await sweep(wait)
