"""The roles that are there from the start, of those that a real server makes.

https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kinformer.apiserver.auth._policy import RBAC
from kinformer.apiserver.auth._rules import Rule

__all__ = ["DEFAULT_BINDINGS", "DEFAULT_ROLES"]

_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_PUBLIC: Final = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERY: Final = (*_PUBLIC, "/api", "/api/*", "/apis", "/apis/*", "/openapi", "/openapi/*")
_SELF: Final = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")


def _role(name: str, *rules: Rule) -> Mapping[str, Any]:
    return {"metadata": {"name": name, "labels": _LABELS}, "rules": [rule.to_object() for rule in rules]}


def _binding(name: str, *groups: str) -> Mapping[str, Any]:
    return {
        "metadata": {"name": name, "labels": _LABELS},
        "subjects": [{"apiGroup": RBAC, "kind": "Group", "name": group} for group in groups],
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
    }


DEFAULT_ROLES: Final[Sequence[Mapping[str, Any]]] = (
    _role("cluster-admin", Rule(("*",), ("*",), ("*",)), Rule(("*",), paths=("*",))),
    _role("system:discovery", Rule(("get",), paths=_DISCOVERY)),
    _role(
        "system:basic-user",
        Rule(("create",), ("authorization.k8s.io",), _SELF),
        Rule(("create",), ("authentication.k8s.io",), ("selfsubjectreviews",)),
    ),
    _role("system:public-info-viewer", Rule(("get",), paths=_PUBLIC)),
)
"""ClusterRoles."""

DEFAULT_BINDINGS: Final[Sequence[Mapping[str, Any]]] = (
    _binding("cluster-admin", "system:masters"),
    _binding("system:discovery", "system:authenticated"),
    _binding("system:basic-user", "system:authenticated"),
    _binding("system:public-info-viewer", "system:authenticated", "system:unauthenticated"),
)
"""ClusterRoleBindings."""
