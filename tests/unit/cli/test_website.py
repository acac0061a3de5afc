"""The controller of the demo, in a cluster in memory."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from kinformer.cli._website import CONFIG_MAPS, CRD, DEPLOYMENTS, DIRECTORY, WEBSITES, controller
from kinformer.meta import Object
from kinformer.testing import Cluster, custom_object


def site(name: str, **spec: Any) -> dict[str, Any]:
    return custom_object(WEBSITES, name, spec={"html": f"<h1>{name}</h1>"} | spec)


@asynccontextmanager
async def serving(*names: str) -> AsyncIterator[Cluster]:
    async with Cluster(CRD, *map(site, names)) as cluster, cluster.running(controller):
        yield cluster


async def ready(cluster: Cluster, name: str) -> dict[str, Any]:
    found = await cluster.client.resource(WEBSITES).get(f"default/{name}")
    return dict(found["status"]["conditions"][0])


async def directory(cluster: Cluster) -> set[str]:
    found = await cluster.client.resource(CONFIG_MAPS).get(f"default/{DIRECTORY}")
    return set(found.at("data", default={}))


async def test_a_website_gets_what_it_needs_and_belongs_to_it() -> None:
    async with serving("blog") as cluster:

        async def is_served() -> bool:
            children: list[Object] = [
                await cluster.client.resource(resource).get("default/blog")
                for resource in (DEPLOYMENTS, CONFIG_MAPS)
            ]
            owners = {child.metadata.controller.uid for child in children if child.metadata.controller}
            website = await cluster.client.resource(WEBSITES).get("default/blog")
            return owners == {website.metadata.uid} and children[1]["data"]["index.html"] == "<h1>blog</h1>"

        await cluster.until(is_served)


async def test_the_condition_follows_the_replicas_that_are_ready() -> None:
    async with serving("blog") as cluster:

        async def says(status: str, message: str) -> bool:
            condition = await ready(cluster, "blog")
            return (condition["status"], condition["message"]) == (status, message)

        await cluster.until(lambda: says("False", "0 of 1 replicas are ready"))
        status = {"status": {"readyReplicas": 1}}
        await cluster.client.resource(DEPLOYMENTS).status.patch("default/blog", status)
        await cluster.until(lambda: says("True", "1 of 1 replicas are ready"))


async def test_a_status_that_says_it_all_is_not_written_again() -> None:
    async with serving("blog") as cluster:
        websites = cluster.client.resource(WEBSITES)

        async def is_reported() -> bool:
            return bool(await ready(cluster, "blog"))

        await cluster.until(is_reported)
        await cluster.advance(1)
        version = (await websites.get("default/blog")).metadata.resource_version
        await cluster.advance(600)
        assert (await websites.get("default/blog")).metadata.resource_version == version


async def test_a_website_that_goes_takes_its_own_line_out_of_the_directory() -> None:
    async with serving("blog", "docs") as cluster:

        async def lists(*names: str) -> bool:
            return await directory(cluster) == set(names)

        await cluster.until(lambda: lists("blog", "docs"))
        await cluster.client.resource(WEBSITES).delete("default/blog")
        await cluster.until(lambda: lists("docs"))

        async def is_gone() -> bool:
            found = [
                (await cluster.client.resource(resource).list()).items
                for resource in (WEBSITES, DEPLOYMENTS, CONFIG_MAPS)
            ]
            return {obj.metadata.name for objects in found for obj in objects} == {"docs", DIRECTORY}

        await cluster.until(is_gone)
