"""What the ReplicaSet controller of the examples decides, without a cluster."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kinformer.meta import Object
from kinformer.testing import pod
from tests.scenario.replicaset_stage import EXAMPLE, LABELS, PODS, REPLICA_SETS, replica_set

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def ago(seconds: float) -> str:
    return (NOW - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def a_pod(  # noqa: PLR0913 -- one for each thing that counts
    name: str = "a",
    *,
    node: str = "n1",
    phase: str = "Running",
    since: float | None = 100,
    age: float = 1000,
    cost: int = 0,
    restarts: int = 0,
    owner: str = "",
    labels: dict[str, str] | None = None,
    deleting: bool = False,
) -> Object:
    content = pod(name, node=node, labels=LABELS if labels is None else labels)
    metadata = content["metadata"]
    metadata |= {
        "uid": f"uid-{name}",
        "creationTimestamp": ago(age),
        "annotations": {EXAMPLE.DELETION_COST: str(cost)},
    }
    if owner:
        reference = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "web",
            "uid": owner,
            "controller": True,
        }
        metadata["ownerReferences"] = [reference]
    if deleting:
        metadata["deletionTimestamp"] = ago(1)
    content["status"] = {"phase": phase, "containerStatuses": [{"restartCount": restarts}]}
    if since is not None:
        content["status"]["conditions"] = [
            {"type": "Ready", "status": "True", "lastTransitionTime": ago(since)}
        ]
    return Object.from_mapping(content, PODS)


def owner(replicas: int = 3, status: dict[str, Any] | None = None, **spec: Any) -> Object:
    content = replica_set(replicas, **spec)
    content["metadata"] |= {"uid": "uid-web", "generation": 7}
    return Object.from_mapping({**content, "status": status or {}}, REPLICA_SETS)


@pytest.mark.parametrize(
    ("count", "expected"), [(0, []), (1, [1]), (3, [1, 2]), (7, [1, 2, 4]), (10, [1, 2, 4, 3])]
)
def test_batches_double(count: int, expected: list[int]) -> None:
    assert list(EXAMPLE.batches(count)) == expected


FIRST, SECOND = "first", "second"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (a_pod(FIRST, node="", since=1, cost=9), a_pod(SECOND, phase="Pending", since=None)),
        (a_pod(FIRST, phase="Pending", cost=9), a_pod(SECOND, phase="Unknown", since=None)),
        (a_pod(FIRST, phase="Unknown", cost=9), a_pod(SECOND, since=None)),
        (a_pod(FIRST, since=None, cost=9), a_pod(SECOND)),
        (a_pod(FIRST, cost=-5, since=5000), a_pod(SECOND, since=1)),
        (a_pod(FIRST, since=10, restarts=0), a_pod(SECOND, since=1000, restarts=5)),
        (a_pod(FIRST, restarts=2, age=5000), a_pod(SECOND, restarts=1, age=200)),
        (a_pod(FIRST, age=200), a_pod(SECOND, age=5000)),
        (a_pod(FIRST, since=120, age=4100), a_pod(SECOND, since=70, age=5000)),
    ],
    ids=[
        "no node",
        "pending",
        "unknown",
        "not ready",
        "cheap",
        "ready lately",
        "restarts",
        "young",
        "by uid",
    ],
)
def test_who_is_missed_least_goes_first(first: Object, second: Object) -> None:
    for pods in ([first, second], [second, first]):
        assert EXAMPLE.victims(pods, 1, NOW) == [first]
        assert EXAMPLE.victims(pods, 2, NOW) == [first, second]


def test_of_pods_on_one_node_one_goes_before_a_pod_that_has_its_node_to_itself() -> None:
    alone, crowded = a_pod("a", node="n1", since=5), [a_pod("b", node="n2"), a_pod("c", node="n2")]
    assert EXAMPLE.victims([alone, *crowded], 1, NOW) == [crowded[0]]


def test_pods_are_told_apart_by_their_owner_and_their_labels() -> None:
    owned, stray = a_pod("owned", owner="uid-web"), a_pod("stray", owner="uid-web", labels={"app": "other"})
    orphan, stranger = a_pod("orphan"), a_pod("stranger", labels={})
    others = a_pod("others", owner="uid-other")
    over = [a_pod("failed", phase="Failed"), a_pod("done", phase="Succeeded"), a_pod("going", deleting=True)]
    assert EXAMPLE.claim(owner(), [owned, stray, orphan, stranger, others, *over]) == (
        [owned],
        [orphan],
        [stray],
    )


def test_the_status_counts_what_is_there() -> None:
    full = {**LABELS, "tier": "front"}
    template = {"metadata": {"labels": full}, "spec": {}}
    pods = [
        a_pod("a", since=None),
        a_pod("b", since=5, labels=full),
        a_pod("c", since=10),
        a_pod("d", since=60),
    ]
    assert EXAMPLE.status_of(owner(template=template, minReadySeconds=10), pods, None, NOW) == {
        "replicas": 4,
        "fullyLabeledReplicas": 1,
        "readyReplicas": 3,
        "availableReplicas": 2,
        "observedGeneration": 7,
    }


def test_what_is_zero_is_left_out_but_for_the_replicas() -> None:
    assert EXAMPLE.status_of(owner(), [], None, NOW) == {"replicas": 0, "observedGeneration": 7}


def test_a_failure_is_told_of_once_and_taken_back() -> None:
    other = {"type": "Other", "status": "True"}
    first = EXAMPLE.status_of(owner(status={"conditions": [other]}), [], ValueError("no room"), NOW)
    assert first["conditions"][1] == {
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "no room",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    again = EXAMPLE.status_of(owner(status=first), [], ValueError("still none"), NOW + timedelta(seconds=9))
    assert again == first
    assert EXAMPLE.status_of(owner(status=again), [], None, NOW)["conditions"] == [other]


def test_too_many_pods_fail_to_be_deleted() -> None:
    status = EXAMPLE.status_of(owner(0), [a_pod()], ValueError("no"), NOW)
    assert status["conditions"][0]["reason"] == "FailedDelete"


@pytest.mark.parametrize(
    ("since", "patience", "expected"),
    [(None, 0, math.inf), (3, 0, 0), (3, 10, 7), (10, 10, 0), (20, 10, 0), (-3, 0, 0), (-3, 10, 10)],
)
def test_a_pod_is_available_after_it_was_ready_for_so_long(
    since: float | None, patience: int, expected: float
) -> None:
    assert EXAMPLE.available_in(a_pod(since=since), owner(minReadySeconds=patience), NOW) == expected


def test_a_pod_that_does_not_say_since_when_it_is_ready_is_as_ready_as_it_is_old() -> None:
    content = a_pod(since=3, age=7).thaw()
    content["status"]["conditions"][0]["lastTransitionTime"] = None
    assert EXAMPLE.available_in(Object.from_mapping(content, PODS), owner(minReadySeconds=10), NOW) == 3


def test_what_others_write_on_pods_cannot_keep_a_replica_set_from_shrinking() -> None:
    content = a_pod("odd").thaw()
    content["metadata"]["annotations"] = {EXAMPLE.DELETION_COST: "cheap"}
    content["status"]["containerStatuses"] = [{"name": "web"}]
    odd = Object.from_mapping(content, PODS)
    assert EXAMPLE.victims([odd, a_pod("cheaper", cost=-1)], 2, NOW)[1] == odd


def test_a_pod_is_made_by_the_template_and_belongs_to_its_owner() -> None:
    made = EXAMPLE.pod_of(owner())
    assert made["metadata"]["generateName"] == "web-"
    assert made["metadata"]["labels"] == LABELS
    assert [(each["uid"], each["controller"]) for each in made["metadata"]["ownerReferences"]] == [
        ("uid-web", True)
    ]
    assert made["spec"]["containers"][0]["image"] == "nginx:1.29"
