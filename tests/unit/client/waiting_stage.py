"""Waits for a pod that a scripted server tells of."""

from collections.abc import Callable
from typing import Any

import anyio

from kinformer.client import Client, wait_for
from kinformer.errors import (
    KinformerError,
)
from kinformer.meta import Object, Resource
from kinformer.testing import FakeClock, settle

PODS = Resource.builtin("Pod")
WATCH = "GET /api/v1/namespaces/default/pods fieldSelector=metadata.name=web watch=true"


def pod(
    version: str = "1",
    ready: str | None = None,
    *,
    generation: int = 0,
    observed: int | None = None,
    uid: str = "u1",
) -> Any:
    meta = {
        "name": "web",
        "namespace": "default",
        "resourceVersion": version,
        "generation": generation,
        "uid": uid,
    }
    condition: dict[str, Any] = {"type": "Ready", "status": ready}
    if observed is not None:
        condition["observedGeneration"] = observed
    status = {"conditions": [condition] if ready else None}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "status": status}


def page(*items: Any, version: str = "1") -> Any:
    return {"kind": "PodList", "metadata": {"resourceVersion": version}, "items": list(items)}


def event(kind: str, obj: Any) -> dict[str, Any]:
    return {"type": kind, "object": obj}


class Waiting:
    """A wait that runs beside the test; ``found`` is its outcome and moment."""

    def __init__(self, script: Any) -> None:
        self.script = script
        self.clock = FakeClock()
        self.found: list[Any] = []

    async def run(
        self,
        claim: str | Callable[[Any], bool],
        script: Callable[[], Any],
        *,
        timeout: float = 60.0,
        model: Any = Object,
        uid: str = "",
    ) -> Any:
        async def wait() -> None:
            async with Client("http://server", transport=self.script, clock=self.clock) as client:
                try:
                    found = await wait_for(
                        client.resource(PODS, model), "default/web", claim, timeout=timeout, uid=uid
                    )
                except (KinformerError, TimeoutError) as error:
                    found = error
                self.found = [found, self.clock.monotonic()]

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await settle()
            await script()
            await settle()
            tasks.cancel_scope.cancel()
        return self.found[0] if self.found else "still waiting"


async def nothing() -> None:
    """What happens where nothing happens."""
