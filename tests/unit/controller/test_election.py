import math
from typing import Any

import pytest

from kinformer.controller import LeaderElection, Permission, Sharding
from kinformer.controller._lease import LEASES
from kinformer.testing import Cluster, namespace


def test_the_durations_are_those_of_client_go() -> None:
    election = LeaderElection("operator")
    assert (election.lease_duration, election.renew_deadline, election.retry_period) == (15, 10, 2)


def test_no_two_are_called_the_same() -> None:
    assert LeaderElection("operator").identity != LeaderElection("operator").identity


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"name": ""}, "an election needs a name"),
        ({"name": "My_operator"}, "name='My_operator': an election needs a name"),
        ({"name": "x" * 254}, "at most 253"),
        ({"identity": "a\nb"}, "must be a text in one line"),
        ({"namespace": "a b"}, "namespace='a b' must be small letters, digits and dashes, at most 63"),
        ({"lease_duration": 2**31}, "lease_duration=2147483648 must be less than 2147483648"),
        ({"lease_duration": math.inf}, "lease_duration=inf must be less"),
        ({"renew_deadline": math.nan}, "renew_deadline=nan must be less"),
        ({"lease_duration": 0.9}, "lease_duration=0.9 must be whole seconds"),
        ({"lease_duration": 0}, "at least 1"),
        ({"renew_deadline": 15}, "renew_deadline=15 must be less than lease_duration=15"),
        ({"retry_period": 0}, "retry_period=0 must be more than 0"),
        ({"retry_period": 9}, "renew_deadline=10.0 must be more than 1.2 times retry_period=9"),
    ],
)
def test_durations_out_of_order_are_refused(options: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        LeaderElection(**({"name": "operator"} | options))


@pytest.mark.parametrize(
    "field", ["name", "identity", "namespace", "lease_duration", "renew_deadline", "retry_period"]
)
@pytest.mark.parametrize("kind", [LeaderElection, Sharding])
def test_what_is_of_another_type_is_refused(kind: type[LeaderElection | Sharding], field: str) -> None:
    value = 5 if field in {"name", "identity", "namespace"} else "5"
    with pytest.raises(TypeError, match=f"{field}={value!r} must be a "):
        kind(**({"name": "operator"} | {field: value}))  # type: ignore[arg-type]  # a user's mistake


async def test_the_lease_is_in_the_namespace_of_the_program_or_in_the_one_that_is_named() -> None:
    async with Cluster(namespace("ops")) as cluster:
        leases = cluster.client.resource(LEASES)
        async with LeaderElection("one").lead(cluster.client):
            assert (await leases.get("default/one"))["spec"]["leaseDurationSeconds"] == 15
        async with LeaderElection("two", namespace="ops").lead(cluster.client) as leadership:
            assert (await leases.get("ops/two"))["spec"]["holderIdentity"] == leadership.identity


def test_its_permissions_are_about_its_own_lease_where_rbac_can_say_so() -> None:
    assert LeaderElection("operator", namespace="ops").permissions == (
        Permission(LEASES, ("create",), "ops"),
        Permission(LEASES, ("get", "update"), "ops", ("operator",)),
    )
