from copy import deepcopy
from typing import Any

import pytest

from kinformer.apiserver.registry import Registry, Served, check_roles, default_roles

RBAC = "rbac.authorization.k8s.io"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
REF = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "r"}
CART = {"kind": "ServiceAccount", "name": "cart", "namespace": "shop"}
JANE = {"apiGroup": RBAC, "kind": "User", "name": "jane"}


def served(plural: str) -> Served:
    found = Registry().find(RBAC, "v1", plural)
    assert found is not None
    return found


def problems(plural: str, content: dict[str, Any]) -> list[str]:
    return [str(problem) for problem in check_roles(served(plural), content)]


@pytest.mark.parametrize(
    ("plural", "content"),
    [
        ("roles", {"rules": [RULE]}),
        ("roles", {"rules": None}),
        ("clusterroles", {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}),
        ("rolebindings", {"roleRef": REF, "subjects": [CART, JANE, {**CART, "namespace": ""}]}),
        ("rolebindings", {"roleRef": {**REF, "kind": "Role"}}),
        ("clusterrolebindings", {"roleRef": REF, "subjects": [CART, {**JANE, "kind": "Group"}]}),
    ],
)
def test_nothing_is_wrong_with(plural: str, content: dict[str, Any]) -> None:
    assert problems(plural, content) == []


@pytest.mark.parametrize(
    ("plural", "content", "found"),
    [
        (
            "roles",
            {"rules": [RULE, {}]},
            [
                "rules[1].verbs: Required value: verbs must contain at least one value",
                "rules[1].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[1].resources: Required value: resource rules must supply at least one resource",
            ],
        ),
        (
            "roles",
            {"rules": [{**RULE, "nonResourceURLs": ["/x"]}]},
            [
                'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs',
                (
                    'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and '
                    "non-resource URLs"
                ),
            ],
        ),
        (
            "rolebindings",
            {},
            [
                f'roleRef.apiGroup: Unsupported value: "": supported values: "{RBAC}"',
                'roleRef.kind: Unsupported value: "": supported values: "Role", "ClusterRole"',
                "roleRef.name: Required value",
            ],
        ),
        (
            "clusterrolebindings",
            {"roleRef": {**REF, "kind": "Role"}},
            ['roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"'],
        ),
        (
            "clusterrolebindings",
            {
                "roleRef": REF,
                "subjects": [{"kind": "ServiceAccount", "name": "a"}, {"kind": "Pod", "name": "b"}, {}],
            },
            [
                "subjects[0].namespace: Required value",
                'subjects[1].kind: Unsupported value: "Pod": supported values: "ServiceAccount", "User", "Group"',
                "subjects[2].name: Required value",
                'subjects[2].kind: Unsupported value: "": supported values: "ServiceAccount", "User", "Group"',
            ],
        ),
        (
            "rolebindings",
            {"roleRef": REF, "subjects": [{**JANE, "apiGroup": ""}, {**CART, "apiGroup": RBAC}]},
            [
                f'subjects[0].apiGroup: Unsupported value: "": supported values: "{RBAC}"',
                f'subjects[1].apiGroup: Unsupported value: "{RBAC}": supported values: ""',
            ],
        ),
    ],
)
def test_what_is_wrong_is_said_as_the_real_server_says_it(
    plural: str, content: dict[str, Any], found: list[str]
) -> None:
    assert problems(plural, content) == found


def test_the_groups_of_a_binding_are_filled_in() -> None:
    content: dict[str, Any] = {
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [
            {"kind": "User", "name": "jane"},
            {"kind": "ServiceAccount", "name": "cart"},
            {"kind": "Pod"},
        ],
    }
    default_roles(served("rolebindings"), content)
    assert content == {
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "r"},
        "subjects": [JANE, {"kind": "ServiceAccount", "name": "cart"}, {"kind": "Pod"}],
    }
    again = deepcopy(content)
    default_roles(served("rolebindings"), again)
    assert again == content


def test_other_kinds_are_left_alone() -> None:
    pods = Registry().find("", "v1", "pods")
    assert pods is not None
    content: dict[str, Any] = {"roleRef": {"kind": "x"}}
    default_roles(pods, content)
    assert content == {"roleRef": {"kind": "x"}}
    assert list(check_roles(pods, content)) == []
    default_roles(served("roles"), {"rules": [RULE]})
