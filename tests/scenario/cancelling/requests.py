"""Requests that are cancelled inside the server: the application itself is called, as a client that goes is waited for."""

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import anyio
import msgspec
from anyio.lowlevel import checkpoint

from kinformer.apiserver.storage import KeyRange, MemoryKV
from kinformer.client import Client
from kinformer.errors import NotFoundError
from kinformer.meta import Resource
from kinformer.testing import custom_object, custom_resource_definition
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import (
    CONFIG_MAPS,
    DEFINITIONS,
    GADGETS,
    NAMESPACES,
    PODS,
    WIDGETS,
    Interference,
    World,
    world,
)

MAPS = "/api/v1/namespaces/default/configmaps"
PODS_PATH = "/api/v1/namespaces/default/pods"
ANEW = MAPS + "/{name}-new?fieldManager=me"
SPACES = "/api/v1/namespaces"
KINDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SCALE = "/apis/apps/v1/namespaces/default/deployments/{name}/scale"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/{name}"
GADGET = "/apis/example.dev/v1/namespaces/default/gadgets/only"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
JSON = "application/json"
DATA = {"data": {"x": "1"}}
ADD = [{"op": "add", "path": "/data", "value": {"x": "1"}}]
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "{name}"}}
NEW_MAP = {**MAP, "metadata": {"name": "{name}-new"}}
THREE = {"spec": {"replicas": 3}}
REPLACE_SCALE = [{"op": "replace", "path": "/spec/replicas", "value": 3}]
STATE = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
STORED_KINDS = "/registry/apiextensions.k8s.io/customresourcedefinitions/"
FUTURE = 1_000_000
FREE = {"metadata": {"finalizers": None}}
HELD = {"metadata": {"finalizers": ["example.dev/held"]}}


async def appear(kv: MemoryKV, key: str) -> None:
    name = key.rpartition("/")[2]
    metadata = {"name": name, "namespace": "default", "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    await kv.put(key, msgspec.json.encode({**MAP, "metadata": metadata}))


async def move(kv: MemoryKV, key: str) -> None:
    found = await kv.get(key)
    assert found is not None
    await kv.put(key, found.value)


async def rest(kv: MemoryKV, key: str) -> None:
    """Nothing happens."""


async def vanish(kv: MemoryKV, key: str) -> None:
    await kv.delete(key)


async def fail(kv: MemoryKV, key: str) -> None:
    raise OSError("the disk is gone")


async def recur(kv: MemoryKV, key: str) -> None:
    raise RecursionError


async def let_be(client: Client, name: str) -> None:
    """What most need."""


async def define_rival(client: Client, name: str) -> None:
    """Two definitions of one kind: the second one waits for its name."""
    rival = Resource("example.dev", "v1", "widgets", "Gadget")
    await client.resource(DEFINITIONS).create(custom_resource_definition(rival))


async def hold_definition(client: Client, name: str) -> None:
    await client.resource(DEFINITIONS).patch("gadgets.example.dev", HELD)


async def withdraw_held(client: Client, name: str) -> None:
    await hold_definition(client, name)
    await client.resource(DEFINITIONS).delete("gadgets.example.dev")


async def delete_held(client: Client, name: str) -> None:
    await client.resource(CONFIG_MAPS).patch(f"default/{name}", HELD)
    await client.resource(CONFIG_MAPS).delete(f"default/{name}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A request. ``{name}`` is what exists before; ``{name}-new`` does not."""

    method: str
    target: str
    kind: str = ""
    body: Any = None
    meanwhile: Mapping[str, Sequence[Interference]] = field(default_factory=dict)
    """What somebody else does to the storage before the first calls of its methods."""
    token: str = ""
    """What it shows."""
    before: Callable[[Client, str], Awaitable[object]] = let_be
    """What is done before the request, given the name."""


REQUESTS: Final = {
    "get": Asked("GET", MAPS + "/{name}"),
    "get what is yet to come": Asked("GET", f"{MAPS}/{{name}}?resourceVersion={FUTURE}"),
    "get a table": Asked("GET", MAPS + "/{name}?table"),
    "list": Asked("GET", MAPS + "?limit=1"),
    "list at a version": Asked("GET", MAPS + "?resourceVersion=2"),
    "list what is missing": Asked("GET", MAPS + "/missing"),
    "discover": Asked("GET", "/apis"),
    "get from a broken disk": Asked("GET", MAPS + "/{name}", meanwhile={"get": [fail]}),
    "get what is too deep": Asked("GET", MAPS + "/{name}", meanwhile={"get": [recur]}),
    "watch": Asked("GET", f"{MAPS}?{STATE}&timeoutSeconds=3&allowWatchBookmarks=true"),
    "watch from a version": Asked("GET", MAPS + "?watch=1&resourceVersion=2&timeoutSeconds=1"),
    "watch from now": Asked(
        "GET", MAPS + "?watch=1&timeoutSeconds=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan"
    ),
    "watch what is yet to come": Asked("GET", f"{MAPS}?{STATE}&resourceVersion={FUTURE}"),
    "create": Asked("POST", MAPS, JSON, {"metadata": {"name": "{name}-new"}}),
    "create what is there": Asked("POST", MAPS, JSON, {"metadata": {"name": "{name}"}}),
    "generate a name": Asked("POST", MAPS, JSON, {"metadata": {"generateName": "g-"}}),
    "replace": Asked("PUT", MAPS + "/{name}", JSON, {"metadata": {"name": "{name}"}, **DATA}),
    "replace what is missing": Asked("PUT", LEASE, JSON, {"metadata": {"name": "{name}"}, "spec": {}}),
    "merge with somebody faster": Asked("PATCH", MAPS + "/{name}", MERGE, DATA, {"put": [move]}),
    "merge": Asked("PATCH", MAPS + "/{name}", MERGE, DATA),
    "JSON patch": Asked("PATCH", MAPS + "/{name}", JSON_PATCH, ADD),
    "strategic merge": Asked("PATCH", MAPS + "/{name}", STRATEGIC, DATA),
    "apply": Asked("PATCH", MAPS + "/{name}?fieldManager=me&force=true", APPLY, {**MAP, **DATA}),
    "apply anew": Asked("PATCH", ANEW, APPLY, NEW_MAP),
    "apply anew with somebody faster": Asked("PATCH", ANEW, APPLY, NEW_MAP, {"put": [appear]}),
    "apply to what vanishes": Asked(
        "PATCH", MAPS + "/{name}?fieldManager=me", APPLY, {**MAP, **DATA}, {"get": [rest, vanish]}
    ),
    "delete": Asked("DELETE", MAPS + "/{name}", JSON, {"propagationPolicy": "Foreground"}),
    "delete a pod": Asked("DELETE", PODS_PATH + "/{name}"),
    "delete a namespace": Asked("DELETE", SPACES + "/{name}"),
    "delete all": Asked("DELETE", MAPS),
    "read the scale": Asked("GET", SCALE),
    "patch the scale": Asked("PATCH", SCALE, MERGE, THREE),
    "JSON patch of the scale": Asked("PATCH", SCALE, JSON_PATCH, REPLACE_SCALE),
    "write the scale": Asked("PUT", SCALE, JSON, {"metadata": {"name": "{name}"}, **THREE}),
    "define": Asked("POST", KINDS, JSON, custom_resource_definition(WIDGETS)),
    "withdraw": Asked("DELETE", KINDS + "/gadgets.example.dev"),
    "withdraw what others wait for": Asked("DELETE", KINDS + "/gadgets.example.dev", before=define_rival),
    "withdraw what is held": Asked("DELETE", KINDS + "/gadgets.example.dev", before=hold_definition),
    "let go of a definition": Asked(
        "PATCH", KINDS + "/gadgets.example.dev", MERGE, FREE, before=withdraw_held
    ),
    "let go": Asked("PATCH", MAPS + "/{name}", MERGE, FREE, before=delete_held),
}


async def requests_in_the_server(sweep: Sweep) -> None:
    async with world() as made:
        names = (f"a{number}" for number in count())
        for asked in REQUESTS.values():
            await sweep_request(sweep, asked, made, names)


async def sweep_request(sweep: Sweep, asked: Asked, made: World, names: Iterator[str]) -> None:
    name = ""

    async def prepare() -> None:
        nonlocal name
        name = next(names)
        made.kv.meanwhile.clear()
        for resource in (CONFIG_MAPS, PODS, NAMESPACES):
            await made.server.cacher(resource).begin()  # caches outlive the request that they are made for
        await furnish(made, name)
        await asked.before(made.client, name)

    async def request() -> None:
        made.kv.meanwhile.update({method: iter(acts) for method, acts in asked.meanwhile.items()})
        await ask(made, asked, name)

    await sweep.of(request, prepare=prepare, held=made.held, whole=made.is_whole)


async def furnish(made: World, name: str) -> None:
    """Put things straight into the storage, as other servers of it do; definitions are this one's own matter."""
    for item in (await made.kv.kv.range(KeyRange.prefix("/registry/"))).items:
        if item.key.rpartition("/")[2].startswith(("a", "g-")):
            await made.kv.kv.delete(item.key)
    own = {"name": name, "uid": "u", "creationTimestamp": "2026-01-01T00:00:00Z"}
    pods = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    content: dict[str, dict[str, Any]] = {
        f"core/configmaps/default/{name}": MAP,
        f"core/pods/default/{name}": {"apiVersion": "v1", "kind": "Pod", "spec": pods["spec"]},
        f"apps/deployments/default/{name}": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "spec": {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": pods},
        },
        f"core/namespaces/{name}": {
            "apiVersion": "v1",
            "kind": "Namespace",
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        },
    }
    for place, obj in content.items():
        metadata = {**own, "namespace": "default"} if obj["kind"] != "Namespace" else own
        await made.kv.kv.put(f"/registry/{place}", msgspec.json.encode({**obj, "metadata": metadata}))
    await restore_definitions(made)


async def restore_definitions(made: World) -> None:
    """Gadgets are defined, with one of them there; whatever became of the definitions the last time."""
    definitions, gadgets = made.client.resource(DEFINITIONS), made.client.resource(GADGETS)
    for item in (await made.kv.kv.range(KeyRange.prefix(STORED_KINDS))).items:
        name, metadata = item.key.rpartition("/")[2], msgspec.json.decode(item.value)["metadata"]
        if name == "widgets.example.dev" or metadata.get("finalizers"):
            await definitions.delete(name)
            with suppress(NotFoundError):
                await definitions.patch(name, FREE)
    if await made.kv.kv.get(STORED_KINDS + "gadgets.example.dev") is None:
        await definitions.create(custom_resource_definition(GADGETS))
    if not (await made.kv.kv.range(KeyRange.prefix("/registry/example.dev/gadgets/"))).items:
        await gadgets.create(custom_object(GADGETS, "only"))


async def ask(made: World, asked: Asked, name: str) -> None:
    """Send a request in two parts to the application, which is slow to read and to write, while time goes on."""
    path, _, query = asked.target.replace("{name}", name).partition("?")
    text = json.dumps(asked.body).replace("{name}", name).encode() if asked.body is not None else b""
    parts = [text[:1], text[1:]]
    is_over = anyio.Event()

    async def receive() -> Any:
        await checkpoint()
        if parts:
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}
        await is_over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        await checkpoint()
        if message["type"] == "http.response.body" and not message.get("more_body"):
            is_over.set()

    headers = [(b"content-type", asked.kind.encode())] if asked.kind else []
    if asked.token:
        headers.append((b"authorization", f"Bearer {asked.token}".encode()))
    scope = {"type": "http", "method": asked.method, "path": path, "query_string": query.encode()}
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(made.server.app, {**scope, "headers": headers}, receive, send)
        await made.clock.advance(4.0)
