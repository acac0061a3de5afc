"""Informers over clients of kubernetes-asyncio, against the embedded apiserver, through a proxy that breaks things."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import anyio
import pytest
from kubernetes_asyncio.client import (
    ApiClient,
    ApiextensionsV1Api,
    Configuration,
    CoreV1Api,
    CustomObjectsApi,
    V1Container,
    V1CustomResourceDefinition,
    V1ObjectMeta,
    V1Pod,
    V1PodSpec,
)

from kinformer.apiserver import ApiServer, CacheOptions
from kinformer.apiserver.storage import MemoryKV
from kinformer.client import Client, KubernetesAsyncioSource
from kinformer.errors import ExpiredError, NotFoundError
from kinformer.informer import Added, Deleted, Notification, SharedInformer, Updated
from kinformer.meta import Object, Resource
from kinformer.reflector import Source
from kinformer.system_clock import SystemClock
from kinformer.testing import custom_object, custom_resource_definition
from tests.wire.fault_proxy import Cut, FaultProxy, Reset

pytestmark = pytest.mark.wire

PODS = Resource.builtin("Pod")
GADGETS = Resource("example.dev", "v1", "gadgets", "Gadget")


class Stage:
    """An apiserver, a proxy before it, and a client of kubernetes-asyncio that goes through the proxy."""

    def __init__(self, storage: MemoryKV, port: int, proxy: FaultProxy, api: ApiClient) -> None:
        self.storage = storage
        self.port = port
        self.proxy = proxy
        self.api = api
        self.core = CoreV1Api(api)

    @property
    def asked(self) -> list[str]:
        return [
            exchange.target
            for exchange in self.proxy.exchanges
            if "namespaces/default/pods" in exchange.target
        ]


@asynccontextmanager
async def stage(cache: CacheOptions | None = None) -> AsyncIterator[Stage]:
    storage, proxy = MemoryKV(first=1000), FaultProxy()
    configuration = Configuration(host=proxy.url)
    async with ApiServer(storage=storage, cache=cache) as server, server.serve() as endpoint:
        try:
            async with ApiClient(configuration) as api:
                yield Stage(storage, endpoint.port, proxy, api)
        finally:
            proxy.close()


def pod(name: str, image: str = "one") -> V1Pod:
    spec = V1PodSpec(containers=[V1Container(name="c", image=image)])
    return V1Pod(metadata=V1ObjectMeta(name=name, namespace="default"), spec=spec)


async def eventually(claim: Callable[[], object]) -> None:
    while not claim():
        await SystemClock().sleep(0.01)


class Diary:
    """Writes down what a handler is told, and by what types."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def __call__(self, told: Notification[V1Pod]) -> None:
        match told:
            case Added(obj):
                self.told.append(f"+{obj.metadata.name} {obj.spec.containers[0].image}")
            case Updated(old, new):
                images = (old.spec.containers[0].image, new.spec.containers[0].image)
                self.told.append(f"~{new.metadata.name} {'>'.join(images)}")
            case Deleted(obj, is_tombstone):
                self.told.append(f"-{obj.metadata.name} {'unseen' if is_tombstone else 'seen'}")


async def patch_image(core: CoreV1Api, name: str, image: str) -> None:
    body = {"spec": {"containers": [{"name": "c", "image": image}]}}
    await core.patch_namespaced_pod(name, "default", body)


def by_method(stage: Stage) -> Source:
    return KubernetesAsyncioSource(
        stage.core.list_namespaced_pod, "default", field_selector="metadata.name!=kept-out"
    )


def by_partial(stage: Stage) -> Source:
    return KubernetesAsyncioSource(
        partial(stage.core.list_namespaced_pod, "default", field_selector="metadata.name!=kept-out")
    )


def by_client(stage: Stage) -> Source:
    return KubernetesAsyncioSource.over(
        stage.api, PODS, namespace="default", fields="metadata.name!=kept-out"
    )


@pytest.mark.parametrize("source", [by_method, by_partial, by_client])
async def test_an_informer_follows_with_one_request_and_gives_models(
    source: Callable[[Stage], Source],
) -> None:
    diary = Diary()
    async with stage() as on, on.proxy.running(on.port):
        core = on.core
        await core.create_namespaced_pod("default", pod("a"))
        await core.create_namespaced_pod("default", pod("kept-out"))
        before = len(on.asked)
        informer = SharedInformer(source(on), model=V1Pod)
        informer.add_handler(diary)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(informer.run)
            await informer.wait_synced()
            assert ["watch=" in target.lower() for target in on.asked[before:]] == [True]
            assert "allowWatchBookmarks" in on.asked[before]
            await core.create_namespaced_pod("default", pod("b"))
            await patch_image(core, "a", "two")
            await core.delete_namespaced_pod("b", "default", grace_period_seconds=0)
            await eventually(lambda: diary.told[-1:] == ["-b seen"])
            held = informer.lister.get("default/a")
            assert isinstance(held, V1Pod)
            assert held.spec.containers[0].image == "two"
            informer.close()
    # A pod is first marked as being deleted.
    assert diary.told == ["+a one", "+b one", "~a one>two", "~b one>one", "-b seen"]


@pytest.mark.parametrize("fault", [Cut(), Reset(), Cut(after=300)], ids=["cut", "reset", "cut in a line"])
async def test_a_connection_that_is_lost_costs_one_watch_and_no_event(fault: Cut | Reset) -> None:
    diary = Diary()
    async with stage() as on, on.proxy.running(on.port):
        informer = SharedInformer(by_method(on), model=V1Pod)
        informer.add_handler(diary)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(informer.run)
            await informer.wait_synced()
            stream = on.proxy.exchanges[-1]
            stream.strike(fault)
            await on.core.create_namespaced_pod("default", pod("a"))
            await on.core.create_namespaced_pod("default", pod("b"))
            await eventually(lambda: len(diary.told) == 2)
            informer.close()
    watches = [target for target in on.asked if "watch=" in target.lower()]
    assert len(watches) == 2
    assert "sendInitialEvents" not in watches[1]
    assert diary.told == ["+a one", "+b one"]


async def test_where_the_history_is_too_short_the_informer_lists_again_and_tells_what_it_missed() -> None:
    diary = Diary()
    async with stage(CacheOptions(lowest=1, highest=1)) as on:
        informer = SharedInformer(by_method(on), model=V1Pod)
        informer.add_handler(diary)
        async with anyio.create_task_group() as tasks:
            async with on.proxy.running(on.port):
                for name in ("a", "b"):
                    await on.core.create_namespaced_pod("default", pod(name))
                tasks.start_soon(informer.run)
                await informer.wait_synced()
            async with Client(f"http://127.0.0.1:{on.port}") as client:  # past the proxy
                pods = client.resource(PODS)
                await pods.delete("default/a", grace_period=0)
                await pods.create(pod("c"))
            async with on.proxy.running(on.port):
                before = len(on.asked)
                await eventually(lambda: len(diary.told) == 4)
                informer.close()
    assert sorted(diary.told) == ["+a one", "+b one", "+c one", "-a unseen"]
    resumed, relisted = on.asked[before:]
    assert "sendInitialEvents" not in resumed
    assert "sendInitialEvents" in relisted


async def test_custom_objects_are_listed_where_their_method_knows_no_watch_list() -> None:
    async with stage() as on, on.proxy.running(on.port):
        definition = cast("V1CustomResourceDefinition", custom_resource_definition(GADGETS))
        await ApiextensionsV1Api(on.api).create_custom_resource_definition(definition)
        custom: Any = CustomObjectsApi(on.api)
        where = ("example.dev", "v1", "default", "gadgets")
        await eventually_served(custom)
        await custom.create_namespaced_custom_object(*where, custom_object(GADGETS, "one"))
        cluster_wide = partial(custom.list_cluster_custom_object, "example.dev", "v1")
        sources = [
            KubernetesAsyncioSource(cluster_wide, "gadgets", resource=GADGETS),
            KubernetesAsyncioSource(custom.list_namespaced_custom_object, *where, resource=GADGETS),
            KubernetesAsyncioSource.over(on.api, GADGETS, namespace="default"),
        ]
        informers: list[SharedInformer[Object]] = [SharedInformer(source) for source in sources]
        async with anyio.create_task_group() as tasks:
            for informer in informers:
                tasks.start_soon(informer.run)
                await informer.wait_synced()
            await custom.create_namespaced_custom_object(*where, custom_object(GADGETS, "two"))
            await custom.delete_namespaced_custom_object(*where, "one")
            for informer in informers:
                await eventually(partial(has_only, informer, "default/two"))
                informer.close()
    kinds = [
        "stream" if "sendInitialEvents" in target else "watch" if "watch=" in target.lower() else "list"
        for target in (exchange.target for exchange in on.proxy.exchanges)
        if "gadgets?" in target
    ]
    assert sorted(kinds) == ["list", "list", "stream", "watch", "watch"]


def has_only(informer: SharedInformer[Object], key: str) -> bool:
    return [str(obj.key) for obj in informer.lister.list()] == [key]


async def eventually_served(custom: CustomObjectsApi) -> None:
    while True:
        try:
            await KubernetesAsyncioSource(
                custom.list_cluster_custom_object, "example.dev", "v1", "gadgets", resource=GADGETS
            ).list()
        except NotFoundError:
            await SystemClock().sleep(0.01)
        else:
            return


async def test_pages_and_versions_reach_the_server() -> None:
    async with stage() as on, on.proxy.running(on.port):
        for name in ("a", "b", "c"):
            await on.core.create_namespaced_pod("default", pod(name))
        source = by_method(on)
        first = await source.list(limit=2)
        assert [obj.key.name for obj in first.items] == ["a", "b"]
        second = await source.list(limit=2, continue_token=first.continue_token)
        assert [obj.key.name for obj in second.items] == ["c"]
        assert second.version == first.version
        await on.core.delete_namespaced_pod("a", "default", grace_period_seconds=0)
        then = await source.list(version=first.version, version_match="Exact")
        assert [obj.key.name for obj in then.items] == ["a", "b", "c"]
        await on.storage.compact(await on.storage.revision())
        with pytest.raises(ExpiredError):
            await source.list(version=first.version, version_match="Exact")


async def test_leaving_a_watch_closes_its_connection_and_keeps_the_others() -> None:
    async with stage() as on, on.proxy.running(on.port):
        source = by_method(on)
        page = await source.list()
        async with source.watch(version=page.version):
            pass
        async with anyio.create_task_group() as tasks:

            async def follow() -> None:
                async with source.watch(version=page.version) as batches:
                    tasks.cancel_scope.cancel()
                    await anext(batches)

            tasks.start_soon(follow)
        moves = on.proxy.moves
        await source.list()
        assert on.proxy.moves > moves
        connector = on.api.rest_client.pool_manager.connector
        assert connector is not None
        await eventually(lambda: not connector._acquired)
