"""What roles and their bindings must look like, and what is filled in (``pkg/apis/rbac`` of Kubernetes)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kinformer.apiserver.registry._errors import FieldProblem
from kinformer.apiserver.registry._served import Served

__all__ = ["check_roles", "default_roles"]

_RBAC: Final = "rbac.authorization.k8s.io"
_SUBJECTS: Final = {"ServiceAccount": "", "User": _RBAC, "Group": _RBAC}
"""The kinds of subjects, with the group that each belongs to."""


def default_roles(served: Served, content: dict[str, Any]) -> None:
    """Fill in the groups of a binding's role and subjects, in place; leaves everything else as it is."""
    if served.group != _RBAC or not served.kind.endswith("Binding"):
        return
    if role := content.get("roleRef"):
        role["apiGroup"] = role.get("apiGroup") or _RBAC
    for subject in content.get("subjects") or ():
        if group := subject.get("apiGroup") or _SUBJECTS.get(subject.get("kind", "")):
            subject["apiGroup"] = group


def check_roles(served: Served, content: Mapping[str, Any]) -> Iterator[FieldProblem]:
    """What is wrong with a role or a binding; nothing with other kinds."""
    if served.group != _RBAC:
        return
    if served.kind.endswith("Role"):
        for index, rule in enumerate(content.get("rules") or ()):
            yield from _rule_problems(f"rules[{index}]", rule, namespaced=served.namespaced)
        return
    yield from _role_problems(content.get("roleRef") or {}, namespaced=served.namespaced)
    for index, subject in enumerate(content.get("subjects") or ()):
        yield from _subject_problems(f"subjects[{index}]", subject, namespaced=served.namespaced)


def _rule_problems(path: str, rule: Mapping[str, Any], *, namespaced: bool) -> Iterator[FieldProblem]:
    if not rule.get("verbs"):
        yield FieldProblem.required(f"{path}.verbs", "verbs must contain at least one value")
    if urls := rule.get("nonResourceURLs"):
        if namespaced:
            text = "namespaced rules cannot apply to non-resource URLs"
            yield FieldProblem.invalid(f"{path}.nonResourceURLs", urls, text)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            text = "rules cannot apply to both regular resources and non-resource URLs"
            yield FieldProblem.invalid(f"{path}.nonResourceURLs", urls, text)
        return
    if not rule.get("apiGroups"):
        text = "resource rules must supply at least one api group"
        yield FieldProblem.required(f"{path}.apiGroups", text)
    if not rule.get("resources"):
        yield FieldProblem.required(f"{path}.resources", "resource rules must supply at least one resource")


def _role_problems(role: Mapping[str, Any], *, namespaced: bool) -> Iterator[FieldProblem]:
    if role.get("apiGroup") != _RBAC:
        yield FieldProblem.unsupported("roleRef.apiGroup", role.get("apiGroup", ""), [_RBAC])
    kinds = ["Role", "ClusterRole"] if namespaced else ["ClusterRole"]
    if role.get("kind") not in kinds:
        yield FieldProblem.unsupported("roleRef.kind", role.get("kind", ""), kinds)
    if not role.get("name"):
        yield FieldProblem.required("roleRef.name")


def _subject_problems(path: str, subject: Mapping[str, Any], *, namespaced: bool) -> Iterator[FieldProblem]:
    if not subject.get("name"):
        yield FieldProblem.required(f"{path}.name")
    kind, group = subject.get("kind", ""), subject.get("apiGroup", "")
    if kind not in _SUBJECTS:
        yield FieldProblem.unsupported(f"{path}.kind", kind, _SUBJECTS)
        return
    if group != _SUBJECTS[kind]:
        yield FieldProblem.unsupported(f"{path}.apiGroup", group, [_SUBJECTS[kind]])
    if kind == "ServiceAccount" and not namespaced and not subject.get("namespace"):
        yield FieldProblem.required(f"{path}.namespace")
