"""Looking at a cluster where roles decide, and at one that does not answer."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import anyio
import httpx
import pytest

from kinformer import Client, Controller, Manager, Request, Resource
from kinformer.apiserver import Rbac
from kinformer.controller import LeaderElection, Permission
from kinformer.meta import LabelSelector
from kinformer.testing import Cluster, FakeClock, config_map, settle

PODS, CONFIG_MAPS, NODES = (Resource.builtin(kind) for kind in ("Pod", "ConfigMap", "Node"))
ACCOUNT: dict[str, Any] = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "op"}}
ROLE: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "op"},
    "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]},
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
    ],
}
BINDING: dict[str, Any] = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "op"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "op"},
    "subjects": [{"kind": "ServiceAccount", "name": "op", "namespace": "default"}],
}


async def reconcile(request: Request) -> None: ...


def controller(**scope: Any) -> Controller:
    return Controller("maps", reconcile).watches(CONFIG_MAPS, **scope)


@asynccontextmanager
async def account(*objects: Any) -> AsyncIterator[tuple[Cluster, Client]]:
    cluster = Cluster(ACCOUNT, ROLE, BINDING, *objects, auth=Rbac())
    async with cluster, cluster.account("default/op") as client:
        yield cluster, client


def manager_of(cluster: Cluster, *controllers: Controller, **more: Any) -> Manager:
    return Manager(*controllers, clock=cluster.clock, random=Random(1), **more)


async def test_each_verb_is_granted_or_missing() -> None:
    async with account() as (cluster, client):
        manager = manager_of(cluster, controller().reads(NODES).writes(CONFIG_MAPS, "status"))
        found = await manager.preflight(client)
    assert found.missing == (
        Permission(CONFIG_MAPS, ("get", "patch", "update"), "*", subresource="status"),
        Permission(NODES, ("list", "watch"), "*"),
    )
    assert [review.permission for review in found.reviews] == list(manager.permissions)
    assert found.obstacle == ""


async def test_the_election_is_asked_about_by_its_name_in_its_own_namespace() -> None:
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "update"]}
    role = {**ROLE, "rules": [{**rule, "resourceNames": ["op"]}]}
    async with account() as (cluster, client):
        await cluster.client.resource(Resource.builtin("ClusterRole")).apply(
            role, field_manager="x", force=True
        )
        for name, verbs in (("op", ("create",)), ("other", ("create", "get", "update"))):
            election = LeaderElection(name)
            found = await manager_of(cluster, controller(), election=election).preflight(client)
            leases = [each for each in found.missing if each.resource.plural == "leases"]
            assert sorted(verb for each in leases for verb in each.verbs) == sorted(verbs)


async def test_a_forecast_counts_the_objects_and_takes_one_for_all() -> None:
    maps = [config_map(f"m{number}") for number in range(5)]
    async with account(*maps) as (cluster, client):
        (forecast,) = (await manager_of(cluster, controller()).preflight(client)).forecasts
        sample = (await client.resource(CONFIG_MAPS).list()).items[0]
    assert (forecast.resource, forecast.namespace, forecast.objects) == (CONFIG_MAPS, "*", 5)
    assert forecast.sample is not None
    assert b"managedFields" in sample.raw
    assert 50 < forecast.sample < len(sample.raw), "what a cache prunes does not count"


async def test_a_selection_and_what_cannot_be_listed_are_not_known_and_an_empty_one_is_none() -> None:
    async with account(config_map("a", labels={"x": "y"}), config_map("b", labels={"x": "y"})) as (
        cluster,
        client,
    ):
        declared = controller(labels=LabelSelector.parse("x=y")).reads(NODES)
        found = await manager_of(cluster, declared).preflight(client)
        assert {each.resource: each.objects for each in found.forecasts} == {CONFIG_MAPS: None, NODES: None}
        found = await manager_of(cluster, controller(labels="x=z")).preflight(client)
        assert [each.size for each in found.forecasts] == [0]


async def test_namespaces_are_looked_at_one_by_one_and_the_limit_of_a_run_counts() -> None:
    async with account(config_map("a"), config_map("b", "kube-system")) as (cluster, client):
        found = await manager_of(cluster, controller(namespaces=["default", "shop"])).preflight(client)
        assert [(each.namespace, each.objects) for each in found.forecasts] == [("default", 1), ("shop", 0)]
        found = await manager_of(cluster, controller().reads(NODES)).preflight(client, namespace="default")
        assert [(str(each.resource), each.namespace) for each in found.forecasts] == [
            ("configmaps", "default"),
            ("nodes", "*"),
        ]
        places = {(each.permission.resource.plural, each.permission.namespace) for each in found.reviews}
        assert places == {("configmaps", "default"), ("events", "default"), ("nodes", "*")}


async def test_where_reviews_are_refused_that_is_told_and_nothing_is_missing() -> None:
    async with account() as (cluster, client):
        bindings = cluster.client.resource(Resource.builtin("ClusterRoleBinding"))
        await bindings.delete("system:basic-user")
        found = await manager_of(cluster, controller()).preflight(client)
    assert 'cannot create resource "selfsubjectaccessreviews"' in found.obstacle
    assert found.missing == ()
    assert all(review.unknown == review.permission.verbs for review in found.reviews)
    assert [each.objects for each in found.forecasts] == [0]


class Silent(httpx.AsyncBaseTransport):
    """Answers nothing, and counts who waits at once."""

    def __init__(self) -> None:
        self.waiting = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.waiting += 1
        try:
            await anyio.Event().wait()
        finally:
            self.waiting -= 1
        raise AssertionError


async def test_a_server_that_does_not_answer_is_waited_for_ten_seconds() -> None:
    clock, transport = FakeClock(), Silent()
    async with Client("http://test", transport=transport, clock=clock) as client:
        manager = Manager(controller().writes(CONFIG_MAPS).reads(NODES), clock=clock)
        found: list[Any] = []

        async def look() -> None:
            found.append(await manager.preflight(client))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(look)
            await clock.advance(9.9)
            assert (transport.waiting, found) == (8, [])
            await clock.advance(0.2)
        assert transport.waiting == 0
    assert found[0].obstacle == "no answer within 10 s"
    assert found[0].missing == ()


async def test_a_cancelled_look_leaves_no_request_behind() -> None:
    clock, transport = FakeClock(), Silent()
    async with Client("http://test", transport=transport, clock=clock) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Manager(controller(), clock=clock).preflight, client)
            await settle()
            assert transport.waiting
            tasks.cancel_scope.cancel()
        assert transport.waiting == 0


async def test_a_manager_tells_it_at_its_start_and_runs_whatever_is_missing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with account() as (cluster, client), anyio.create_task_group() as tasks:
        declared = controller().writes(CONFIG_MAPS, "status")
        manager = manager_of(cluster, declared, clients=client, preflight=True)
        with caplog.at_level(logging.INFO, "kinformer.controller"):
            await tasks.start(manager.run)
            await settle()
        manager.stop()
    told = [record for record in caplog.records if record.message.startswith("preflight")]
    assert [record.levelname for record in told] == ["INFO", "ERROR"]
    assert "configmaps/status     everywhere                 get, patch, update" in told[0].message
    assert "  get, patch, update on configmaps/status everywhere\n" in told[1].message
    assert "'kinformer manifests FILE' prints" in told[1].message


async def test_of_several_clusters_each_is_told_by_its_name_and_the_election_is_in_the_first(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with account() as (cluster, client), anyio.create_task_group() as tasks:
        clients = {"east": client, "west": client}
        election = LeaderElection("op", namespace="default")
        manager = manager_of(cluster, controller(), clients=clients, election=election, preflight=True)
        with caplog.at_level(logging.INFO, "kinformer.controller"):
            await tasks.start(manager.run)
            await settle()
        manager.stop()
    told = [record for record in caplog.records if record.message.startswith("preflight")]
    errors = [record.message for record in told if record.levelname == "ERROR"]
    assert len(told) == 3
    (error,) = errors
    assert error.startswith("preflight of east: ")
    assert "leases.coordination.k8s.io in default" in error
