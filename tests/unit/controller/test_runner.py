import logging
from typing import Any

import anyio
import pytest

from kinformer.controller import Controller, Manager, Request, RequeueAfter
from kinformer.meta import Object, ObjectKey, Resource
from kinformer.testing import (
    Cluster,
    config_map,
    custom_object,
    custom_resource_definition,
    namespace,
    settle,
)

CONFIG_MAPS = Resource.builtin("ConfigMap")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")


class Diary:
    """A controller of config maps that writes down what it is asked, and waits where a test says."""

    def __init__(self, name: str = "diary", resource: Resource = CONFIG_MAPS) -> None:
        self.requests: list[Request] = []
        self.ended = 0
        self.gate: anyio.Event | None = None
        self.controller = Controller(name, self.reconcile).watches(resource)

    async def reconcile(self, request: Request) -> None:
        self.requests.append(request)
        if self.gate is not None:
            await self.gate.wait()
        self.ended += 1

    @property
    def keys(self) -> list[str]:
        return sorted(str(request.key) for request in self.requests)


def manager_for(cluster: Cluster, *diaries: Diary, **options: Any) -> Manager:
    controllers = [diary.controller for diary in diaries]
    return Manager(*controllers, clients=cluster.client, clock=cluster.clock, **options)


async def test_caches_are_complete_before_the_first_reconcile() -> None:
    seen: list[int] = []

    async def reconcile(request: Request) -> None:
        seen.append(len(request.lister(CONFIG_MAPS)))

    controller = Controller("counter", reconcile).watches(CONFIG_MAPS)
    async with Cluster(*(config_map(f"c{number}") for number in range(5))) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: len(seen) == 5)
            manager.stop()
    assert seen == [5] * 5


async def test_a_typed_lister_decodes() -> None:
    labels: list[dict[str, str]] = []

    async def reconcile(request: Request) -> None:
        found = request.lister(CONFIG_MAPS, dict).get(request.key)
        assert isinstance(found, dict)
        labels.append(found["data"])

    controller = Controller("typed", reconcile).watches(CONFIG_MAPS)
    async with Cluster(config_map("a", data={"x": "y"})) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: labels == [{"x": "y"}])
            manager.stop()


async def test_a_missing_kind_is_told_of_every_ten_seconds_and_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    diary = Diary(resource=WEBSITES)
    async with Cluster() as cluster:
        manager = manager_for(cluster, diary)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await cluster.clock.advance(29)
            told = [record.getMessage() for record in caplog.records if "still waits" in record.getMessage()]
            assert len(told) == 2
            assert told[0].startswith(
                "diary: still waits for its cache of websites.example.dev: the server does not serve it: "
            )
            await cluster.client.resource(Resource.builtin("CustomResourceDefinition")).create(
                custom_resource_definition(WEBSITES)
            )
            await cluster.client.resource(WEBSITES).create(custom_object(WEBSITES, "shop"))
            await cluster.until(lambda: diary.keys == ["default/shop"], timeout=120)
            manager.stop()


async def test_a_controller_that_has_stopped_hears_no_more_while_another_takes_its_grace() -> None:
    busy, heard = Diary("busy"), list[str]()
    busy.gate = anyio.Event()

    async def reconcile(request: Request) -> None: ...

    def hear(obj: Object) -> list[ObjectKey]:
        heard.append(obj.metadata.name)
        return []

    idle = Controller("idle", reconcile).watches(WEBSITES).watches(CONFIG_MAPS, map=hear)
    async with Cluster(custom_resource_definition(WEBSITES), config_map("a")) as cluster:
        manager = Manager(busy.controller, idle, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await settle()
            manager.stop()
            await settle()
            await cluster.client.resource(CONFIG_MAPS).create(config_map("late"))
            await settle()
            busy.gate.set()
    assert heard == ["a"]


async def test_a_requeued_key_comes_back() -> None:
    moments: list[float] = []

    async def reconcile(request: Request) -> RequeueAfter:
        moments.append(cluster.clock.monotonic())
        return RequeueAfter(60)

    controller = Controller("tick", reconcile).watches(CONFIG_MAPS)
    async with Cluster(config_map("a")) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.clock.advance(150)
            manager.stop()
    assert [moment - moments[0] for moment in moments] == [0, 60, 120]


async def test_the_start_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kinformer.controller")
    async with Cluster() as cluster:
        manager = manager_for(cluster, Diary())
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            manager.stop()
    assert "diary: caches are synced, reconciling" in caplog.messages


async def test_several_namespaces_are_one_cache_and_a_third_one_is_none_of_its_business() -> None:
    seen: dict[str, int] = {}

    async def reconcile(request: Request) -> None:
        seen[str(request.key)] = len(request.lister(CONFIG_MAPS))

    controller = Controller("counter", reconcile).watches(CONFIG_MAPS, namespaces=["shop", "till", "later"])
    objects = [
        made
        for name in ("shop", "till", "other")
        for made in (namespace(name), config_map("a", namespace=name))
    ]
    async with Cluster(*objects) as cluster, cluster.running(controller):
        await cluster.until(lambda: seen == {"shop/a": 2, "till/a": 2})
        await cluster.create(config_map("b", namespace="till"), config_map("b", namespace="other"))
        await cluster.until(lambda: seen.get("till/b") == 3)
        await cluster.create(namespace("later"), config_map("c", namespace="later"))
        await cluster.until(lambda: seen.get("later/c") == 4)
    assert seen.keys() == {"shop/a", "till/a", "till/b", "later/c"}
