from typing import Any

import pytest

from kinformer.cli._installation import Installation, as_name
from kinformer.controller import EVERYWHERE, Permission
from kinformer.meta import Resource

PODS, NODES = Resource.builtin("Pod"), Resource.builtin("Node")
JOBS = Resource.builtin("Job")


def objects(*permissions: Permission, **more: Any) -> list[dict[str, Any]]:
    made = Installation("op", more.pop("namespace", "ops"), "op:1", ("run",), permissions, **more)
    return [dict(obj) for obj in made.objects()]


def rules(*permissions: Permission) -> dict[tuple[str, str], Any]:
    return {
        (obj["kind"], obj["metadata"].get("namespace", "")): obj["rules"]
        for obj in objects(*permissions)
        if "rules" in obj
    }


def test_a_permission_lies_where_it_counts() -> None:
    everywhere = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}
    here = {"apiGroups": [""], "resources": ["pods"], "resourceNames": ["a"], "verbs": ["get"]}
    there = {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]}
    assert rules(
        Permission(NODES, ("list",), EVERYWHERE),
        Permission(PODS, ("get",), "", ("a",)),
        Permission(PODS, ("get",), "shop", subresource="log"),
    ) == {("ClusterRole", ""): [everywhere], ("Role", "ops"): [here], ("Role", "shop"): [there]}


def test_what_is_alike_but_for_the_resource_is_one_rule() -> None:
    found = rules(
        Permission(NODES, ("list",), EVERYWHERE),
        Permission(PODS, ("list",), EVERYWHERE),
        Permission(JOBS, ("list",), EVERYWHERE),
        Permission(PODS, ("get",), EVERYWHERE, subresource="log"),
    )
    assert [rule["resources"] for rule in found["ClusterRole", ""]] == [
        ["nodes", "pods"],
        ["jobs"],
        ["pods/log"],
    ]


def test_the_programs_own_namespace_is_named_once() -> None:
    found = rules(Permission(PODS, ("get",), ""), Permission(NODES, ("list",), "ops"))
    assert len(found["Role", "ops"]) == 2


def test_the_pod_has_no_more_rights_than_it_uses_and_the_time_that_it_needs() -> None:
    pod = objects(grace=12.5)[-1]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    (container,) = pod["containers"]
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["terminationGracePeriodSeconds"] == 17


def test_several_replicas_are_replaced_one_by_one() -> None:
    assert "strategy" not in objects(replicas=2)[-1]["spec"]
    assert objects()[-1]["spec"]["strategy"] == {"type": "Recreate"}


def test_the_default_namespace_is_there_already() -> None:
    assert objects()[0]["kind"] == "Namespace"
    assert objects(namespace="default")[0]["kind"] == "ServiceAccount"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("website", "website"),
        ("My_Operator 2", "my-operator-2"),
        ("--x--", "x"),
        ("é", "controller"),
        ("a" * 62 + "-b", "a" * 62),
    ],
)
def test_any_text_becomes_a_name(text: str, name: str) -> None:
    assert as_name(text) == name
