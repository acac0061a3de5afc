"""Shaping custom resources by their structural schema: prune, drop nulls, fill in defaults (rule C-8).

All three change the content in place, and repeating them changes nothing more. The rules are those of
``apiextensions-apiserver/pkg/apiserver/schema/{pruning,defaulting}``.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

__all__ = ["apply_defaults", "drop_nulls", "keeps_unknown", "prune"]

Schema = Mapping[str, Any]

_ROOT: Final = ("apiVersion", "kind", "metadata")
_EMPTY: Final[Schema] = {}


def prune(content: dict[str, Any], schema: Schema) -> list[str]:
    """Remove the fields that the schema does not know; gives their paths, such as ``spec.items[0].foo``."""
    return list(_prune(content, schema, "", is_resource=True))


def drop_nulls(value: Any, schema: Schema) -> None:
    """Remove the nulls that the schema does not allow and that no default will replace."""
    if isinstance(value, dict):
        for key in list(value):
            child = _child(schema, key)
            if value[key] is not None:
                drop_nulls(value[key], child)
            elif key in schema.get("properties", ()) and not child.get("nullable") and "default" not in child:
                del value[key]
    elif isinstance(value, list):
        for item in value:
            drop_nulls(item, schema.get("items") or _EMPTY)


def apply_defaults(value: Any, schema: Schema) -> None:
    """Fill in the defaults of what is absent, or null where that is not allowed; only inside objects that exist."""
    if isinstance(value, dict):
        for key, child in (schema.get("properties") or {}).items():
            is_missing = key not in value or (value[key] is None and not child.get("nullable"))
            if is_missing and "default" in child:
                value[key] = deepcopy(child["default"])
        for key in value:
            apply_defaults(value[key], _child(schema, key))
    elif isinstance(value, list):
        for item in value:
            apply_defaults(item, schema.get("items") or _EMPTY)


def keeps_unknown(schema: Schema) -> bool:
    """Whether fields that the schema does not declare may stay."""
    return (
        bool(schema.get("x-kubernetes-preserve-unknown-fields")) or schema.get("additionalProperties") is True
    )


def _prune(value: Any, schema: Schema, path: str, *, is_resource: bool) -> Iterator[str]:
    if isinstance(value, dict):
        is_resource = is_resource or bool(schema.get("x-kubernetes-embedded-resource"))
        for key in list(value):
            here = f"{path}.{key}" if path else key
            if is_resource and key in _ROOT:
                continue
            if key in (schema.get("properties") or ()) or isinstance(
                schema.get("additionalProperties"), Mapping
            ):
                yield from _prune(value[key], _child(schema, key), here, is_resource=False)
            elif not keeps_unknown(schema):
                del value[key]
                yield here
    elif isinstance(value, list) and (items := schema.get("items")):
        for index, item in enumerate(value):
            yield from _prune(item, items, f"{path}[{index}]", is_resource=False)


def _child(schema: Schema, key: str) -> Schema:
    properties = schema.get("properties") or _EMPTY
    if key in properties:
        return properties[key] or _EMPTY
    additional = schema.get("additionalProperties")
    return additional if isinstance(additional, Mapping) else _EMPTY
