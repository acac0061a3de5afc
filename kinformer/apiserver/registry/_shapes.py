"""Shape: how the parts of a kind merge, for strategic merge and for apply.

A shape says of a map whether it merges by key or is one value, and of a list whether it is one value, a set of values
or a map of items. The words are those of ``x-kubernetes-list-type`` and its neighbours (rules C-10, P-6, P-10).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

__all__ = ["FREE", "STRUCT", "Shape", "custom_shape"]


@dataclass(frozen=True, slots=True)
class Shape:
    """How one value merges; the default is what nothing is known of: maps by key, lists as one value.

    Attributes:
        fields: The shapes of the declared fields of a map.
        values: The shape of every other value of a map, and ``None`` for a shape like this one's default.
        items: The shape of the items of a list; ``None`` as above.
        list_type: ``atomic``, ``set`` or ``map``.
        keys: What identifies an item of a ``map`` list for apply.
        key_defaults: What a key is when the item lacks it.
        merge_key: What identifies an item for strategic merge; ``""`` with a ``set`` merges scalars.
        retains_keys: Whether strategic merge understands ``$retainKeys`` here.
        replaces: Whether strategic merge replaces this map as a whole.
        is_atomic: Whether a map is one value for apply.
        is_always_there: Whether it is a struct that a Go object cannot lack, so that nobody owns its existence.
        declares_all: Whether fields that are not in ``fields`` count as declared: true for built-in kinds, of which
            only the interesting ones are written down.
    """

    fields: Mapping[str, "Shape"] = field(default_factory=dict)
    values: "Shape | None" = None
    items: "Shape | None" = None
    list_type: Literal["atomic", "set", "map"] = "atomic"
    keys: tuple[str, ...] = ()
    key_defaults: Mapping[str, Any] = field(default_factory=dict)
    merge_key: str = ""
    retains_keys: bool = False
    replaces: bool = False
    is_atomic: bool = False
    is_always_there: bool = False
    declares_all: bool = False

    def child(self, name: str) -> "Shape":
        """The shape of a field or entry of a map."""
        return self.fields.get(name) or self.values or self._unknown

    def declares(self, name: str) -> bool:
        """Whether a key of a map is a field of the type, and not an entry that came with the data."""
        return self.declares_all or name in self.fields

    @property
    def item(self) -> "Shape":
        """The shape of the items of a list."""
        return self.items or self._unknown

    @property
    def _unknown(self) -> "Shape":
        return STRUCT if self.declares_all else FREE

    def identity(self, item: Any) -> str:
        """What tells an item of a ``set`` or ``map`` list from its neighbours: a path element of ``fieldsV1``."""
        if self.list_type == "map" and isinstance(item, Mapping):
            found = {key: item.get(key, self.key_defaults.get(key)) for key in sorted(self.keys)}
            return "k:" + _json({key: value for key, value in found.items() if value is not None})
        return "v:" + _json(item)


FREE: Final = Shape()
"""Nothing is known, and whatever keys there are came with the data."""

STRUCT: Final = Shape(declares_all=True)
"""Nothing is written down, but every key is a field of a type: the parts of built-in kinds."""


def custom_shape(schema: Mapping[str, Any]) -> Shape:
    """The shape of a custom resource, by its schema; metadata is that of every object and left to the caller."""
    items = schema.get("items")
    additional = schema.get("additionalProperties")
    return Shape(
        fields={name: custom_shape(child or {}) for name, child in (schema.get("properties") or {}).items()},
        values=custom_shape(additional) if isinstance(additional, Mapping) else None,
        items=custom_shape(items) if isinstance(items, Mapping) else None,
        list_type=schema.get("x-kubernetes-list-type", "atomic"),
        keys=tuple(schema.get("x-kubernetes-list-map-keys") or ()),
        key_defaults=_key_defaults(schema),
        is_atomic=schema.get("x-kubernetes-map-type") == "atomic",
    )


def _key_defaults(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = (schema.get("items") or {}).get("properties") or {}
    keys = schema.get("x-kubernetes-list-map-keys") or ()
    return {key: properties[key]["default"] for key in keys if "default" in (properties.get(key) or {})}


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
