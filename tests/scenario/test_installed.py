"""What ``kinformer manifests`` prints is enough for the controller, and each part of it is needed."""

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import anyio
import pytest

from kinformer import Client, Manager, Object, Resource
from kinformer.apiserver import Rbac
from kinformer.errors import ForbiddenError
from kinformer.testing import Cluster
from tests.scenario.installation import apply, controller, definition, objects, printed, sample

WEBSITES = Resource("example.dev", "v1", "websites", "Website")
DEPLOYMENTS = Resource.builtin("Deployment")
ROLES = Resource.builtin("ClusterRole")
KEY = "default/hello"


@pytest.fixture(autouse=True)
def path() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


@asynccontextmanager
async def installed() -> AsyncIterator[tuple[Cluster, Client]]:
    """A cluster where roles decide, with the controller's manifests; and the client of its account."""
    async with Cluster(definition(), auth=Rbac()) as cluster:
        for obj in objects(printed()):
            await apply(cluster.client, obj)
        async with cluster.account("default/website") as account:
            yield cluster, account


async def website(cluster: Cluster) -> Object:
    return await cluster.client.resource(WEBSITES).get(KEY)


async def without(cluster: Cluster, plural: str) -> None:
    """Take the rules about one resource out of the role."""
    role = (await cluster.client.resource(ROLES).get("website")).thaw()
    kept: list[dict[str, Any]] = [rule for rule in role["rules"] if plural not in rule["resources"]]
    assert len(kept) < len(role["rules"])
    await cluster.client.resource(ROLES).replace({**role, "rules": kept})


async def test_the_controller_converges_under_its_account_through_its_whole_life() -> None:
    async with installed() as (cluster, account), cluster.running(controller(), client=account):
        await cluster.create(sample())

        async def is_reported() -> bool:
            return bool((await website(cluster)).at("status", "url", default=""))

        await cluster.until(is_reported)
        assert (await cluster.client.resource(DEPLOYMENTS).get(KEY))["spec"]["replicas"] == 1
        await cluster.client.resource(WEBSITES).delete(KEY)

        async def is_gone() -> bool:
            return not (await cluster.client.resource(WEBSITES).list()).items

        await cluster.until(is_gone)


async def test_the_account_may_do_nothing_else() -> None:
    async with installed() as (cluster, account):
        for plural in ("secrets", "nodes", "serviceaccounts"):
            with pytest.raises(ForbiddenError, match=f'cannot list resource "{plural}"'):
                await account.resource(Resource.builtin(plural)).list()
        await cluster.create(sample())
        with pytest.raises(ForbiddenError, match='cannot delete resource "websites"'):
            await account.resource(WEBSITES).delete(KEY)


async def test_the_preflight_finds_nothing_missing_until_the_role_is_gone_and_then_says_what() -> None:
    async with installed() as (cluster, account):
        manager = Manager(controller(), clock=cluster.clock)
        assert (await manager.preflight(account)).missing == ()
        await without(cluster, "websites/status")
        complaint = (await manager.preflight(account)).complaint()
        assert complaint.splitlines()[1:-1] == [
            "  get, patch, update on websites/status.example.dev everywhere"
        ]
        await cluster.client.resource(ROLES).delete("website")
        assert (await manager.preflight(account)).missing == manager.permissions


async def test_a_permission_that_is_taken_away_is_missed_by_name_and_the_rest_goes_on() -> None:
    async with installed() as (cluster, account):
        await without(cluster, "websites/status")
        async with cluster.running(controller(), client=account):
            await cluster.create(sample())

            async def is_deployed() -> bool:
                return bool(await cluster.client.resource(DEPLOYMENTS).get(KEY))

            await cluster.until(is_deployed)
            with pytest.raises(TimeoutError, match='cannot patch resource "websites/status" in API group'):
                await cluster.until(lambda: False, timeout=1)
            assert "status" not in (await website(cluster)).thaw()


async def test_a_permission_that_is_given_late_is_used_without_a_restart() -> None:
    async with installed() as (cluster, account), anyio.create_task_group() as tasks:
        role = next(obj for obj in objects(printed()) if obj["kind"] == "ClusterRole")
        await without(cluster, "websites")
        await cluster.create(sample())
        manager = Manager(controller(), clients=account, clock=cluster.clock, random=Random(1))
        tasks.start_soon(manager.run)
        await cluster.advance(60)
        (missed,) = manager.waits["website"]
        assert "the server refuses to show it: check credentials and permissions" in missed
        await apply(cluster.client, role)

        async def is_reported() -> bool:
            return bool((await website(cluster)).at("status", "url", default=""))

        await cluster.until(is_reported, timeout=60)
        manager.stop()
