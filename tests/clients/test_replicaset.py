"""kubectl drives the ReplicaSet controller of the examples, over sockets."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinformer.apiserver import ApiServer
from kinformer.client import Client
from kinformer.controller import Manager
from tests.clients.kubectl import CLOCK, Kubectl
from tests.scenario.replicaset_stage import EXAMPLE, replica_set

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]

WEB = json.dumps(replica_set(3))


@asynccontextmanager
async def controlled(kubectl: str, home: Path) -> AsyncIterator[Kubectl]:
    async with (
        ApiServer() as server,
        server.serve() as endpoint,
        Client(endpoint.url) as client,
        anyio.create_task_group() as tasks,
    ):
        endpoint.write_kubeconfig(home / "config")
        manager = Manager(EXAMPLE.ReplicaSets().controller, clients=client)
        await tasks.start(manager.run)
        yield Kubectl(kubectl, home)
        manager.stop()


async def pods(run: Kubectl) -> dict[str, Any]:
    """The names of the pods, with who controls each."""
    found = json.loads(await run("get", "pods", "-o", "json"))["items"]
    metadata = [each["metadata"] for each in found]
    return {each["name"]: [owner["name"] for owner in each.get("ownerReferences", ())] for each in metadata}


async def shows(run: Kubectl, replicas: int) -> dict[str, Any]:
    """Wait until there are so many pods that web owns, and its status says so; gives all pods."""
    found: dict[str, Any] = {}
    with CLOCK.move_on_after(15):
        while True:
            found = await pods(run)
            told = await run("get", "replicaset", "web", "-o", "jsonpath={.status.replicas}")
            if [list(found.values()).count(["web"]), told] == [replicas, str(replicas)]:
                return found
    raise AssertionError(f"not {replicas} replicas: {found}")


async def test_it_is_scaled_and_deleted_with_and_without_its_pods(kubectl: str, tmp_path: Path) -> None:
    async with controlled(kubectl, tmp_path) as run:
        await run("apply", "-f", "-", stdin=WEB)
        await shows(run, 3)
        assert "scaled" in await run("scale", "replicaset/web", "--replicas=5")
        before = await shows(run, 5)
        assert "scaled" in await run("scale", "rs", "web", "--current-replicas=5", "--replicas=2")
        after = await shows(run, 2)
        assert set(after) < set(before)

        gone, released = after
        await run("delete", "pod", gone)
        await run("label", "pod", released, "app=debugging", "--overwrite")
        replaced = await shows(run, 2)
        assert gone not in replaced
        assert replaced.pop(released) == []

        assert "deleted" in await run("delete", "replicaset", "web", "--cascade=orphan", "--timeout=20s")
        assert await pods(run) == {name: [] for name in (*replaced, released)}

        await run("apply", "-f", "-", stdin=WEB)
        adopted = await shows(run, 3)
        assert set(replaced) < set(adopted)
        assert "deleted" in await run("delete", "rs", "web", "--cascade=foreground", "--timeout=20s")
        assert await pods(run) == {released: []}
