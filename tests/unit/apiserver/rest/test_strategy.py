"""Strategies: what becomes of an object between the request and the storage."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kinformer.apiserver.registry import Registry, Served
from kinformer.apiserver.rest._strategy import bump_generation, for_create, for_update, timestamp

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KINDS = {served.plural: served for served in reversed(Registry().served())}


def created(plural: str, **content: Any) -> dict[str, Any]:
    sent = {"kind": KINDS[plural].kind, "apiVersion": "v1", "metadata": {"name": "a"}, **content}
    return for_create(KINDS[plural], sent, uid="u", now=NOW)


def test_times_are_utc_and_whole_seconds() -> None:
    moment = datetime(2026, 1, 1, 14, 0, 0, 999, tzinfo=timezone(timedelta(hours=2)))
    assert timestamp(moment) == "2026-01-01T12:00:00Z"


@pytest.mark.parametrize(
    ("plural", "status"),
    [
        ("pods", {"phase": "Pending", "qosClass": "BestEffort"}),
        ("namespaces", {"phase": "Active"}),
        ("deployments", {}),
        ("configmaps", None),
    ],
)
def test_w13_the_first_status_is_the_servers(plural: str, status: Any) -> None:
    assert created(plural).get("status") == status


def test_what_is_equal_is_owned_once() -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u"}
    metadata = {"name": "a", "ownerReferences": [owner, dict(owner)]}
    assert created("configmaps", metadata=metadata)["metadata"]["ownerReferences"] == [owner]


def test_a_service_gets_its_defaults() -> None:
    assert created("services", spec={"ports": [{"port": 80}]})["spec"] == {
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
    }


def test_an_update_of_the_status_keeps_everything_else() -> None:
    old = created("deployments", spec={"replicas": 1})
    sent = {
        **old,
        "metadata": {"name": "a", "labels": {"x": "y"}},
        "spec": {"replicas": 9},
        "status": {"replicas": 1},
    }
    new = for_update(KINDS["deployments"], "status", old, sent)
    assert new == {**old, "status": {"replicas": 1}}


@pytest.mark.parametrize(
    ("plural", "change", "generation"),
    [
        ("deployments", {"spec": {"replicas": 2}}, 2),
        ("deployments", {"metadata": {"annotations": {"a": "b"}}}, 2),
        ("replicasets", {"metadata": {"annotations": {"a": "b"}}}, 1),
        ("deployments", {"metadata": {"labels": {"a": "b"}}}, 1),
        ("configmaps", {"data": {"a": "b"}}, None),
    ],
)
def test_w14_what_counts_as_a_generation(plural: str, change: dict[str, Any], generation: int | None) -> None:
    served: Served = KINDS[plural]
    old = created(plural)
    metadata = {"name": "a", **change.pop("metadata", {})}
    new = for_update(served, "", old, {**old, "metadata": metadata, **change})
    bump_generation(served, old, new)
    assert new["metadata"].get("generation") == generation
