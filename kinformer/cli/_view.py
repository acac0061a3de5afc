"""The demo's view of the world: three informers, and a table of what their caches hold."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskStatus

from kinformer.cli._website import CONFIG_MAPS, DEPLOYMENTS, DIRECTORY, WEBSITES
from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.informer import InformerFactory, Notification
from kinformer.meta import Object

if TYPE_CHECKING:
    from kinformer.cli._stage import Row, Stage

__all__ = ["View", "rows"]


class View:
    """Keeps the stage's table equal to the world."""

    def __init__(self, client: Client, stage: "Stage", clock: Clock) -> None:
        self._informers = InformerFactory(client, clock=clock)
        self._stage = stage

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Show each change until cancelled; starts with the world as it is."""
        with ExitStack() as resources:
            informers = [
                resources.enter_context(self._informers.acquire(resource))
                for resource in (WEBSITES, DEPLOYMENTS, CONFIG_MAPS)
            ]
            listers = [informer.lister for informer in informers]

            def show(_: Notification[Object]) -> None:
                if all(informer.is_synced for informer in informers):
                    self._stage.show(rows(*(lister.list() for lister in listers)))

            for informer in informers:
                informer.add_handler(show)
            await self._informers.run(task_status=task_status)


def rows(
    websites: Sequence[Object], deployments: Sequence[Object], config_maps: Sequence[Object]
) -> "list[Row]":
    """One row for each name that any of the three has."""
    from kinformer.cli._stage import Row

    by_key = [{obj.key: obj for obj in objects} for objects in (websites, deployments, config_maps)]
    keys = sorted({key for objects in by_key for key in objects if key.name != DIRECTORY})
    sites, servers, pages = by_key
    return [
        Row(key.name, _site(sites.get(key)), _server(servers.get(key)), _page(pages.get(key))) for key in keys
    ]


def _site(site: Object | None) -> str:
    if site is None:
        return "gone"
    if site.metadata.deletion_timestamp is not None:
        return "is being deleted"
    conditions = {entry["type"]: entry for entry in site.at("status", "conditions", default=())}
    ready = conditions.get("Ready")
    state = f"{ready['reason']}, {ready['message']}" if ready else "not seen by the controller yet"
    return f"{site['spec']['replicas']} wanted: {state}"


def _server(deployment: Object | None) -> str:
    if deployment is None:
        return "missing"
    return f"{deployment.at('status', 'readyReplicas', default=0)}/{deployment['spec']['replicas']} ready"


def _page(config_map: Object | None) -> str:
    return "missing" if config_map is None else str(config_map.at("data", "index.html", default="empty"))
