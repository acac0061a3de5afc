"""The example's ReplicaSet controller in a cluster whose connection fails it as a seed says."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any, Final

import httpx

from kinformer.client import Client
from kinformer.controller import Consistency, Manager
from kinformer.meta import Object, Resource
from kinformer.testing import AppTransport, Cluster, FakeClock, custom_object, pod
from kinformer.testing._running import running


def _imported(file: Path) -> Any:
    """A module whose name begins with a digit."""
    spec = spec_from_file_location("replicaset_example", file)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


EXAMPLE: Final = _imported(Path(__file__).parents[2] / "examples" / "06_replicaset.py")
REPLICA_SETS: Final = Resource.builtin("ReplicaSet")
PODS: Final = Resource.builtin("Pod")
LABELS: Final = {"app": "web"}
KEY: Final = "default/web"

Send = Callable[[httpx.Request], Awaitable[httpx.Response]]


def replica_set(replicas: int, name: str = "web", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "web", "image": "nginx:1.29"}]
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": containers}}
    rest = {"selector": {"matchLabels": LABELS}, "template": template}
    return custom_object(REPLICA_SETS, name, spec={"replicas": replicas, **rest, **spec})


def ready(since: str = "2020-01-01T00:00:00Z", phase: str = "Running") -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": since}
    return {"status": {"phase": phase, "conditions": [condition]}}


class Line(AppTransport):
    """The controller's connection: may answer requests itself, and be slow with what watches bring.

    Attributes:
        before: Called with each request that is no watch and about no event; may answer it, by itself or through ``send``.
        watched: Called with each watch, at its beginning and before each chunk; may wait, or break it.
        is_expired: Asked about each watch from a version on; where it says so, that version is gone, and all is listed again.
    """

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(cluster.server.app, clock=cluster.clock)
        self.before: Callable[[httpx.Request, Send], Awaitable[httpx.Response]] = _pass
        self.watched: Callable[[str], Awaitable[None]] = _nothing
        self.is_expired: Callable[[], bool] = bool

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if "watch" in request.url.params:
            if "sendInitialEvents" not in request.url.params and self.is_expired():
                return refusal(410, "Expired")
            await self.watched(path)
            response = await super().handle_async_request(request)
            assert isinstance(response.stream, httpx.AsyncByteStream)
            response.stream = _Watched(response.stream, path, self)
            return response
        if "events.k8s.io" in path:
            return await super().handle_async_request(request)
        return await self.before(request, super().handle_async_request)


class _Watched(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream, path: str, line: Line) -> None:
        self._inner = inner
        self._path = path
        self._line = line

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            await self._line.watched(self._path)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


async def _pass(request: httpx.Request, send: Send) -> httpx.Response:
    return await send(request)


async def _nothing(path: str) -> None:
    return


def refusal(code: int, reason: str, message: str = "as the test wants") -> httpx.Response:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return httpx.Response(code, json={**status, "reason": reason, "message": message})


class Scene:
    """A cluster with one ReplicaSet, and its controller."""

    def __init__(self, cluster: Cluster, line: Line, example: Any) -> None:
        self.cluster = cluster
        self.line = line
        self.example = example
        self.sets = cluster.client.resource(REPLICA_SETS)
        self.pods = cluster.client.resource(PODS)

    @property
    def clock(self) -> FakeClock:
        return self.cluster.clock

    async def owned(self) -> list[Object]:
        """The pods that have an owner and live, by name."""
        found = (await self.pods.list(namespace="default")).items
        return sorted(filter(is_owned, found), key=lambda each: each.metadata.name)

    async def names(self) -> list[str]:
        return [each.metadata.name for each in await self.owned()]

    async def status(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (await self.sets.get(KEY)).at("status", default={})
        return found

    async def scale(self, replicas: int) -> None:
        await self.sets.scale.patch(KEY, {"spec": {"replicas": replicas}})

    async def until(self, count: int, *, timeout: float = 60.0) -> None:
        """Wait until there are so many, and the status says so."""

        async def is_so() -> bool:
            return len(await self.owned()) == (await self.status()).get("replicas") == count

        await self.cluster.until(is_so, timeout=timeout)


def is_owned(each: Object) -> bool:
    """Whether it has an owner, and lives."""
    return each.metadata.controller is not None and bool(EXAMPLE.is_active(each))


@asynccontextmanager
async def scene(
    *objects: Mapping[str, Any], consistency: Consistency = "overlay", seed: int = 0
) -> AsyncIterator[Scene]:
    """Objects, and the controller once its caches are full."""
    example = EXAMPLE.ReplicaSets(consistency=consistency)
    async with Cluster(*objects, random=Random(seed)) as cluster:
        line = Line(cluster)
        async with Client("http://line.invalid", transport=line, clock=cluster.clock) as client:
            manager = Manager(example.controller, clients=client, clock=cluster.clock, random=Random(seed))
            async with running(manager, clock=cluster.clock, timeout=120, grace=5):
                yield Scene(cluster, line, example)


def orphan(name: str, **labels: str) -> dict[str, Any]:
    return pod(name, labels={**LABELS, **labels})
