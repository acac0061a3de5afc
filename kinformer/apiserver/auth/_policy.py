"""Policy: the roles and bindings of a cluster, and who may do what by them (rule A-5)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kinformer.apiserver.auth._access import Access, PathAccess
from kinformer.apiserver.auth._rules import Rule
from kinformer.apiserver.auth._users import User, service_account
from kinformer.meta import LabelSelector

__all__ = ["RBAC", "Policy"]

RBAC: Final = "rbac.authorization.k8s.io"
"""The API group of roles and bindings."""


class _Binding(NamedTuple):
    """A binding whose role exists.

    Attributes:
        label: For people, such as ``RoleBinding "web/default"``.
        subjects: As they are in the object.
        namespace: Of the binding; ``""`` for one of the cluster.
    """

    label: str
    subjects: Sequence[Mapping[str, Any]]
    namespace: str
    rules: Sequence[Rule]


class Policy:
    """What a set of roles and bindings allows. Pure and immutable.

    Nothing is allowed unless a rule says so, and no rule forbids anything. A ClusterRoleBinding counts everywhere, a RoleBinding
    in its own namespace, and for paths not at all. A binding to a role that does not exist allows nothing. Members of
    ``system:masters`` may do everything.

    Args:
        objects: Roles, ClusterRoles, RoleBindings and ClusterRoleBindings, each with its ``kind``.
    """

    def __init__(self, objects: Iterable[Mapping[str, Any]]) -> None:
        self._cluster_roles: dict[str, Mapping[str, Any]] = {}
        self._roles: dict[tuple[str, str], Mapping[str, Any]] = {}
        bindings: list[Mapping[str, Any]] = []
        for obj in objects:
            metadata = obj["metadata"]
            match obj["kind"]:
                case "ClusterRole":
                    self._cluster_roles[metadata["name"]] = obj
                case "Role":
                    self._roles[metadata.get("namespace", ""), metadata["name"]] = obj
                case "RoleBinding" | "ClusterRoleBinding":
                    bindings.append(obj)
                case _:
                    pass  # it allows nothing
        self._bindings: dict[str, list[_Binding]] = {}
        for obj in bindings:
            binding = self._binding(obj)
            self._bindings.setdefault(binding.namespace, []).append(binding)

    def granted(self, user: User, access: Access) -> str:
        """Why ``user`` may do this, in a sentence for people; ``""`` where they may not."""
        if user.is_master:
            return "system:masters may do everything"
        namespace = "" if isinstance(access, PathAccess) else access.namespace
        for binding in self._bound(user, namespace):
            if any(rule.allows(access) for rule in binding.rules):
                return f'RBAC: allowed by {binding.label} to "{user.name}"'
        return ""

    def rules_of(self, user: User, namespace: str) -> Sequence[Rule]:
        """Every rule that lets ``user`` do something in a namespace, or in the cluster where that is ``""``."""
        if user.is_master:
            return (Rule(("*",), ("*",), ("*",)), Rule(("*",), paths=("*",)))
        return tuple(rule for binding in self._bound(user, namespace) for rule in binding.rules)

    def rules_in(self, role: Mapping[str, Any], namespace: str) -> Sequence[Rule]:
        """The rules of the role that a ``roleRef`` names, as seen from a namespace; none where there is no such role."""
        if role.get("kind") == "ClusterRole":
            return tuple(self._gathered(role.get("name", ""), set()))
        return _rules(self._roles.get((namespace, role.get("name", "")), {}))

    def knows(self, role: Mapping[str, Any], namespace: str) -> bool:
        """Whether there is the role that a ``roleRef`` names, as seen from a namespace."""
        name = role.get("name", "")
        return (
            name in self._cluster_roles
            if role.get("kind") == "ClusterRole"
            else (namespace, name) in self._roles
        )

    def _bound(self, user: User, namespace: str) -> Iterator[_Binding]:
        for place in dict.fromkeys(("", namespace)):
            for binding in self._bindings.get(place, ()):
                if any(_is(subject, user, binding.namespace) for subject in binding.subjects):
                    yield binding

    def _binding(self, obj: Mapping[str, Any]) -> _Binding:
        metadata, role = obj["metadata"], obj.get("roleRef") or {}
        namespace = metadata.get("namespace", "")
        place = f"{namespace}/" if namespace else ""
        label = f'{obj["kind"]} "{place}{metadata["name"]}" of {role.get("kind")} "{role.get("name")}"'
        return _Binding(label, tuple(obj.get("subjects") or ()), namespace, self.rules_in(role, namespace))

    def _gathered(self, name: str, seen: set[str]) -> Iterator[Rule]:
        """The rules of a ClusterRole, and of those that it aggregates, each once."""
        role = self._cluster_roles.get(name)
        if role is None or name in seen:
            return
        seen.add(name)
        yield from _rules(role)
        for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
            try:
                wanted = LabelSelector.from_object(selector)
            except ValueError:
                continue  # nothing in the storage may keep all others out
            for other, content in self._cluster_roles.items():
                if wanted.matches(content["metadata"].get("labels") or {}):
                    yield from self._gathered(other, seen)


def _rules(role: Mapping[str, Any]) -> Sequence[Rule]:
    return tuple(Rule.of(rule) for rule in role.get("rules") or ())


def _is(subject: Mapping[str, Any], user: User, namespace: str) -> bool:
    """Whether a subject of a binding is this user; a service account without a namespace is in that of the binding."""
    name = subject.get("name", "")
    match subject.get("kind"):
        case "User":
            return bool(name == user.name)
        case "Group":
            return name in user.groups
        case "ServiceAccount":
            home = subject.get("namespace") or namespace
            return bool(home) and service_account(home, name).name == user.name
        case _:
            return False
