"""Field types: what JSON type a value has, as a Go type would demand it.

A field type is ``str``, ``bool``, ``int`` (of 64 bits), ``float`` (any number), ``dict`` (any object), ``list`` (any list), a
mapping of field names to field types (other names are free), ``MapOf``, ``ListOf`` or ``Either``. Null fits every field, as in
Go, but is no item of a list or map.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

__all__ = ["Either", "ListOf", "MapOf", "Misfit", "misfits"]


class MapOf(NamedTuple):
    """An object whose values are all of one type."""

    values: Any


class ListOf(NamedTuple):
    """A list whose items are all of one type."""

    items: Any


class Either(NamedTuple):
    """A value of a plain type, or else of another one."""

    plain: type
    other: Any


class Misfit(NamedTuple):
    """A value of a wrong type: where, what JSON calls its type, and what Go calls the type that belongs there."""

    path: str
    found: str
    wanted: str


_INT64: Final = 2**63
_JSON_NAMES: Final = {
    dict: "object",
    list: "array",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    type(None): "null",
}
_GO_NAMES: Final = {
    dict: "map",
    list: "slice",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}


def misfits(value: Any, wanted: Any, path: str) -> Iterator[Misfit]:
    """Where a value is not of the type that is wanted: the path, the JSON type that was found, and the Go type.

    Args:
        value: Decoded JSON.
        wanted: A field type.
        path: Where the value stands.
    """
    if isinstance(wanted, Either):
        wanted = wanted.plain if _is_of(value, wanted.plain) else wanted.other
    plain = wanted if isinstance(wanted, type) else list if isinstance(wanted, ListOf) else dict
    if not _is_of(value, plain):
        yield Misfit(path, _JSON_NAMES[type(value)], _GO_NAMES[plain])
    elif isinstance(wanted, ListOf):
        for index, item in enumerate(value):
            yield from misfits(item, wanted.items, f"{path}[{index}]")
    elif isinstance(wanted, MapOf):
        for key, item in value.items():
            yield from misfits(item, wanted.values, f"{path}.{key}")
    elif isinstance(wanted, Mapping):
        for key, inner in wanted.items():
            if value.get(key) is not None:
                yield from misfits(value[key], inner, f"{path}.{key}")


def _is_of(value: Any, plain: type) -> bool:
    if plain is float:
        return type(value) in {int, float}
    if plain is int:
        return type(value) is int and -_INT64 <= value < _INT64
    return type(value) is plain
