"""Matching: whether a stored object is selected, and which fields may be asked for (rule Q-5)."""

from collections.abc import Callable
from typing import Any, Final

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.registry import Served, bad_request
from kinformer.apiserver.rest._objects import Objects
from kinformer.apiserver.rest._options import ListOptions
from kinformer.apiserver.storage import KeyValue

__all__ = ["matcher"]

# A field whose name is not its path, and fields that are never absent.
_ALIASES: Final = {
    "source": "source.component",
    "status.successful": "status.succeeded",
    "spec.host": "spec.nodeName",
}
_ZEROS: Final = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.successful": "0",
}


def matcher(objects: Objects, served: Served, options: ListOptions) -> Callable[[KeyValue], bool] | None:
    """A predicate for the selectors of a request; ``None`` where everything matches.

    Raises:
        StatusError: A field cannot be asked for: 400.
    """
    labels, fields = options.labels, options.fields
    for requirement in fields.requirements:
        _check(served, requirement.path)
    if not labels.requirements and not fields.requirements:
        return None

    def matches(value: KeyValue) -> bool:
        view = objects.view(served, value)
        found = view.content["metadata"].get("labels") or {}
        return labels.matches(found) and fields.matches(
            {term.path: _field(view, term.path) for term in fields.requirements}
        )

    return matches


def _check(served: Served, path: str) -> None:
    extra = served.traits.fields
    known = ("metadata.name", *(("metadata.namespace",) if served.namespaced else ()))
    aliases = ("spec.host",) if served.plural == "pods" else ()
    if path in {*known, *(extra or ()), *aliases}:
        return
    if extra is None and not served.is_custom:
        names = ", ".join(f'"{name}"' for name in known)
        raise bad_request(f'"{path}" is not a known field selector: only {names}')
    raise bad_request(f"field label not supported: {path}")


def _field(view: StoredObject, path: str) -> str:
    value: Any = view.content
    for part in _ALIASES.get(path, path).split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return _ZEROS.get(path, "")
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(item.get("ip", "") for item in value) if isinstance(value, list) else str(value)
