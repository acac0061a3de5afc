"""What becomes of an object between the request and the storage, apart from validation: the strategy of its kind.

Pure. ``registry/rest.BeforeCreate`` and ``BeforeUpdate`` (apiserver) with the parts of ``pkg/registry/*/strategy.go``.
"""

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from kinformer.apiserver.registry import Served, default_roles

__all__ = ["for_create", "for_update", "timestamp"]

_SYSTEM: Final = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
    "generation",
    "resourceVersion",
]
_KEPT: Final = [
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "selfLink",
]
_FIRST_STATUS: Final[dict[str, dict[str, Any]]] = {
    "pods": {"phase": "Pending", "qosClass": "BestEffort"},
    "namespaces": {"phase": "Active"},
    "persistentvolumes": {"phase": "Pending"},
    "persistentvolumeclaims": {"phase": "Pending"},
}
_NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"


def for_create(served: Served, content: dict[str, Any], *, uid: str, now: datetime) -> dict[str, Any]:
    """A new object with its system fields, its first status and generation 1 where it has one (rule W-7)."""
    metadata = {key: value for key, value in content["metadata"].items() if key not in _SYSTEM}
    metadata["uid"] = uid
    metadata["creationTimestamp"] = timestamp(now)
    if served.is_custom or served.traits.generation:
        metadata["generation"] = 1
    content = {**content, "metadata": metadata}
    if served.has_status and not served.traits.keeps_status_on_create:
        content.pop("status", None)
        if not served.is_custom:
            content["status"] = dict(_FIRST_STATUS.get(served.plural, {})) if served.group == "" else {}
    _normalise(served, content)
    if _is_namespace(served):
        content["spec"] = {**content.get("spec", {}), "finalizers": ["kubernetes"]}
    return content


def for_update(served: Served, subresource: str, old: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    """The object as it would be after an update of an endpoint (rules W-11, W-13, W-14)."""
    if subresource == "status":
        return _with_status(old, sent)
    if subresource == "finalize":
        finalizers = (sent.get("spec") or {}).get("finalizers") or []
        return {
            **old,
            "metadata": dict(old["metadata"]),
            "spec": {**old.get("spec", {}), "finalizers": finalizers},
        }
    before = old["metadata"]
    metadata = {
        key: value for key, value in sent["metadata"].items() if key not in _KEPT and value is not None
    }
    metadata.update({key: before[key] for key in _KEPT if key in before})
    metadata["uid"] = metadata.get("uid") or before["uid"]
    new = {**sent, "metadata": metadata}
    if served.has_status:
        new.pop("status", None)
        if "status" in old:
            new["status"] = old["status"]
    _normalise(served, new)
    if _is_namespace(served):
        new["spec"] = {**new.get("spec", {}), "finalizers": old.get("spec", {}).get("finalizers", [])}
    return new


def bump_generation(served: Served, old: Mapping[str, Any], new: dict[str, Any]) -> None:
    """Count a change of what is not metadata, nor status where that has its own endpoint (rule W-14)."""
    if not (served.is_custom or served.traits.generation):
        return
    hidden = {"apiVersion", "kind", "metadata", *(("status",) if served.has_status else ())}
    changed = any(old.get(key) != new.get(key) for key in {*old, *new} - hidden)
    if served.plural == "deployments" and not served.is_custom:
        changed |= old["metadata"].get("annotations") != new["metadata"].get("annotations")
    if changed:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def timestamp(moment: datetime) -> str:
    """A moment as Kubernetes writes it: UTC, whole seconds (rule H-16)."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _with_status(old: dict[str, Any], sent: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(old["metadata"])
    if "managedFields" in sent["metadata"]:
        metadata["managedFields"] = sent["metadata"]["managedFields"]
    new = {**old, "metadata": metadata}
    new.pop("status", None)
    return {**new, "status": sent["status"]} if "status" in sent else new


def _is_namespace(served: Served) -> bool:
    return served.group == "" and served.plural == "namespaces"


def _normalise(served: Served, content: dict[str, Any]) -> None:
    """What the server adds to or makes of a built-in kind, at each write."""
    metadata = content["metadata"]
    if owners := metadata.get("ownerReferences"):
        unique = [owner for index, owner in enumerate(owners) if owner not in owners[:index]]
        metadata["ownerReferences"] = unique
    if served.is_custom:
        return
    default_roles(served, content)
    if served.group not in {"", "apps"}:
        return
    if _is_namespace(served):
        metadata["labels"] = {**metadata.get("labels", {}), _NAMESPACE_LABEL: metadata.get("name", "")}
    elif served.plural == "secrets":
        content.setdefault("type", "Opaque")
        if texts := content.pop("stringData", None):
            encoded = {key: base64.b64encode(str(text).encode()).decode() for key, text in texts.items()}
            content["data"] = {**content.get("data", {}), **encoded}
    elif served.plural == "services":
        spec = content.setdefault("spec", {})
        spec.setdefault("type", "ClusterIP")
        spec.setdefault("sessionAffinity", "None")
        for port in spec.get("ports", ()):
            port.setdefault("protocol", "TCP")
            port.setdefault("targetPort", port.get("port"))
    elif served.scale is not None and isinstance(content.get("spec"), dict):
        content["spec"].setdefault("replicas", 1)
