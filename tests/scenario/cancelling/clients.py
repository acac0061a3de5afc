"""The verbs of a client over a slow server in memory, and what else it can be asked; and servers that answer oddly."""

import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Final

import anyio
import httpx
from anyio.lowlevel import checkpoint

from kinformer.client import Call, Client, Config, RateLimit, ResourceClient, Tls, retry_on_conflict, wait_for
from kinformer.client._issued import IssuedCredentials
from kinformer.client._issuer import Issued
from kinformer.errors import ConflictError, RequestError
from kinformer.meta import Object
from kinformer.testing import FakeClock, config_map, custom_resource_definition
from kinformer.testing import namespace as namespace_named
from tests.certificates import Authority
from tests.scenario.cancelling.requests import furnish
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import (
    CONFIG_MAPS,
    DEFINITIONS,
    DEPLOYMENTS,
    NAMESPACES,
    PODS,
    WIDGETS,
    World,
    world,
)
from tests.unit.client.discovery_stage import CORE, line, lines

Work = Callable[[Client, str], Awaitable[object]]
"""One request about an object, whose name is given; it exists before unless it is to be created."""
Act = Callable[[Client], Awaitable[object]]
ADD: Final = [{"op": "add", "path": "/data", "value": {"x": "1"}}]


async def list_in_pages(client: Client, name: str) -> object:
    await client.resource(NAMESPACES).list(limit=2)
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


async def delete_it(client: Client, name: str) -> object:
    await client.resource(CONFIG_MAPS).delete(f"default/{name}")
    return None


async def delete_all(client: Client, name: str) -> object:
    await client.resource(CONFIG_MAPS).where(namespace="default").delete_collection()
    return None


async def delete_a_namespace(client: Client, name: str) -> object:
    namespaces = client.resource(NAMESPACES)
    await namespaces.create(namespace_named(f"{name}-space"))
    await client.resource(CONFIG_MAPS).create(config_map("inside", namespace=f"{name}-space"))
    await namespaces.delete(f"{name}-space")
    return None


async def define_and_withdraw(client: Client, name: str) -> object:
    definitions = client.resource(DEFINITIONS)
    if not [d for d in (await definitions.list()).items if d.metadata.name == "widgets.example.dev"]:
        await definitions.create(custom_resource_definition(WIDGETS))
    await definitions.delete("widgets.example.dev")
    return None


async def find_kinds(client: Client, name: str) -> object:
    client.mapper.invalidate()
    assert isinstance(client.clock, FakeClock)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.clock.advance, 10.0)  # which those wait for who ask too often
        tasks.start_soon(client.mapper.find, "deploy")
        tasks.start_soon(client.mapper.find_kind, "v1", "Pod")
        await client.mapper.catalog()
    return None


class Slow:
    """A witness that takes its time."""

    def sending(self, call: Call, /) -> None:
        """No objection."""

    async def answered(self, call: Call, answer: bytes, /) -> None:
        await checkpoint()


async def write_with_a_witness(client: Client, name: str) -> object:
    maps = client.witnessed(Slow()).resource(CONFIG_MAPS)
    found = await maps.get(f"default/{name}")
    return await maps.patch(found.key, {"data": {"x": "1"}})


def to_the_map(request: Callable[[ResourceClient[Object], str], Awaitable[object]]) -> Work:
    return lambda client, name: request(client.resource(CONFIG_MAPS), f"default/{name}")


def to_the_deployment(request: Callable[[ResourceClient[Object], str], Awaitable[object]]) -> Work:
    return lambda client, name: request(client.resource(DEPLOYMENTS), f"default/{name}")


def content(key: str, **data: str) -> dict[str, Any]:
    return {**config_map(key.partition("/")[2], namespace="default"), "data": data}


WORKS: Final[dict[str, Work]] = {
    "get": to_the_map(lambda maps, key: maps.get(key)),
    "list in pages": list_in_pages,
    "watch from the beginning": watch_from_the_beginning,
    "watch from now": watch_from_now,
    "create": to_the_map(lambda maps, key: maps.create(content(f"{key}-new"))),
    "replace": to_the_map(lambda maps, key: maps.replace(content(key, x="1"))),
    "merge": to_the_map(lambda maps, key: maps.patch(key, {"data": {"x": "1"}}, kind="merge")),
    "JSON patch": to_the_map(lambda maps, key: maps.patch(key, ADD, kind="json")),
    "apply": to_the_map(lambda maps, key: maps.apply(content(key, x="1"), field_manager="me", force=True)),
    "delete": delete_it,
    "delete all": delete_all,
    "scale": to_the_deployment(
        lambda client, key: client.scale.patch(key, {"spec": {"replicas": 3}}, kind="merge")
    ),
    "delete a namespace": delete_a_namespace,
    "define and withdraw": define_and_withdraw,
    "find kinds": find_kinds,
    "write with a witness": write_with_a_witness,
    "ask for something else": lambda client, name: client.request("GET", "/version"),
}


async def verbs(sweep: Sweep) -> None:
    async with world() as made:
        names = (f"a{number}" for number in count())
        for work in WORKS.values():
            await sweep_work(sweep, work, made, names)


async def sweep_work(sweep: Sweep, work: Work, made: World, names: Iterator[str]) -> None:
    name = ""

    async def prepare() -> None:
        nonlocal name
        name = next(names)
        await furnish(made, name)

    async def request() -> None:
        await work(made.client, name)

    await sweep.of(request, prepare=prepare, held=made.held, whole=made.is_whole)


async def waits(sweep: Sweep) -> None:
    """For conditions, through a watch that ends and a server that fails; and for others who write the same object."""
    async with world() as made:
        maps, names = made.client.resource(CONFIG_MAPS), (f"a{number}" for number in count())

        async def wait() -> None:
            name = next(names)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(come_true, made, name)
                await wait_for(
                    maps, f"default/{name}", lambda obj: obj is not None and "data" in obj, timeout=900
                )

        async def try_again() -> None:
            attempts = count()

            async def attempt() -> None:
                obj = await maps.get("default/there")
                if next(attempts) < 4:
                    raise ConflictError(409, "Conflict", "somebody was faster")
                await maps.replace({**obj.thaw(), "data": {"x": "1"}})

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(made.clock.advance, 60.0)
                await retry_on_conflict(attempt, clock=made.clock)

        await maps.create(config_map("there", namespace="default"))
        for work in (wait, try_again):
            await sweep.of(work, held=made.held)


async def come_true(made: World, name: str) -> None:
    """After the watch has come to its end, which is after five minutes, and a server that fails once."""
    made.kv.meanwhile["range"] = iter([fail])
    await made.clock.advance(400.0)
    await made.client.resource(CONFIG_MAPS).create(
        {**config_map(name, namespace="default"), "data": {"x": "1"}}
    )
    await made.clock.advance(100.0)


async def fail(*_: object) -> None:
    raise OSError("the disk is gone")


class Odd(httpx.AsyncBaseTransport):
    """A server that answers as the path says, and takes its time."""

    def __init__(self, connection: "Outdated") -> None:
        self._connection = connection
        self._lists = count()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await checkpoint()
        path, query = request.url.path, request.url.params
        if path == "/fails":
            raise httpx.ConnectError("nobody is there")
        if path == "/refuses" and request.headers.get("Authorization") != "Bearer 3":
            return httpx.Response(401, stream=Parts(b"no"))
        if path == "/outdated":
            return httpx.Response(401, stream=Parts(b"no"), extensions={"network_stream": self._connection})
        if path in GROUPS:
            return httpx.Response(200, stream=Parts(json.dumps(GROUPS[path]).encode()))
        if path.endswith("/log"):
            return httpx.Response(200, stream=Parts(b"a line\n"))
        if path.endswith(
            "/configmaps"
        ):  # the first list comes in pages, of which all but the first are forgotten
            more = {} if "continue" in query or next(self._lists) else {"continue": "more"}
            page = {"metadata": {"resourceVersion": "1", **more}, "items": []}
            return httpx.Response(
                410 if "continue" in query else 200, stream=Parts(json.dumps(page).encode())
            )
        return httpx.Response(500, stream=Parts(b"the disk ", b"is gone"))


GROUPS: Final[dict[str, Any]] = {
    "/api": CORE,
    "/apis": {
        "kind": "APIGroupList",
        "apiVersion": "v1",
        "groups": [
            {
                "name": f"g{number}",
                "versions": [{"groupVersion": f"g{number}/v1", "version": "v1"}],
                "preferredVersion": {"groupVersion": f"g{number}/v1", "version": "v1"},
            }
            for number in range(20)  # more than are asked for at once
        ],
    },
    "/api/v1": lines("v1", line("pods", "Pod")),
    **{f"/apis/g{number}/v1": lines(f"g{number}/v1", line("things", "Thing")) for number in range(20)},
}


class Parts(httpx.AsyncByteStream):
    """A body in parts, which takes time to close."""

    def __init__(self, *parts: bytes) -> None:
        self._parts = parts

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            await checkpoint()
            yield part

    async def aclose(self) -> None:
        await checkpoint()


class Outdated:
    """A connection that was made when the server had another authority; it takes time to close."""

    def __init__(self, folder: Path) -> None:
        file = folder / "ca.pem"
        file.write_text(Authority("old").pem)
        context = Tls(ca_file=str(file)).context()
        self._made = context.wrap_bio(ssl.MemoryBIO(), ssl.MemoryBIO(), server_hostname="host")
        file.write_text(Authority("a newer one").pem)

    def get_extra_info(self, info: str) -> ssl.SSLObject:
        return self._made

    async def aclose(self) -> None:
        await checkpoint()


class Numbers:
    """Issues the next number as a token, which is over in a minute."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock, self.numbers = clock, count(1)

    async def issue(self) -> Issued:
        for _ in range(3):
            await checkpoint()
        return Issued(f"Bearer {next(self.numbers)}", expires=self.clock.now() + timedelta(seconds=60))


async def odd_answers(sweep: Sweep) -> None:
    """Failures that are worth another try, in turn with others; refusals; logs; pages that are forgotten; old discovery."""
    with TemporaryDirectory() as folder:
        connection = Outdated(Path(folder))
        clock = FakeClock()
        for act in ODD_ACTS:
            await sweep.of(partial(ask_twice, act, clock, connection), held=lambda: clock.next_timer)


async def ask_twice(act: Act, clock: FakeClock, connection: Outdated) -> None:
    """At once, with a token that is over by then."""
    credentials = await IssuedCredentials.of(Numbers(clock), clock)
    await clock.advance(61.0)
    client = Client(
        Config("http://test", credentials),
        transport=Odd(connection),
        rate_limit=RateLimit(rate=1.0, burst=1),
        clock=clock,
        random=Random(1),
    )
    async with client, anyio.create_task_group() as tasks:
        tasks.start_soon(clock.advance, 300.0)
        tasks.start_soon(in_vain, act, client)
        await in_vain(act, client)


async def in_vain(act: Act, client: Client) -> None:
    with suppress(RequestError):
        await act(client)


async def follow_a_log(client: Client) -> object:
    await client.read_logs("default/a")
    async with client.logs("default/a") as chunks:
        return [chunk async for chunk in chunks]


async def look_for_a_while(client: Client) -> None:
    """While as many are asked for as may be at once, and the others wait."""
    with client.clock.move_on_after(6.0):
        await client.mapper.find("pods")


async def watch_in_vain(client: Client) -> object:
    async with client.resource(PODS).watch() as batches:
        return await anext(batches)


ODD_ACTS: Final[tuple[Act, ...]] = (
    lambda client: client.request("GET", "/fails"),
    lambda client: client.request("GET", "/refuses"),
    lambda client: client.request("GET", "/outdated"),
    lambda client: client.resource(PODS).without_retries().list(),
    lambda client: client.resource(CONFIG_MAPS).list(),
    lambda client: client.mapper.find("pods"),
    look_for_a_while,
    follow_a_log,
    watch_in_vain,
)
