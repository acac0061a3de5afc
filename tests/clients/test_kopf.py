"""A kopf operator, in a process of its own, against the embedded apiserver."""

import importlib.util
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from kinformer.system_clock import SystemClock
from tests.clients.stage import WIDGETS, cluster_with_widgets, patch, post

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(60),
    pytest.mark.skipif(importlib.util.find_spec("kopf") is None, reason="no kopf: pip install kopf"),
]

CLOCK = SystemClock()
WIDGET = {
    "apiVersion": "example.com/v1",
    "kind": "Widget",
    "metadata": {"name": "w"},
    "spec": {"size": 1},
}
OPERATOR = """
import kopf

@kopf.on.create("example.com", "v1", "widgets")
def created(spec, patch, **_):
    patch.status["phase"] = f"created {spec['size']}"
    return {"size": spec["size"]}

@kopf.on.update("example.com", "v1", "widgets")
def updated(spec, patch, **_):
    patch.status["phase"] = f"updated {spec['size']}"

@kopf.on.delete("example.com", "v1", "widgets")
def deleted(name, **_):
    with open("deleted", "w") as file:
        file.write(name)

@kopf.timer("example.com", "v1", "widgets", interval=0.2)
def ticked(patch, status, **_):
    patch.status["ticks"] = status.get("ticks", 0) + 1
"""


@asynccontextmanager
async def operator(home: Path, kubeconfig: Path) -> AsyncIterator[None]:
    """Run the operator; it must end in good order when it is told to."""
    (home / "widgets.py").write_text(OPERATOR)
    command = [sys.executable, "-m", "kopf", "run", "widgets.py", "--all-namespaces"]
    environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
    with (home / "log").open("wb") as log:
        async with await anyio.open_process(
            command, cwd=home, env=environment, stdout=log, stderr=log
        ) as process:
            try:
                yield
                process.terminate()
                with CLOCK.move_on_after(15.0):
                    await process.wait()
                assert process.returncode == 0, (home / "log").read_text()
            finally:
                if process.returncode is None:
                    process.kill()


async def shows(client: httpx.AsyncClient, claim: Callable[[dict[str, Any]], bool]) -> None:
    """Ask until the widget is as claimed."""
    found: dict[str, Any] = (await client.get(f"{WIDGETS}/w")).json()
    with CLOCK.move_on_after(15.0):
        while not claim(found):
            await CLOCK.sleep(0.05)
            found = (await client.get(f"{WIDGETS}/w")).json()
    assert claim(found), found


async def test_its_handlers_follow_an_object_from_creation_to_deletion(tmp_path: Path) -> None:
    async with cluster_with_widgets() as (endpoint, client):
        async with operator(tmp_path, endpoint.write_kubeconfig(tmp_path / "config")):
            await post(client, WIDGETS, WIDGET)
            await shows(client, lambda found: found.get("status", {}).get("phase") == "created 1")
            await shows(client, lambda found: "finalizers" in found["metadata"])
            await patch(client, f"{WIDGETS}/w", {"spec": {"size": 2}})
            await shows(client, lambda found: found.get("status", {}).get("phase") == "updated 2")
            await shows(client, lambda found: found["status"].get("ticks", 0) >= 3)
            await client.delete(f"{WIDGETS}/w")
            await shows(client, lambda found: found.get("code") == 404)
            assert (tmp_path / "deleted").read_text() == "w"
        log = (tmp_path / "log").read_text()
        assert "Traceback" not in log
        assert "ERROR" not in log
