"""What is cancelled in: a server whose storage gives way around each step, as one elsewhere would, and its client."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from random import Random
from typing import Any, TypeAlias

import msgspec
from anyio.lowlevel import checkpoint

from kinformer.apiserver import ApiServer, Rbac
from kinformer.apiserver.storage import (
    Change,
    KeyRange,
    KeyValue,
    MemoryKV,
    ReadResult,
    Transaction,
    TransactionResult,
    Watch,
    WatchStream,
)
from kinformer.client import Anonymous, BearerToken, Client, Config
from kinformer.errors import AlreadyExistsError
from kinformer.meta import Resource
from kinformer.testing import AppTransport, FakeClock, custom_resource_definition, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")
DEFINITIONS = Resource.builtin("CustomResourceDefinition")
DEPLOYMENTS = Resource.builtin("Deployment")
NAMESPACES = Resource.builtin("Namespace")
PODS = Resource.builtin("Pod")
GADGETS = Resource("example.dev", "v1", "gadgets", "Gadget")
"""A kind of ours that the server knows."""
WIDGETS = Resource("example.dev", "v1", "widgets", "Widget")
"""Another, which it does not know."""
CACHED = (CONFIG_MAPS, DEFINITIONS, DEPLOYMENTS, NAMESPACES, PODS, *map(Resource.builtin, ("Event", "Lease")))
"""What is listed and watched."""


Interference: TypeAlias = Callable[[MemoryKV, str], Awaitable[object]]
"""What somebody else does to the storage, or near a key of it."""


class YieldingKV:
    """Memory that takes its time.

    Attributes:
        meanwhile: What somebody else does to the memory before the first, the second, ... call of a method.
    """

    def __init__(self) -> None:
        self.kv = MemoryKV()
        self.meanwhile: dict[str, Iterator[Interference]] = {}

    async def _take_time(self, method: str, key: str) -> None:
        await checkpoint()
        if method in self.meanwhile and (interfere := next(self.meanwhile[method], None)) is not None:
            await interfere(self.kv, key)

    async def revision(self) -> int:
        await self._take_time("revision", "")
        return await self.kv.revision()

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        await self._take_time("get", key)
        return await self.kv.get(key, revision=revision)

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        await self._take_time("range", keys.start)
        return await self.kv.range(keys, revision=revision, limit=limit, count_only=count_only)

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> KeyValue:
        await self._take_time("put", key)
        result = await self.kv.put(key, value, expected=expected)
        await checkpoint()
        return result

    async def delete(self, key: str, *, expected: int | None = None) -> Change | None:
        await self._take_time("delete", key)
        result = await self.kv.delete(key, expected=expected)
        await checkpoint()
        return result

    @asynccontextmanager
    async def watch(self, keys: KeyRange, from_revision: int) -> AsyncIterator[Watch]:
        await checkpoint()
        async with self.kv.watch(keys, from_revision) as watch:
            try:
                yield watch
            finally:
                await checkpoint()

    def watch_stream(self) -> AbstractAsyncContextManager[WatchStream]:
        return self.kv.watch_stream()

    async def transact(self, transaction: Transaction) -> TransactionResult:
        return await self.kv.transact(transaction)

    async def tells_progress(self) -> bool:
        await checkpoint()
        return True

    async def compact(self, revision: int) -> None:
        await self.kv.compact(revision)


class World:
    """The server, its client, and what they hold at a moment."""

    def __init__(self, kv: YieldingKV | None = None, auth: Rbac | None = None) -> None:
        self.clock = FakeClock()
        self.kv = kv or YieldingKV()
        self.server = ApiServer(storage=self.kv, auth=auth, clock=self.clock, random=Random(1))
        self.transport = AppTransport(self.server.app, clock=self.clock)
        token = BearerToken(auth.admin_token) if auth else Anonymous()
        self.client = Client(Config("http://test", token), transport=self.transport, clock=self.clock)

    def held(self) -> object:
        """Equal before and after what leaves nothing behind."""
        timers = sorted(timer.when for timer in self.clock._timers if not timer.is_cancelled)
        return len(self.transport._exchanges), self.server.app.open_watches, self.kv.kv.watches, timers

    async def is_whole(self) -> None:
        """What is stored is whole, and served is what is defined."""
        await is_whole(self.kv)
        served = self.server._housekeeping._registry.served()
        kinds = {f"{one.plural}.{one.group}" for one in served if one.is_custom}
        place = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
        assert kinds == {
            item.key.removeprefix(place) for item in (await self.kv.kv.range(KeyRange.prefix(place))).items
        }


async def begin_caches(server: ApiServer, *others: Resource) -> None:
    """Those of the server outlive whoever made them begin."""
    for resource in (*CACHED, *others):
        server.cacher(resource)
    await settle()


async def is_whole(kv: YieldingKV) -> None:
    """Nothing half made is stored, and nothing that is deleted and has nothing to wait for."""
    for item in (await kv.kv.range(KeyRange.prefix("/registry/"))).items:
        content = msgspec.json.decode(item.value)
        metadata = content["metadata"]
        assert metadata["uid"]
        waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
        waits = waits or (content.get("spec") or {}).get("finalizers")
        assert waits or "deletionTimestamp" not in metadata, (
            f"{item.key} is deleted, and nobody takes it away"
        )


@asynccontextmanager
async def world(kv: YieldingKV | None = None, auth: Rbac | None = None) -> AsyncIterator[World]:
    made = World(kv, auth)
    async with made.server, made.client:
        with suppress(AlreadyExistsError):
            await made.client.resource(DEFINITIONS).create(custom_resource_definition(GADGETS))
        await begin_caches(made.server)
        yield made


def deployment(name: str) -> dict[str, Any]:
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": pods}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}
