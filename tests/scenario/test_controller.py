"""A controller that keeps a ConfigMap for every Website, against the embedded apiserver, in memory."""

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.controller import (
    Controller,
    Manager,
    Request,
    RequeueAfter,
    add_finalizer,
    generation_changed,
    remove_finalizer,
    set_condition,
    set_owner,
)
from kinformer.errors import NotFoundError, TerminalError
from kinformer.meta import Object, ObjectKey, Resource
from kinformer.testing import Cluster, custom_object, custom_resource_definition, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
DEFINITION = custom_resource_definition(WEBSITES)


def website(name: str, page: str = "hello") -> dict[str, Any]:
    return custom_object(WEBSITES, name, spec={"page": page})


def page_of(site: Object) -> dict[str, Any]:
    page: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{site.metadata.name}-page", "namespace": site.metadata.namespace},
        "data": {"index.html": site.at("spec", "page")},
    }
    set_owner(page, site)
    return page


class Websites:
    """The controller, and a count of its calls; a test may put a fault before its work."""

    def __init__(self) -> None:
        self.calls: list[ObjectKey] = []
        self.fault: Callable[[Request], None] = lambda request: None
        self.controller = Controller("website", self.reconcile).watches(WEBSITES).owns(CONFIG_MAPS)

    async def reconcile(self, request: Request) -> RequeueAfter | None:
        self.calls.append(request.key)
        self.fault(request)
        site = request.lister(WEBSITES).get(request.key)
        if site is not None:
            await request.client.resource(CONFIG_MAPS).apply(
                page_of(site), field_manager="website", force=True
            )
        return None


async def pages(cluster: Cluster) -> dict[str, str]:
    found = await cluster.client.resource(CONFIG_MAPS).list(namespace="default")
    return {obj.metadata.name: obj.at("data", "index.html", default="") for obj in found.items}


async def has_pages(cluster: Cluster, **expected: str) -> bool:
    return await pages(cluster) == {f"{name}-page": page for name, page in expected.items()}


async def test_every_website_gets_its_page() -> None:
    sites = Websites()
    async with Cluster(DEFINITION, website("a"), website("b")) as cluster, cluster.running(sites.controller):
        await cluster.until(lambda: has_pages(cluster, a="hello", b="hello"))
        await cluster.client.resource(WEBSITES).create(website("c"))
        await cluster.until(lambda: has_pages(cluster, a="hello", b="hello", c="hello"))


async def test_a_changed_website_changes_its_page() -> None:
    sites = Websites()
    async with Cluster(DEFINITION, website("a")) as cluster, cluster.running(sites.controller):
        await cluster.until(lambda: has_pages(cluster, a="hello"))
        await cluster.client.resource(WEBSITES).patch("default/a", {"spec": {"page": "bye"}}, kind="merge")
        await cluster.until(lambda: has_pages(cluster, a="bye"))


async def test_a_page_that_is_deleted_behind_its_back_comes_back() -> None:
    sites = Websites()
    async with Cluster(DEFINITION, website("a")) as cluster, cluster.running(sites.controller):
        await cluster.until(lambda: has_pages(cluster, a="hello"))
        await cluster.client.resource(CONFIG_MAPS).delete("default/a-page")
        await cluster.until(lambda: has_pages(cluster, a="hello"))


async def test_a_page_that_is_changed_behind_its_back_is_put_right() -> None:
    sites = Websites()
    async with Cluster(DEFINITION, website("a")) as cluster, cluster.running(sites.controller):
        await cluster.until(lambda: has_pages(cluster, a="hello"))
        await cluster.client.resource(CONFIG_MAPS).patch(
            "default/a-page", {"data": {"index.html": "defaced"}}, kind="merge"
        )
        await cluster.until(lambda: has_pages(cluster, a="hello"))


async def test_it_comes_to_rest() -> None:
    sites = Websites()
    async with Cluster(DEFINITION, website("a")) as cluster, cluster.running(sites.controller):
        await cluster.until(lambda: has_pages(cluster, a="hello"))
        await settle()
        calls = len(sites.calls)
        await cluster.clock.advance(600)
        assert len(sites.calls) == calls


async def test_after_errors_it_tries_again_until_it_works() -> None:
    sites, attempts = Websites(), list[int]()

    def fault(request: Request) -> None:
        attempts.append(request.attempt)
        if len(attempts) < 4:
            raise ValueError("not yet")

    sites.fault = fault
    async with Cluster(DEFINITION, website("a")) as cluster, cluster.running(sites.controller):
        await cluster.until(lambda: has_pages(cluster, a="hello"), timeout=10)
        assert attempts[:4] == [1, 2, 3, 4]
        assert 0.7 <= cluster.clock.monotonic() <= 5


async def test_one_broken_website_does_not_hold_up_the_others() -> None:
    sites = Websites()

    def fault(request: Request) -> None:
        if request.key.name == "a":
            raise TerminalError("never")

    sites.fault = fault
    async with Cluster(DEFINITION, website("a"), website("b")) as cluster, cluster.running(sites.controller):
        await cluster.until(lambda: has_pages(cluster, b="hello"))
        await cluster.clock.advance(600)
        assert sites.calls.count(ObjectKey("default", "a")) == 1


async def test_status_and_finalizer_make_a_whole_life() -> None:
    cleaned: list[str] = []

    async def reconcile(request: Request) -> None:
        sites = request.client.resource(WEBSITES)
        site = request.lister(WEBSITES).get(request.key)
        if site is None:
            return
        if site.metadata.deletion_timestamp is not None:
            cleaned.append(site.metadata.name)
            await remove_finalizer(sites, site, "example.dev/cleanup")
            return
        site = await add_finalizer(sites, site, "example.dev/cleanup")
        content = site.thaw()
        status = content.setdefault("status", {})
        generation = site.metadata.generation
        if set_condition(status, "Ready", True, reason="AllGood", observed_generation=generation):
            await sites.status.replace(content)

    controller = Controller("website", reconcile).watches(WEBSITES, when=generation_changed)
    async with Cluster(DEFINITION, website("a")) as cluster, cluster.running(controller):
        sites = cluster.client.resource(WEBSITES)

        async def is_ready() -> bool:
            site = await sites.get("default/a")
            return bool(site.at("status", "conditions", 0, "status", default="") == "True")

        async def is_gone() -> bool:
            try:
                await sites.get("default/a")
            except NotFoundError:
                return True
            return False

        await cluster.until(is_ready)
        await sites.delete("default/a")
        await cluster.until(is_gone)
    assert set(cleaned) == {"a"}


@pytest.mark.parametrize("start", range(4))
async def test_cancelled_anywhere_it_leaves_nothing_and_the_next_run_converges(start: int) -> None:
    sites = Websites()
    async with Cluster(DEFINITION) as cluster:
        for resource in (WEBSITES, CONFIG_MAPS):
            cluster.server.cacher(resource)  # it outlives whoever made it begin
        await settle()
        before = asyncio.all_tasks()
        for turns in range(start, 120, 8):
            name = f"s{turns}"
            await cluster.client.resource(WEBSITES).create(website(name))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(Manager(sites.controller, clients=cluster.client, clock=cluster.clock).run)
                for _ in range(turns):
                    await checkpoint()
                tasks.cancel_scope.cancel()
            await settle()
            assert asyncio.all_tasks() == before, f"something was left after {turns} turns"
        async with cluster.running(sites.controller):
            await cluster.until(
                lambda: has_pages(cluster, **{f"s{turns}": "hello" for turns in range(start, 120, 8)})
            )
