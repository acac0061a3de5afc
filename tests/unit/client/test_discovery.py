from typing import Any

import anyio
import httpx
import pytest

from kinformer.client import Catalog, Client
from kinformer.errors import DecodeError, ForbiddenError, NotFoundError, ServerError, TransportError
from kinformer.tasks import open_task_group
from kinformer.testing import FakeClock, settle
from tests.unit.client.discovery_stage import ALL_AT_ONCE, GROUPS, PLAIN, Served

NAMES = ["pods.v1", "nodes.v1", "deployments.v1.apps", "deployments.v1beta1.apps", "pods.v1.metrics.k8s.io"]


async def discovered(served: Served) -> Catalog:
    clock = FakeClock()
    async with Client("http://server", transport=served, clock=clock) as client:
        found: list[Catalog] = []

        async def ask() -> None:
            found.append(await client.mapper.catalog())

        async with open_task_group() as tasks:
            tasks.start_soon(ask)
            await clock.advance(60.0)
            tasks.cancel_scope.cancel()
    return found[0]


def names(catalog: Catalog) -> list[str]:
    return [one.full_name for one in catalog.resources]


async def test_an_aggregated_server_is_asked_twice() -> None:
    served = Served(ALL_AT_ONCE)
    assert names(await discovered(served)) == NAMES
    assert served.asked == ["/api", "/apis"]


async def test_a_plain_server_is_asked_once_more_for_each_group_version() -> None:
    served = Served(PLAIN)
    assert names(await discovered(served)) == NAMES
    assert sorted(served.asked) == sorted(PLAIN)


async def test_both_say_the_same() -> None:
    assert await discovered(Served(PLAIN)) == await discovered(Served(ALL_AT_ONCE))


async def test_a_server_may_aggregate_one_half_only() -> None:
    served = Served(PLAIN | {"/apis": ALL_AT_ONCE["/apis"]})
    assert names(await discovered(served)) == NAMES
    assert served.asked == ["/api", "/apis", "/api/v1"]


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (503, ServerError),
        (403, ForbiddenError),
        (httpx.ConnectError("refused"), TransportError),
        ({"kind": "Status"}, DecodeError),
    ],
)
async def test_a_group_version_that_fails_does_not_hide_the_others(
    failure: Any, error: type[Exception]
) -> None:
    catalog = await discovered(Served(PLAIN | {"/apis/metrics.k8s.io/v1": failure}))
    assert names(catalog) == NAMES[:-1]
    assert list(catalog.failures) == ["metrics.k8s.io/v1"]
    assert isinstance(catalog.failures["metrics.k8s.io/v1"], error)


async def test_a_group_version_that_was_withdrawn_meanwhile_is_no_failure() -> None:
    catalog = await discovered(Served(PLAIN | {"/apis/metrics.k8s.io/v1": 404}))
    assert names(catalog) == NAMES[:-1]
    assert catalog.failures == {}


async def test_a_server_without_the_core_group_is_one_too() -> None:
    catalog = await discovered(Served(PLAIN | {"/api": 404}))
    assert names(catalog) == NAMES[2:]


@pytest.mark.parametrize(
    ("path", "code", "error"),
    [("/api", 403, ForbiddenError), ("/apis", 403, ForbiddenError), ("/apis", 404, NotFoundError)],
)
async def test_without_its_groups_a_server_says_nothing(path: str, code: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        await discovered(Served(PLAIN | {path: code}))


async def test_group_versions_are_asked_for_together_but_not_all_at_once() -> None:
    groups = [
        {"name": f"g{number}", "versions": [{"groupVersion": f"g{number}/v1", "version": "v1"}]}
        for number in range(50)
    ]
    lists = {f"/apis/g{number}/v1": {"kind": "APIResourceList", "resources": []} for number in range(50)}
    served = Served({"/api": 404, "/apis": GROUPS | {"groups": groups}} | lists)
    async with (
        Client("http://server", transport=served, clock=FakeClock()) as client,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(client.mapper.catalog)
        for root in ("/api", "/apis"):
            served.open(gated=True)
            await settle()
            assert served.asked[-1] == root
        served.open(gated=True)
        await settle()
        assert len(served.asked) == 2 + 10
        served.open()
    assert len(served.asked) == 2 + 50
    assert served.most_at_once == 10


@pytest.mark.parametrize("gates", range(3))
async def test_discovery_can_be_cancelled_wherever_it_waits(gates: int) -> None:
    served = Served(PLAIN)
    async with Client("http://server", transport=served, clock=FakeClock()) as client:
        served.open(gated=True)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.mapper.catalog)
            await settle()
            for _ in range(gates):
                served.open(gated=True)
                await settle()
            tasks.cancel_scope.cancel()
        served.open()
        assert names(await client.mapper.catalog()) == NAMES
