"""What apply does to a value: lay a configuration over it, and take away what is not wanted any more.

Pure; both functions share parts with their arguments and change none of them. The rules are those of
structured-merge-diff's ``Merge`` and ``RemoveItems``.
"""

from collections.abc import Set as AbstractSet
from typing import Any

from kinformer.apiserver.registry import Shape, StatusError
from kinformer.apiserver.rest._field_paths import Path

__all__ = ["lay_over", "remove_paths"]


def lay_over(live: Any, config: Any, shape: Shape, path: str = "") -> Any:
    """The live value with everything that the configuration says (rule P-12.2).

    Raises:
        StatusError: A keyed list of the configuration holds a key twice: 400.
    """
    if isinstance(config, dict) and not shape.is_atomic:
        if not isinstance(live, dict):
            live = {}
        merged = dict(live)
        for key, value in config.items():
            merged[key] = lay_over(live.get(key), value, shape.child(key), f"{path}.{key}")
        return merged
    if isinstance(config, list) and shape.list_type != "atomic":
        return _lay_over_list(live if isinstance(live, list) else [], config, shape, path)
    return config


def remove_paths(
    value: Any, doomed: AbstractSet[Path], shape: Shape, *, held: AbstractSet[Path] = frozenset()
) -> Any:
    """The value without the members at these paths; a container that loses its last member goes too.

    The keys of an item that stays are never taken from it, and a container at a ``held`` path stays though empty.
    """
    branches = _branches(doomed)
    if not branches:
        return value
    holds = _branches(held)
    if isinstance(value, dict):
        members: dict[str, Any] = {}
        for key, item in value.items():
            element = f"f:{key}"
            kept = _without(item, branches.get(element), shape.child(key), holds.get(element, set()))
            if kept is not _GONE:
                members[key] = kept
        return members
    if isinstance(value, list):
        kept_items = []
        for item in value:
            element = shape.identity(item)
            branch = _spare_keys(branches.get(element), shape)
            kept_items.append(_without(item, branch, shape.item, holds.get(element, set())))
        return [item for item in kept_items if item is not _GONE]
    return value


_GONE = object()


def _branches(paths: AbstractSet[Path]) -> dict[str, set[Path]]:
    """Paths by their first element, each without it."""
    found: dict[str, set[Path]] = {}
    for path in paths:
        if path:
            found.setdefault(path[0], set()).add(path[1:])
    return found


def _without(value: Any, doomed: set[Path] | None, shape: Shape, held: set[Path]) -> Any:
    if doomed is None:
        return value
    if () in doomed or (() not in held and _is_emptied(value, doomed, shape)):
        return _GONE
    return remove_paths(value, doomed, shape, held=held)


def _is_emptied(value: Any, doomed: set[Path], shape: Shape) -> bool:
    """Whether every member itself goes; one that is merely emptied leaves an empty container behind."""
    if isinstance(value, dict):
        elements = [f"f:{key}" for key in value]
    elif isinstance(value, list):
        elements = [shape.identity(item) for item in value]
    else:
        return False
    return bool(elements) and all((element,) in doomed for element in elements)


def _spare_keys(doomed: set[Path] | None, shape: Shape) -> set[Path] | None:
    if doomed is None or () in doomed:
        return doomed
    return {path for path in doomed if path[0].removeprefix("f:") not in shape.keys} or None


def _lay_over_list(live: list[Any], config: list[Any], shape: Shape, path: str) -> list[Any]:
    """Items of both follow the configuration's order; those of one side only stay near their neighbours."""
    wanted = [shape.identity(item) for item in config]
    if len(set(wanted)) < len(wanted):
        twice = next(name for place, name in enumerate(wanted) if name in wanted[:place])
        text = f"failed to create typed patch object: {path}: duplicate entries for key [{twice[2:]}]"
        raise StatusError(400, "BadRequest", text)
    present = {shape.identity(item): item for item in live}
    merged: list[Any] = []
    done: set[str] = set()
    ahead = iter(zip(wanted, config, strict=True))
    for item in live:
        name = shape.identity(item)
        if name not in wanted:
            merged.append(item)
            continue
        while name not in done:
            each, value = next(ahead)
            merged.append(lay_over(present.get(each), value, shape.item, f"{path}[{each[2:]}]"))
            done.add(each)
    merged += [lay_over(present.get(each), value, shape.item, f"{path}[{each[2:]}]") for each, value in ahead]
    return merged
