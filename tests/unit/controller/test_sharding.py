import socket
from typing import Any

import pytest

from kinformer.controller import Permission, Sharding
from kinformer.controller._lease import LEASES
from kinformer.controller._member import LABEL
from kinformer.testing import Cluster, namespace


def test_the_durations_are_those_of_an_election() -> None:
    sharding = Sharding("operator")
    assert (sharding.lease_duration, sharding.renew_deadline, sharding.retry_period) == (15, 10, 2)


def test_it_is_called_as_its_host_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for host, identity in {"Web_1.example": "web-1-example", "___": "host", "x" * 70: "x" * 63}.items():
        monkeypatch.setattr(socket, "gethostname", lambda host=host: host)
        assert Sharding("operator").identity == identity


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"name": ""}, "name='' must be small letters, digits and dashes, at most 63"),
        ({"name": "My"}, "name='My' must be small letters"),
        ({"name": "x" * 64}, "at most 63"),
        ({"identity": "a.b"}, "identity='a.b' must be small letters"),
        ({"identity": "-a"}, "identity='-a' must be"),
        ({"lease_duration": 0.9}, "lease_duration=0.9 must be whole seconds"),
        ({"renew_deadline": 15}, "renew_deadline=15 must be less than lease_duration=15"),
        ({"retry_period": 9}, "renew_deadline=10.0 must be more than 1.2 times retry_period=9"),
    ],
)
def test_what_is_out_of_order_is_refused(options: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Sharding(**({"name": "operator"} | options))


def test_its_permissions_are_about_all_leases_of_the_namespace_since_names_are_not_known_before() -> None:
    assert Sharding("operator", namespace="ops").permissions == (
        Permission(LEASES, ("create", "delete", "get", "list", "update"), "ops"),
    )


async def test_the_leases_are_in_the_namespace_of_the_program_or_in_the_one_that_is_named() -> None:
    async with Cluster(namespace("ops")) as cluster:
        leases = cluster.client.resource(LEASES)
        async with Sharding("one", identity="a").join(cluster.client):
            (lease,) = (await leases.list(namespace="default")).items
            assert lease.metadata.labels == {LABEL: "one"}
            assert lease.metadata.name.startswith("one-a-")
            assert lease["spec"]["leaseDurationSeconds"] == 15
        async with Sharding("two", namespace="ops").join(cluster.client):
            assert len((await leases.list(namespace="ops")).items) == 1
