"""Field paths: which parts of an object there are, and how two objects differ in them.

A path is a tuple of elements in the spelling of ``fieldsV1`` (rule P-9): ``f:name``, ``k:{"name":"a"}``, ``v:"x"``; a
set of paths is a frozenset, so that ownership is set algebra. The walk follows structured-merge-diff.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kinformer.apiserver.registry import Shape

__all__ = ["Difference", "Path", "Paths", "compare", "field_set", "from_fields_v1", "spelled", "to_fields_v1"]

Path = tuple[str, ...]
Paths = frozenset[Path]


@dataclass(frozen=True, slots=True)
class Difference:
    """What is new, what has another value, what is gone."""

    added: Paths
    changed: Paths
    removed: Paths


def field_set(value: Any, shape: Shape) -> Paths:
    """What an applied configuration has an opinion on (rule P-10)."""
    return frozenset(_applied(value, shape, ()))


def compare(old: Any, new: Any, shape: Shape) -> Difference:
    """How two objects differ; a container that is on one side only counts like what it contains."""
    added: set[Path] = set()
    changed: set[Path] = set()
    removed: set[Path] = set()

    def walk(old: Any, new: Any, shape: Shape, path: Path) -> None:
        if _is_granular(old, shape) and _is_granular(new, shape) and type(old) is type(new):
            before, after = _members(old, shape), _members(new, shape)
            for element, (value, child) in before.items():
                if element in after:
                    walk(value, after[element][0], child, (*path, element))
                else:
                    removed.update(_all(value, child, (*path, element)))
            for element, (value, child) in after.items():
                if element not in before:
                    added.update(_all(value, child, (*path, element)))
        elif old != new or type(old) is not type(new):
            before_paths, after_paths = set(_all(old, shape, path)), set(_all(new, shape, path))
            removed.update(before_paths - after_paths)
            added.update(after_paths - before_paths)
            changed.update(before_paths & after_paths)

    walk(old, new, shape, ())
    return Difference(frozenset(added), frozenset(changed), frozenset(removed))


def to_fields_v1(paths: Iterable[Path]) -> dict[str, Any]:
    """The nested form; a node that is a member and has members carries ``"."``."""
    root: dict[str, Any] = {}
    members = set(paths)
    for path in sorted(members):
        node = root
        for depth, element in enumerate(path):
            if element not in node:
                node[element] = {}
            elif not node[element] and path[: depth + 1] in members:
                node[element]["."] = {}
            node = node[element]
    return root


def from_fields_v1(fields: Mapping[str, Any]) -> Paths:
    """The set in the nested form.

    Raises:
        TypeError: It does not have that form.
    """

    def walk(node: Mapping[str, Any], path: Path) -> Iterator[Path]:
        if not isinstance(node, Mapping):
            raise TypeError(f"fieldsV1 has {node!r} at {path}, where an object belongs")
        if path and (not node or "." in node):
            yield path
        for element, child in node.items():
            if element != ".":
                yield from walk(child, (*path, element))

    return frozenset(walk(fields, ()))


def spelled(path: Path) -> str:
    """The path as messages write it, such as ``.spec.containers[name="app"].image`` (rule P-13)."""
    text = ""
    for element in path:
        kind, _, rest = element.partition(":")
        if kind == "k":
            keys = ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(rest).items())
            text += f"[{keys}]"
        else:
            text += {"f": f".{rest}", "v": f"[={rest}]"}.get(kind, f"[{rest}]")
    return text


def _is_granular(value: Any, shape: Shape) -> bool:
    """Whether the value has members of its own, and is not one value as a whole."""
    if isinstance(value, dict):
        return not shape.is_atomic
    return isinstance(value, list) and shape.list_type != "atomic"


def _members(value: Any, shape: Shape) -> dict[str, tuple[Any, Shape]]:
    if isinstance(value, dict):
        return {f"f:{key}": (item, shape.child(key)) for key, item in value.items()}
    return {shape.identity(item): (item, shape.item) for item in value}


def _all(value: Any, shape: Shape, path: Path) -> Iterator[Path]:
    """The value itself and everything in it."""
    if path and not (shape.is_always_there and isinstance(value, dict)):
        yield path
    if _is_granular(value, shape):
        for element, (item, child) in _members(value, shape).items():
            yield from _all(item, child, (*path, element))


def _applied(value: Any, shape: Shape, path: Path) -> Iterator[Path]:
    if not _is_granular(value, shape) or value == {}:
        yield path
        return
    for element, (item, child) in _members(value, shape).items():
        here = (*path, element)
        is_map = isinstance(item, dict) and item and not child.is_atomic
        if element.startswith("v:"):
            yield here
            continue
        if element.startswith("k:") or (is_map and not shape.declares(element[2:])):
            yield here
        yield from _applied(item, child, here)
