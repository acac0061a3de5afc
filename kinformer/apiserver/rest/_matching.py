"""Matching: whether a stored object is selected, and which fields may be asked for (rule Q-5)."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from kinformer.apiserver.cacher import Attributes, Element, ReadAttributes
from kinformer.apiserver.registry import Served, bad_request, show
from kinformer.apiserver.rest._options import ListOptions
from kinformer.apiserver.storage import KeyValue

__all__ = ["attributes", "selector"]

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


class _Metadata(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _Labelled(msgspec.Struct, gc=False):
    metadata: _Metadata


_decode_labelled = msgspec.json.Decoder(_Labelled).decode
_NOTHING: Final = Attributes({}, {})


def selector(served: Served, options: ListOptions) -> Callable[[Element], bool] | None:
    """A predicate for the selectors of a request; ``None`` where everything matches.

    Raises:
        StatusError: A field cannot be asked for: 400.
    """
    labels, fields = options.labels, options.fields
    for requirement in fields.requirements:
        _check(served, requirement.path)
    if not labels.requirements and not fields.requirements:
        return None
    if not fields.requirements:
        return lambda element: labels.matches(element.labels)
    return lambda element: labels.matches(element.labels) and fields.matches(element.fields)


def attributes(served: Served) -> ReadAttributes:
    """How to read the labels of a resource's objects, and the fields that they can be selected by."""
    prefix = served.prefix()
    paths = (*(served.traits.fields or ()), *_aliases(served))

    def read(value: KeyValue) -> Attributes:
        namespace, _, name = value.key.removeprefix(prefix).rpartition("/")
        fields = {"metadata.name": name, **({"metadata.namespace": namespace} if served.namespaced else {})}
        try:
            labels = _decode_labelled(value.value).metadata.labels or {}
            if paths:
                content = msgspec.json.decode(value.value)
                content = show(served, content) if served.is_custom else content
                fields |= {path: _field(content, path) for path in paths}
        except (msgspec.DecodeError, RecursionError):
            return _NOTHING  # it is no object; who shows it will say so
        return Attributes(labels, fields)

    return read


def _check(served: Served, path: str) -> None:
    extra = served.traits.fields
    known = ("metadata.name", *(("metadata.namespace",) if served.namespaced else ()))
    if path in {*known, *(extra or ()), *_aliases(served)}:
        return
    if extra is None and not served.is_custom:
        names = ", ".join(f'"{name}"' for name in known)
        raise bad_request(f'"{path}" is not a known field selector: only {names}')
    raise bad_request(f"field label not supported: {path}")


def _aliases(served: Served) -> tuple[str, ...]:
    return ("spec.host",) if served.plural == "pods" else ()


def _field(content: Mapping[str, Any], path: str) -> str:
    value: Any = content
    for part in _ALIASES.get(path, path).split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if value is None:
        return _ZEROS.get(path, "")
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(item.get("ip", "") for item in value) if isinstance(value, list) else str(value)
