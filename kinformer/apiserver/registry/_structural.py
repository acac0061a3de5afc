"""Whether a schema is structural, as every schema of a definition must be (rule C-7)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kinformer.apiserver.registry._errors import FieldProblem

__all__ = ["check_structural"]

_FORBIDDEN: Final = ("$ref", "definitions", "dependencies", "patternProperties", "additionalItems", "id")
_LIST_TYPES: Final = ("atomic", "map", "set")
_MAP_TYPES: Final = ("atomic", "granular")
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")


def check_structural(schema: Mapping[str, Any], path: str) -> Iterator[FieldProblem]:
    """Everything that keeps a schema from being structural.

    Args:
        schema: The root, which must be an object.
        path: Where it stands, for the problems.
    """
    if schema.get("type") != "object":
        yield FieldProblem.invalid(f"{path}.type", schema.get("type", ""), "must be object at the root")
    yield from _check(schema, path)


def _check(schema: Any, path: str) -> Iterator[FieldProblem]:
    if not isinstance(schema, Mapping):
        yield FieldProblem.wrong_type(path, schema, "must be an object")
        return
    yield from _check_node(schema, path)
    for name, child in (schema.get("properties") or {}).items():
        yield from _check(child, f"{path}.properties[{name}]")
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield from _check(schema["additionalProperties"], f"{path}.additionalProperties")
    if isinstance(schema.get("items"), Mapping):
        yield from _check(schema["items"], f"{path}.items")


def _check_node(schema: Mapping[str, Any], path: str) -> Iterator[FieldProblem]:
    kind = schema.get("type", "")
    is_free = schema.get("x-kubernetes-int-or-string") or schema.get("x-kubernetes-preserve-unknown-fields")
    if not kind and not is_free:
        yield FieldProblem.required(f"{path}.type", "must not be empty for specified object fields")
    elif kind and kind not in _TYPES:
        yield FieldProblem.unsupported(f"{path}.type", kind, _TYPES)
    for field in _FORBIDDEN:
        if field in schema:
            yield FieldProblem.forbidden(f"{path}.{field}", f"{field} is not supported")
    if schema.get("uniqueItems"):
        yield FieldProblem.forbidden(f"{path}.uniqueItems", "uniqueItems cannot be set to true")
    if schema.get("additionalProperties") is False:
        yield FieldProblem.forbidden(
            f"{path}.additionalProperties", "additionalProperties cannot be set to false"
        )
    if schema.get("properties") and schema.get("additionalProperties"):
        text = "additionalProperties and properties are mutual exclusive"
        yield FieldProblem.forbidden(f"{path}.additionalProperties", text)
    if isinstance(schema.get("items"), list):
        yield FieldProblem.forbidden(f"{path}.items", "items must be a schema object and not an array")
    if kind == "array" and not schema.get("items"):
        yield FieldProblem.required(f"{path}.items", "must be specified")
    for field, allowed in (("x-kubernetes-list-type", _LIST_TYPES), ("x-kubernetes-map-type", _MAP_TYPES)):
        if (value := schema.get(field)) is not None and value not in allowed:
            yield FieldProblem.unsupported(f"{path}.{field}", value, allowed)
    if schema.get("x-kubernetes-list-type") == "map" and not schema.get("x-kubernetes-list-map-keys"):
        text = "must not be empty if x-kubernetes-list-type is map"
        yield FieldProblem.required(f"{path}.x-kubernetes-list-map-keys", text)
    if pattern := schema.get("pattern"):
        try:
            re.compile(pattern)
        except re.error as error:
            yield FieldProblem.invalid(
                f"{path}.pattern", pattern, f"must be a valid regular expression: {error}"
            )
