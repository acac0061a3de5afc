"""Strategic merge patch: a merge patch that knows which lists are maps in disguise (rule P-6).

The rules are those of ``apimachinery/pkg/util/strategicpatch``; what merges how comes from the ``Shape`` of the kind.
"""

import json
from collections.abc import Callable
from typing import Any, Final

from kinformer.apiserver.registry import Shape, StatusError, bad_request

__all__ = ["strategic_merge"]

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_FROM: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"


def strategic_merge(target: Any, patch: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """What a map becomes by a strategic merge patch; neither argument is changed.

    Args:
        target: The stored map; anything else counts as an empty one.
        patch: Values, and directives, which never end up in the result.
        shape: How the parts of the map merge.

    Raises:
        StatusError: A directive is not one, or not of its form: 400; an item lacks its merge key: 422.
    """
    directive = patch.get(_PATCH, "replace" if shape.replaces else "merge")
    if directive not in {"merge", "replace", "delete"}:
        raise bad_request(f"unknown patch type found: {directive}")
    if directive == "delete":
        return {}
    merged = dict(target) if isinstance(target, dict) and directive == "merge" else {}
    if _RETAIN in patch:
        retained = _list(patch[_RETAIN], "retainKeys")
        merged = {key: value for key, value in merged.items() if key in retained}
    for key, value in patch.items():
        if not key.startswith("$"):
            _merge_field(merged, key, value, shape.child(key))
    for key, value in patch.items():
        if key.startswith(_DELETE_FROM):
            doomed = _list(value, "primitive list")
            name = key.removeprefix(_DELETE_FROM)
            if isinstance(merged.get(name), list):
                merged[name] = [item for item in merged[name] if item not in doomed]
    for key, value in patch.items():
        if key.startswith(_ORDER):
            name = key.removeprefix(_ORDER)
            if isinstance(merged.get(name), list):
                merged[name] = _ordered(
                    merged[name], _list(value, "setElementOrder list"), _tag(shape.child(name))
                )
    return merged


def _merge_field(merged: dict[str, Any], key: str, value: Any, shape: Shape) -> None:
    old = merged.get(key)
    if value is None:
        merged.pop(key, None)
    elif isinstance(value, dict):
        merged[key] = strategic_merge(old, value, shape)
    elif isinstance(value, list):
        merged[key] = _merge_list(old if isinstance(old, list) else [], value, shape)
    else:
        merged[key] = value


def _merge_list(old: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    directives = [item for item in patch if isinstance(item, dict) and _PATCH in item]
    items = [item for item in patch if not (isinstance(item, dict) and _PATCH in item)]
    if any(item[_PATCH] == "replace" for item in directives):
        return items
    if shape.list_type == "set" and not shape.merge_key:
        return [*old, *(item for item in items if item not in old)]
    if not shape.merge_key:
        return items
    tag = _tag(shape)
    for item in directives:
        if item[_PATCH] == "delete":
            old = [kept for kept in old if tag(kept) != _required(item, shape, tag)]
        elif item[_PATCH] == "merge":
            items.append({key: value for key, value in item.items() if key != _PATCH})
        else:
            raise bad_request(f"unknown patch type found: {item[_PATCH]}")
    merged = list(old)
    places = {tag(item): place for place, item in enumerate(merged)}
    for item in items:
        name = _required(item, shape, tag)
        if name in places:
            merged[places[name]] = strategic_merge(merged[places[name]], item, shape.item)
        else:
            places[name] = len(merged)
            merged.append(strategic_merge({}, item, shape.item))
    return merged


def _tag(shape: Shape) -> Callable[[Any], str | None]:
    """What tells the items of a list apart: the merge key as printed, or the scalar itself."""

    def tag(item: Any) -> str | None:
        if not shape.merge_key:
            return json.dumps(item, sort_keys=True)
        if not isinstance(item, dict) or shape.merge_key not in item:
            return None
        value = item[shape.merge_key]
        return value if isinstance(value, str) else json.dumps(value)

    return tag


def _required(item: Any, shape: Shape, tag: Callable[[Any], str | None]) -> str:
    found = tag(item)
    if found is None:
        text = f"map: {json.dumps(item)} does not contain declared merge key: {shape.merge_key}"
        raise StatusError(422, "Invalid", text)
    return found


def _ordered(items: list[Any], order: list[Any], tag: Callable[[Any], str | None]) -> list[Any]:
    """The items as listed; those that are not listed stay behind the neighbour that they had."""
    ranks = {tag(entry): rank for rank, entry in enumerate(order)}
    rank = -1
    keyed = []
    for place, item in enumerate(items):
        own = ranks.get(tag(item))
        if own is not None:
            rank = own
        keyed.append((rank, own is None, place, item))
    return [item for *_, item in sorted(keyed, key=lambda entry: entry[:3])]


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise bad_request(f"invalid patch format of {what}")
    return value
