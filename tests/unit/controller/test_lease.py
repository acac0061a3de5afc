from datetime import UTC, datetime
from typing import Any

import pytest

from kinformer.controller._lease import LEASES, LeaseRecord, held, released
from kinformer.meta import Object, ObjectKey

KEY = ObjectKey("default", "operator")
NOW = datetime(2026, 1, 1, 12, 0, 0, 250_000, tzinfo=UTC)


def lease(spec: Any = None, **metadata: Any) -> Object:
    names = {"name": "operator", "namespace": "default", "resourceVersion": "7"}
    return Object.from_mapping({"metadata": names | metadata, "spec": spec}, LEASES)


def test_a_new_lease_names_its_holder() -> None:
    assert held(None, KEY, "a", duration=15, now=NOW) == {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "operator", "namespace": "default"},
        "spec": {
            "holderIdentity": "a",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-01-01T12:00:00.250000Z",
            "renewTime": "2026-01-01T12:00:00.250000Z",
            "leaseTransitions": 0,
        },
    }


def test_a_renewal_keeps_when_it_was_acquired_and_all_that_is_not_ours() -> None:
    spec = {"holderIdentity": "a", "acquireTime": "then", "leaseTransitions": 3, "strategy": "s"}
    content = held(lease(spec, labels={"l": "v"}), KEY, "a", duration=15, now=NOW)
    assert content["metadata"]["labels"] == {"l": "v"}
    assert content["metadata"]["resourceVersion"] == "7"
    assert content["spec"] == spec | {
        "leaseDurationSeconds": 15,
        "renewTime": "2026-01-01T12:00:00.250000Z",
    }


@pytest.mark.parametrize(
    ("spec", "transitions"),
    [({"holderIdentity": "b", "leaseTransitions": 3}, 4), ({}, 1), (None, 1), ("nonsense", 1)],
)
def test_taking_over_counts_as_a_transition(spec: Any, transitions: int) -> None:
    taken = held(lease(spec), KEY, "a", duration=15, now=NOW)["spec"]
    assert taken["leaseTransitions"] == transitions
    assert taken["acquireTime"] == taken["renewTime"]


def test_a_released_lease_has_no_holder_and_keeps_the_rest() -> None:
    spec = {"holderIdentity": "a", "leaseDurationSeconds": 15, "acquireTime": "then", "leaseTransitions": 3}
    assert released(lease(spec), now=NOW)["spec"] == {
        "leaseDurationSeconds": 1,
        "acquireTime": "then",
        "leaseTransitions": 3,
        "renewTime": "2026-01-01T12:00:00.250000Z",
    }


@pytest.mark.parametrize(
    ("spec", "record"),
    [
        (
            {"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 2},
            LeaseRecord("a", 15.0, 2, "7"),
        ),
        ({"holderIdentity": None, "leaseDurationSeconds": None}, LeaseRecord("", 0.0, 0, "7")),
        (None, LeaseRecord("", 0.0, 0, "7")),
        ("nonsense", LeaseRecord("", 0.0, 0, "7")),
        ({"leaseDurationSeconds": "soon"}, LeaseRecord("", 0.0, 0, "7")),
        ({"leaseDurationSeconds": -1, "leaseTransitions": -1}, LeaseRecord("", 0.0, 0, "7")),
        ({"leaseDurationSeconds": 10**400, "leaseTransitions": 2**31}, LeaseRecord("", 0.0, 0, "7")),
        ({"leaseDurationSeconds": True, "leaseTransitions": 1.5}, LeaseRecord("", 0.0, 0, "7")),
    ],
)
def test_whatever_a_lease_says_can_be_read(spec: Any, record: LeaseRecord) -> None:
    assert LeaseRecord.of(lease(spec)) == record
