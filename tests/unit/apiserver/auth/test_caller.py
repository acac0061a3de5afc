"""What may be written. Who may write at all is what the policy's tests show."""

from typing import Any

import pytest

from kinformer.apiserver.auth import RBAC, Caller, Policy, ResourceAccess, User
from kinformer.apiserver.registry import StatusError

READ = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
WRITE = {"verbs": ["create"], "apiGroups": [""], "resources": ["pods"]}


def bound(*rules: dict[str, Any]) -> Caller:
    objects = [
        {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": list(rules)},
        {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "b"},
            "roleRef": {"kind": "ClusterRole", "name": "r"},
            "subjects": [{"kind": "User", "name": "jane"}],
        },
        {"kind": "ClusterRole", "metadata": {"name": "reader"}, "rules": [READ]},
        {"kind": "ClusterRole", "metadata": {"name": "writer"}, "rules": [WRITE]},
        {"kind": "Role", "metadata": {"name": "writer", "namespace": "shop"}, "rules": [WRITE]},
    ]
    return Caller(User("jane", ("dev",)), Policy(objects))


def may(verb: str, resource: str, *names: str) -> dict[str, Any]:
    return {"verbs": [verb], "apiGroups": [RBAC], "resources": [resource], "resourceNames": list(names)}


def access(verb: str, plural: str, namespace: str = "shop") -> ResourceAccess:
    return ResourceAccess(verb, RBAC, plural, "", namespace)


def role(*rules: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "Role", "metadata": {"name": "new"}, "rules": list(rules), **more}


def binding(ref: str) -> dict[str, Any]:
    kind, name = ref.split("/")
    return {"kind": "RoleBinding", "metadata": {"name": "new"}, "roleRef": {"kind": kind, "name": name}}


@pytest.mark.parametrize("verb", ["update", "patch"])
def test_who_makes_something_new_by_a_change_must_be_allowed_to_create(verb: str) -> None:
    change = ResourceAccess(verb, "", "pods", "", "shop", "web")
    with pytest.raises(StatusError, match='cannot create resource "pods"'):
        bound(READ).check_write(change, None, {"metadata": {"name": "web"}})
    bound(WRITE).check_write(change, None, {"metadata": {"name": "web"}})
    bound(READ).check_write(change, {"metadata": {"name": "web"}}, {"metadata": {"name": "web"}})


def test_a_role_gives_no_more_than_its_author_has() -> None:
    bound(READ).check_write(access("create", "roles"), None, role(READ))
    with pytest.raises(StatusError) as refusal:
        bound(READ).check_write(access("create", "roles"), None, role(READ, WRITE))
    assert refusal.value.code == 403
    assert refusal.value.message == (
        f'roles.{RBAC} "new" is forbidden: user "jane" (groups=["dev"]) is attempting to grant RBAC permissions not '
        'currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["create"]}'
    )


def test_a_role_that_gathers_others_could_give_everything() -> None:
    gathering = role(aggregationRule={"clusterRoleSelectors": [{}]})
    with pytest.raises(StatusError, match="permissions not currently held"):
        bound(READ).check_write(access("create", "clusterroles", ""), None, gathering)


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_a_role_that_gives_more_is_not_even_labelled_by_others(field: str) -> None:
    """Another role that the author is bound to may gather it by the label."""
    old, new = role(WRITE), role(WRITE)
    new["metadata"][field] = {"a": "b"}
    with pytest.raises(StatusError, match="permissions not currently held"):
        bound(READ).check_write(access("patch", "roles"), old, new)
    bound(WRITE).check_write(access("patch", "roles"), old, new)


@pytest.mark.parametrize("obj", [role(WRITE), binding("ClusterRole/writer")], ids=["role", "binding"])
@pytest.mark.parametrize("field", ["finalizers", "ownerReferences", "managedFields"])
def test_what_the_garbage_collector_changes_gives_nothing_to_anybody(obj: dict[str, Any], field: str) -> None:
    new = {**obj, "metadata": {**obj["metadata"], field: [{}]}}
    plural = "roles" if obj["kind"] == "Role" else "rolebindings"
    bound(READ).check_write(access("update", plural), obj, new)


def test_who_takes_the_gathering_from_a_role_must_have_everything() -> None:
    gathering = role(aggregationRule={"clusterRoleSelectors": [{}]})
    with pytest.raises(StatusError, match="permissions not currently held"):
        bound(READ).check_write(access("update", "clusterroles", ""), gathering, role())


@pytest.mark.parametrize("ref", ["ClusterRole/to-come", "Role/to-come", "Role/reader"])
def test_a_role_that_is_yet_to_come_is_not_bound(ref: str) -> None:
    kind, name = ref.split("/")
    with pytest.raises(StatusError) as refusal:
        bound(READ).check_write(access("create", "rolebindings"), None, binding(ref))
    assert refusal.value.code == 404
    assert refusal.value.message == f'{kind.lower()}s.{RBAC} "{name}" not found'
    bound(may("bind", f"{kind.lower()}s")).check_write(access("create", "rolebindings"), None, binding(ref))


def test_who_may_escalate_gives_what_he_likes() -> None:
    bound(may("escalate", "roles", "new")).check_write(access("create", "roles"), None, role(WRITE))
    with pytest.raises(StatusError, match="permissions not currently held"):
        bound(may("escalate", "roles", "old")).check_write(access("create", "roles"), None, role(WRITE))


@pytest.mark.parametrize("ref", ["ClusterRole/writer", "Role/writer"])
def test_a_binding_gives_no_more_than_its_author_has(ref: str) -> None:
    for plural in ("rolebindings", "clusterrolebindings"):
        namespace = "shop" if plural == "rolebindings" else ""
        if ref == "Role/writer" and not namespace:
            continue
        with pytest.raises(StatusError, match="permissions not currently held"):
            bound(READ).check_write(access("create", plural, namespace), None, binding(ref))
        bound(WRITE).check_write(access("create", plural, namespace), None, binding(ref))
    bound(READ).check_write(access("create", "rolebindings"), None, binding("ClusterRole/reader"))


def test_who_may_bind_a_role_binds_that_one() -> None:
    caller = bound(may("bind", "clusterroles", "writer"))
    caller.check_write(access("create", "rolebindings"), None, binding("ClusterRole/writer"))
    with pytest.raises(StatusError, match="permissions not currently held"):
        caller.check_write(access("create", "rolebindings"), None, binding("ClusterRole/reader"))


def test_masters_write_what_they_like() -> None:
    root = Caller(User("root", ("system:masters",)), Policy(()))
    root.check_write(access("patch", "roles"), None, role(WRITE))
