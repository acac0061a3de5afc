from typing import Any

import pytest

from kinformer.apiserver.auth import PathAccess, Policy, ResourceAccess, User

LIST = ResourceAccess("list", "", "pods", namespace="shop")
READ: list[dict[str, Any]] = [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]
JANE = User("jane", ("dev", "system:authenticated"))
CART = User("system:serviceaccount:shop:cart", ("system:serviceaccounts", "system:serviceaccounts:shop"))


def role(name: str, namespace: str = "", **more: Any) -> dict[str, Any]:
    kind, home = ("Role", {"namespace": namespace}) if namespace else ("ClusterRole", {})
    labels = more.pop("labels", {})
    return {"kind": kind, "metadata": {"name": name, "labels": labels, **home}, "rules": READ, **more}


def binding(subject: dict[str, str], ref: str, namespace: str = "") -> dict[str, Any]:
    kind, name = ref.split("/")
    home = {"namespace": namespace} if namespace else {}
    return {
        "kind": "RoleBinding" if namespace else "ClusterRoleBinding",
        "metadata": {"name": "b", **home},
        "subjects": [subject],
        "roleRef": {"kind": kind, "name": name},
    }


def user(name: str) -> dict[str, str]:
    return {"kind": "User", "name": name}


@pytest.mark.parametrize(
    ("subject", "who"),
    [
        pytest.param(user("jane"), JANE, id="a user"),
        pytest.param({"kind": "Group", "name": "dev"}, JANE, id="a group"),
        pytest.param({"kind": "ServiceAccount", "name": "cart", "namespace": "shop"}, CART, id="an account"),
        pytest.param(
            {"kind": "ServiceAccount", "name": "cart"}, CART, id="an account of the binding's namespace"
        ),
        pytest.param(
            {"kind": "Group", "name": "system:serviceaccounts:shop"}, CART, id="all accounts of a namespace"
        ),
    ],
)
def test_a_binding_is_for_its_subjects_and_nobody_else(subject: dict[str, str], who: User) -> None:
    policy = Policy([role("r", "shop"), binding(subject, "Role/r", "shop")])
    assert policy.granted(who, LIST) == f'RBAC: allowed by RoleBinding "shop/b" of Role "r" to "{who.name}"'
    assert not policy.granted(User("joe"), LIST)


@pytest.mark.parametrize("subject", [{"kind": "Robot", "name": "jane"}, {"kind": "Group", "name": "ops"}, {}])
def test_other_subjects_are_nobody(subject: dict[str, str]) -> None:
    assert not Policy([role("r"), binding(subject, "ClusterRole/r")]).granted(JANE, LIST)


def test_an_account_without_a_namespace_in_a_cluster_binding_is_nobody() -> None:
    subject = {"kind": "ServiceAccount", "name": "cart"}
    assert not Policy([role("r"), binding(subject, "ClusterRole/r")]).granted(CART, LIST)


def test_a_role_binding_counts_in_its_namespace_only_even_of_a_cluster_role() -> None:
    policy = Policy([role("r"), binding(user("jane"), "ClusterRole/r", "shop")])
    assert policy.granted(JANE, LIST)
    assert not policy.granted(JANE, ResourceAccess("list", "", "pods", namespace="other"))
    assert not policy.granted(JANE, ResourceAccess("list", "", "pods"))


def test_a_cluster_role_binding_counts_everywhere() -> None:
    policy = Policy([role("r"), binding(user("jane"), "ClusterRole/r")])
    assert policy.granted(JANE, LIST)
    assert policy.granted(JANE, ResourceAccess("list", "", "pods"))


def test_paths_are_allowed_by_bindings_of_the_cluster_only() -> None:
    paths = role("r", rules=[{"verbs": ["get"], "nonResourceURLs": ["/metrics"]}])
    wanted = PathAccess("get", "/metrics")
    assert not Policy([paths, binding(user("jane"), "ClusterRole/r", "shop")]).granted(JANE, wanted)
    assert Policy([paths, binding(user("jane"), "ClusterRole/r")]).granted(JANE, wanted)


def test_a_binding_to_what_is_not_there_allows_nothing() -> None:
    assert not Policy([binding(user("jane"), "Role/r", "shop")]).granted(JANE, LIST)
    assert not Policy([role("r", "other"), binding(user("jane"), "Role/r", "shop")]).granted(JANE, LIST)


def test_a_cluster_role_gathers_the_rules_of_those_that_it_selects_also_in_a_circle() -> None:
    gathers = {"clusterRoleSelectors": [{"matchLabels": {"to": "view"}}]}
    objects = [
        role("view", rules=[], aggregationRule=gathers, labels={"to": "view"}),
        role("mine", labels={"to": "view"}),
        binding(user("jane"), "ClusterRole/view"),
    ]
    assert Policy(objects).granted(JANE, LIST)
    assert not Policy([objects[0], role("mine"), objects[2]]).granted(JANE, LIST)


def test_a_selector_that_cannot_be_read_gathers_nothing() -> None:
    broken = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Like"}]}]}
    objects = [role("view", aggregationRule=broken), binding(user("jane"), "ClusterRole/view")]
    assert Policy(objects).granted(JANE, LIST)


def test_masters_may_do_everything_without_any_role() -> None:
    master = User("root", ("system:masters",))
    assert Policy(()).granted(master, LIST)
    assert [rule.verbs for rule in Policy(()).rules_of(master, "")] == [("*",), ("*",)]


def test_objects_of_other_kinds_allow_nothing() -> None:
    assert not Policy([{"kind": "Pod", "metadata": {"name": "p"}}]).granted(JANE, LIST)
