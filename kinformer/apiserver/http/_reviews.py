"""Reviews: kinds that are asked by creating them, and never stored (rule R-6).

This server lets everybody do everything, so every review says so.
https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
"""

from collections.abc import Mapping
from typing import Any, Final

from kinformer.apiserver.registry import Served

__all__ = ["REVIEWS", "answer"]

_CREATE: Final = ("create",)
_AUTHENTICATION: Final = "authentication.k8s.io"
_AUTHORIZATION: Final = "authorization.k8s.io"

REVIEWS: Final = (
    Served(_AUTHENTICATION, "v1", "selfsubjectreviews", "SelfSubjectReview", namespaced=False, verbs=_CREATE),
    Served(_AUTHENTICATION, "v1", "tokenreviews", "TokenReview", namespaced=False, verbs=_CREATE),
    Served(_AUTHORIZATION, "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview", verbs=_CREATE),
    Served(
        _AUTHORIZATION,
        "v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        namespaced=False,
        verbs=_CREATE,
    ),
    Served(
        _AUTHORIZATION,
        "v1",
        "selfsubjectrulesreviews",
        "SelfSubjectRulesReview",
        namespaced=False,
        verbs=_CREATE,
    ),
    Served(
        _AUTHORIZATION, "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False, verbs=_CREATE
    ),
)
"""What discovery shows of them."""

_USER: Final = {"username": "system:anonymous", "groups": ["system:masters", "system:unauthenticated"]}
_ALLOWED: Final = {"allowed": True, "reason": "this server allows everything"}
_STATUS: Final[Mapping[str, Mapping[str, Any]]] = {
    "SelfSubjectReview": {"userInfo": _USER},
    "TokenReview": {"authenticated": True, "user": _USER},
    "LocalSubjectAccessReview": _ALLOWED,
    "SelfSubjectAccessReview": _ALLOWED,
    "SubjectAccessReview": _ALLOWED,
    "SelfSubjectRulesReview": {
        "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        "incomplete": False,
    },
}


def answer(served: Served, content: Mapping[str, Any]) -> dict[str, Any]:
    """The review as it was sent, with its status filled in."""
    return {
        "kind": served.kind,
        "apiVersion": served.api_version,
        "metadata": content.get("metadata") or {},
        "spec": content.get("spec") or {},
        "status": dict(_STATUS[served.kind]),
    }
