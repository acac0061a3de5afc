"""Difference: how a snapshot differs from what it should be. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from kinformer.meta import Object, ObjectKey, Record

__all__ = ["Difference", "compare"]

_SHOWN: Final = 5
"""How many keys of a kind a message names."""


@dataclass(frozen=True, slots=True)
class Difference:
    """How a snapshot differs from what it should be; the keys are in the order of their names."""

    missing: Sequence[ObjectKey]
    surplus: Sequence[ObjectKey]
    changed: Sequence[ObjectKey]
    """In both, with other metadata or another body."""

    def __bool__(self) -> bool:
        return bool(self.missing or self.surplus or self.changed)

    def __str__(self) -> str:
        parts = (("missing", self.missing), ("surplus", self.surplus), ("changed", self.changed))
        return "; ".join(f"{name}: {_listed(keys)}" for name, keys in parts if keys) or "no difference"


def compare(found: Iterable[Record], expected: Iterable[Record]) -> Difference:
    """Compare by key, whatever the order; whether an object names its own kind makes no difference."""
    ours = {record.key: record for record in found}
    theirs = {record.key: record for record in expected}
    return Difference(
        sorted(theirs.keys() - ours.keys()),
        sorted(ours.keys() - theirs.keys()),
        sorted(key for key in ours.keys() & theirs.keys() if Object(ours[key]) != Object(theirs[key])),
    )


def _listed(keys: Sequence[ObjectKey]) -> str:
    return ", ".join(map(str, keys[:_SHOWN])) + (
        f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
    )
