"""Union: several stores, read as one."""

from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import chain
from types import MappingProxyType
from typing import Final

from kinformer.meta import ObjectKey, Record, is_at_least
from kinformer.store._store import Store

__all__ = ["UnionStore"]


class UnionStore(Store):
    """The stores of several namespaces, each with a writer of its own, as one.

    Invariant: every record is in the store of its namespace, so no two of them have one key; all have the same indexes.

    Args:
        parts: The stores by namespace; at least one.
    """

    __slots__ = ("_parts",)

    def __init__(self, parts: Mapping[str, Store]) -> None:
        super().__init__()
        self._parts: Final = dict(parts)

    @property
    def version(self) -> str:
        """The oldest version of all parts; ``""`` before each has one, and where they cannot be compared."""
        return reduce(_older, (part.version for part in self._parts.values()))

    @property
    def size(self) -> int:
        """The length of all its JSON in bytes."""
        return sum(part.size for part in self._parts.values())

    def get(self, key: ObjectKey) -> Record | None:
        """The record of this key, or ``None``."""
        part = self._parts.get(key.namespace)
        return None if part is None else part.get(key)

    def __len__(self) -> int:
        return sum(map(len, self._parts.values()))

    def __contains__(self, key: object) -> bool:
        return any(key in part for part in self._parts.values())

    def __iter__(self) -> Iterator[Record]:
        """Go over the content as it is now; later changes do not disturb it. No order is promised."""
        return chain(*map(iter, self._parts.values()))

    @property
    def content(self) -> MappingProxyType[ObjectKey, Record]:
        """The records by key, read-only, as they are now; each call puts them together anew."""
        return MappingProxyType({record.key: record for record in self})

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of the indexes."""
        return next(iter(self._parts.values())).index_names

    def by_index(self, name: str, value: str) -> tuple[Record, ...]:
        """The records that the index ``name`` finds under ``value``; none for a value that nothing has.

        Raises:
            LookupError: There is no such index.
        """
        return tuple(chain.from_iterable(part.by_index(name, value) for part in self._parts.values()))

    def by_indexes(self, values: Mapping[str, str]) -> tuple[Record, ...]:
        """The records that each of several indexes finds under its value; all records where none is named.

        Raises:
            LookupError: There is no such index.
        """
        return tuple(chain.from_iterable(part.by_indexes(values) for part in self._parts.values()))

    def index_values(self, name: str) -> tuple[str, ...]:
        """The values that some record has in the index ``name``.

        Raises:
            LookupError: There is no such index.
        """
        values = chain.from_iterable(part.index_values(name) for part in self._parts.values())
        return tuple(dict.fromkeys(values))


def _older(first: str, second: str) -> str:
    if first == second:
        return first
    try:
        return second if is_at_least(first, second) else first
    except ValueError:
        return ""
