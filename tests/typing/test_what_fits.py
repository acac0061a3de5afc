"""Which parts fit which holes, and what is refused. mypy reads this file; nothing but the last function is ever called.

Strict mypy calls an ``ignore`` that ignores nothing an error, so each one below is a refusal that is tested.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, assert_type

import httpx
import msgspec
import pytest
from kubernetes_asyncio.client import ApiClient, CoreV1Api, V1Pod

from kinformer import (
    Client,
    Controller,
    InformerFactory,
    Request,
    RequeueAfter,
    SharedInformer,
    WorkQueue,
    wait_for,
)
from kinformer.apiserver import ApiServer
from kinformer.apiserver.storage import KV, MemoryKV
from kinformer.client import KubernetesAsyncioSource, ResourceClient, ResourceReader
from kinformer.clock import Clock
from kinformer.controller import add_finalizer
from kinformer.hooks import Hooks, NoHooks
from kinformer.informer import Added, Deleted, FilteringHandler, Lister, Notification, Updated
from kinformer.informer._backlog import Backlog, Coalesced, InOrder
from kinformer.informer._ingest import Ingest
from kinformer.informer._pace import PacedSource
from kinformer.meta import Object, ObjectKey, ObjectList, Resource
from kinformer.reflector import Reflector, Sink, Source
from kinformer.store import DeltaFIFO, InOrderFIFO
from kinformer.system_clock import SystemClock
from kinformer.testing import AppTransport, FakeClock, ScriptedSource
from kinformer.workqueue import ExponentialLimiter, Limiter, MaxWait, Ready, SlowestOf, TokenBucket


class Pod(msgspec.Struct):
    """A model."""

    spec: dict[str, Any]


# what fits


def sources(
    client: ResourceClient[Object], scripted: ScriptedSource, paced: PacedSource, api: ApiClient
) -> list[Source]:
    theirs = KubernetesAsyncioSource(CoreV1Api(api).list_namespaced_pod, "default", label_selector="a=b")
    over = KubernetesAsyncioSource.over(api, theirs.resource)
    return [client, client.where(namespace="default").without_retries(), scripted, paced, theirs, over]


def a_source_that_cannot_write(reader: ResourceReader[Object]) -> Source:
    return reader.without_retries()


def sinks(fifo: DeltaFIFO, in_order: InOrderFIFO, ingest: Ingest) -> list[Sink]:
    return [fifo, in_order, ingest]


def clocks() -> list[Clock]:
    return [SystemClock(), FakeClock()]


def hooks() -> Hooks:
    return NoHooks()


def storage() -> KV:
    return MemoryKV()


def transport(server: ApiServer) -> httpx.AsyncBaseTransport:
    return AppTransport(server.app)


def backlogs() -> list[Backlog]:
    return [InOrder(), Coalesced()]


def limiters(clock: Clock) -> list[Limiter[str]]:
    each: list[Limiter[str]] = [ExponentialLimiter(1, 2), TokenBucket(1, 1, clock)]
    return [*each, SlowestOf(*each), MaxWait(each[0], 5)]


def an_order_of_keys() -> WorkQueue[ObjectKey]:
    return WorkQueue("q", ready=Ready())


# models flow through


async def what_a_client_gives(client: Client, pods: Resource) -> None:
    typed = client.resource(pods, Pod)
    assert_type(client.resource(pods), ResourceClient[Object])
    assert_type(typed, ResourceClient[Pod])
    assert_type(typed.where(labels="a=b").status, ResourceClient[Pod])
    assert_type(typed.subresource("eviction"), ResourceClient[Object])
    assert_type(await typed.get("default/a"), Pod)
    assert_type(await typed.list(), ObjectList[Pod])
    assert_type((await typed.list()).items, Sequence[Pod])
    assert_type(await wait_for(typed, "default/a", "Ready", timeout=1), Pod)
    assert_type(await wait_for(typed, "default/a", lambda pod: pod is None, timeout=1), Pod | None)
    assert_type(
        await add_finalizer(client.resource(pods), await client.resource(pods).get("a"), "a.b/c"), Object
    )


async def models_of_kubernetes_asyncio_flow_too(client: Client, source: Source, pods: Resource) -> None:
    typed = client.resource(pods, V1Pod)
    assert_type(await typed.get("default/a"), V1Pod)
    assert_type(await typed.create(V1Pod()), V1Pod)
    assert_type(SharedInformer(source, model=V1Pod).lister.get("default/a"), V1Pod | None)


def an_informer_of_several_namespaces(client: ResourceClient[Object]) -> None:
    sources = {namespace: client.where(namespace=namespace) for namespace in ("a", "b")}
    assert_type(SharedInformer(sources), SharedInformer[Object])
    assert_type(SharedInformer(sources, model=Pod), SharedInformer[Pod])


def what_an_informer_gives(factory: InformerFactory, request: Request, pods: Resource) -> None:
    with factory.acquire(pods, Pod) as informer:
        assert_type(informer, SharedInformer[Pod])
        assert_type(informer.lister, Lister[Pod])
        assert_type(informer.lister.get("default/a"), Pod | None)
        informer.add_handler(told_in_time)
        informer.add_handler(told_at_once)
        informer.add_handler(FilteringHandler(lambda pod: bool(pod.spec), told_in_time))
    assert_type(request.lister(pods), Lister[Object])
    assert_type(request.lister(pods, Pod), Lister[Pod])


async def told_in_time(told: Notification[Pod]) -> None:
    told_at_once(told)


def told_at_once(told: Notification[Pod]) -> None:
    match told:
        case Added(obj) | Deleted(obj):
            assert_type(obj, Pod)
        case Updated(old, new):
            assert_type(old, Pod)
            assert_type(new, Pod)


async def what_a_queue_gives(queue: WorkQueue[ObjectKey]) -> None:
    assert_type(await queue.get(), ObjectKey)
    async for lease in queue:
        with lease as key:
            assert_type(key, ObjectKey)


async def reconcile(request: Request) -> RequeueAfter | None:
    return None


def a_controller(pods: Resource) -> Controller:
    return Controller("c", reconcile).watches(pods).owns(pods)


def decorated(controller: Controller, pods: Resource) -> None:
    @controller.reconciler
    async def in_time(request: Request) -> RequeueAfter | None:
        return None

    @controller.reconciler
    async def never_again(request: Request) -> None: ...

    @controller.reconciler
    def in_a_thread(request: Request) -> RequeueAfter:
        return RequeueAfter(len(request.lister(pods)))

    assert_type(in_a_thread(Request("", ObjectKey("default", "a"), Client())), RequeueAfter)


# what is refused


def no_source(client: ResourceClient[int]) -> Source:
    return client  # type: ignore[return-value]  # a reflector takes objects


def no_reflector(client: ResourceClient[Object], queue: WorkQueue[str]) -> None:
    Reflector(client, queue)  # type: ignore[arg-type]  # a queue is no sink


def no_handler(informer: SharedInformer[Pod]) -> None:
    def of_objects(told: Notification[Object]) -> None: ...

    informer.add_handler(of_objects)  # type: ignore[arg-type]  # it is told of pods

    def is_large(obj: Object) -> bool:
        return True

    informer.add_handler(FilteringHandler(is_large, told_at_once))  # type: ignore[arg-type]  # and asked about pods


def no_change(obj: Object, told: Added[Pod]) -> None:
    obj["spec"] = {}  # type: ignore[index]  # what a cache holds is not written to
    told.obj = Pod({})  # type: ignore[misc]


def no_key(queue: WorkQueue[ObjectKey]) -> None:
    queue.add("default/a")  # type: ignore[arg-type]  # text is parsed where it comes in


def no_reconciler(pods: Resource) -> None:
    def of_a_key(key: ObjectKey) -> None: ...

    Controller("c", of_a_key)  # type: ignore[arg-type]  # it is called with a request

    @Controller("c").reconciler  # type: ignore[type-var]
    async def of_an_object(obj: Object) -> None: ...

    @Controller("c").reconciler  # type: ignore[type-var]
    async def of_nothing() -> None: ...

    @Controller("c").reconciler  # type: ignore[type-var]
    async def in_seconds(request: Request) -> float:  # which is RequeueAfter(seconds)
        return 1.0


async def no_guess(lister: Lister[Pod]) -> dict[str, Any]:
    return lister.get("default/a").spec  # type: ignore[union-attr]  # it may be gone


def no_clock(clock: type[SystemClock]) -> Clock:
    return clock  # type: ignore[return-value]  # a class is not a clock


async def no_forgotten_await(client: ResourceClient[Object]) -> None:
    client.delete("default/a")  # type: ignore[unused-coroutine]


@pytest.mark.timeout(120)  # without a cache it reads the whole library first
def test_mypy_agrees() -> None:
    here = Path(__file__)
    command = [sys.executable, "-m", "mypy", str(here)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=here.parents[2], check=False)
    assert found.returncode == 0, found.stdout
