"""Reviews: kinds that are asked by creating them, and never stored (rule R-6).

https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from kinformer.apiserver.auth import Access, Caller, Guard, PathAccess, ResourceAccess, User
from kinformer.apiserver.registry import FieldProblem, Served, bad_request, invalid
from kinformer.apiserver.rest import Target

__all__ = ["REVIEWS", "answer"]

_AUTHENTICATION: Final = "authentication.k8s.io"
_AUTHORIZATION: Final = "authorization.k8s.io"


def _review(group: str, kind: str, *, namespaced: bool = False) -> Served:
    return Served(group, "v1", f"{kind.lower()}s", kind, namespaced=namespaced, verbs=("create",))


REVIEWS: Final = (
    _review(_AUTHENTICATION, "SelfSubjectReview"),
    _review(_AUTHENTICATION, "TokenReview"),
    _review(_AUTHORIZATION, "LocalSubjectAccessReview", namespaced=True),
    _review(_AUTHORIZATION, "SelfSubjectAccessReview"),
    _review(_AUTHORIZATION, "SelfSubjectRulesReview"),
    _review(_AUTHORIZATION, "SubjectAccessReview"),
)
"""What discovery shows of them."""

_RESOURCE_FIELDS: Final = ("verb", "group", "resource", "subresource", "namespace", "name")


async def answer(target: Target, content: Mapping[str, Any], caller: Caller, guard: Guard) -> dict[str, Any]:
    """The review as it was sent, with its status filled in.

    Args:
        target: Which review, and for a local one in which namespace.
        content: What was sent.
        caller: Who sent it.
        guard: Knows tokens.

    Raises:
        StatusError: 400 for a field of a wrong type, 422 for a review that asks nothing, or too much.
    """
    served = target.served
    spec = content.get("spec") or {}
    if not isinstance(spec, dict):
        raise bad_request(f"{served.kind}: spec must be an object")
    if served.group == _AUTHORIZATION and (metadata := _beside_fields(content.get("metadata"), served)):
        raise _invalid(served, FieldProblem.invalid("metadata", metadata, "must be empty"))
    status: Mapping[str, Any]
    match served.kind:
        case "SelfSubjectReview":
            status = {"userInfo": caller.user.to_object()}
        case "TokenReview":
            status = await _token_status(served, spec, guard)
        case "SelfSubjectRulesReview":
            status = _rules_status(_text(served, spec, "namespace"), caller)
        case "SelfSubjectAccessReview":
            status = _access_status(_access(served, spec), caller)
        case _:
            access = _access(served, spec)
            if served.namespaced and (
                not isinstance(access, ResourceAccess) or access.namespace != target.namespace
            ):
                text = f"must match metadata.namespace: {target.namespace}"
                raise _invalid(served, FieldProblem.invalid("spec.resourceAttributes.namespace", "", text))
            about = _user(served, spec)
            status = _access_status(access, caller if guard.is_open else replace(caller, user=about))
    return {
        "kind": served.kind,
        "apiVersion": served.api_version,
        "metadata": content.get("metadata") or {},
        "spec": spec,
        "status": status,
    }


def _beside_fields(metadata: Any, served: Served) -> Mapping[str, Any]:
    """What a review may not say of itself: anything, except that a local one names its namespace."""
    if metadata is not None and not isinstance(metadata, dict):
        raise bad_request(f"{served.kind}: metadata must be an object")
    allowed = {"managedFields", *(("namespace",) if served.namespaced else ())}
    return {key: value for key, value in (metadata or {}).items() if value and key not in allowed}


def _access_status(access: Access, caller: Caller) -> Mapping[str, Any]:
    reason = caller.may(access)
    return {"allowed": True, "reason": reason} if reason else {"allowed": False}


async def _token_status(served: Served, spec: Mapping[str, Any], guard: Guard) -> Mapping[str, Any]:
    audiences = _texts(served, spec, "audiences")
    user = await guard.user_of(_text(served, spec, "token"), audiences)
    if user is None:
        return {"authenticated": False, "error": "invalid bearer token"}
    granted = {"audiences": list(audiences)} if audiences else {}
    return {"authenticated": True, "user": user.to_object(), **granted}


def _rules_status(namespace: str, caller: Caller) -> Mapping[str, Any]:
    rules = caller.policy.rules_of(caller.user, namespace)
    return {
        "resourceRules": [rule.to_object() for rule in rules if not rule.paths],
        "nonResourceRules": [rule.to_object() for rule in rules if rule.paths],
        "incomplete": False,
    }


def _access(served: Served, spec: Mapping[str, Any]) -> Access:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if (resource is None) is (path is None):
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _invalid(served, FieldProblem.invalid("spec.resourceAttributes", resource, text))
    attributes = path if resource is None else resource
    if not isinstance(attributes, dict):
        raise bad_request(f"{served.kind}: the attributes must be an object")
    if resource is None:
        return PathAccess(_text(served, attributes, "verb"), _text(served, attributes, "path"))
    return ResourceAccess(*(_text(served, attributes, field) for field in _RESOURCE_FIELDS))


def _user(served: Served, spec: Mapping[str, Any]) -> User:
    name, groups = _text(served, spec, "user"), _texts(served, spec, "groups")
    if not name and not groups:
        text = "at least one of user or group must be specified"
        raise _invalid(served, FieldProblem.invalid("spec.user", name, text))
    return User(name, groups)


def _text(served: Served, values: Mapping[str, Any], field: str) -> str:
    value = values.get(field) or ""
    if not isinstance(value, str):
        raise bad_request(f"{served.kind}: {field} must be a text")
    return value


def _texts(served: Served, values: Mapping[str, Any], field: str) -> tuple[str, ...]:
    value = values.get(field) or []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise bad_request(f"{served.kind}: {field} must be a list of texts")
    return tuple(value)


def _invalid(served: Served, problem: FieldProblem) -> Exception:
    return invalid(served, "", [problem])
