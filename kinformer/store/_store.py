"""The store, as its many readers see it: they have no way to write.

It is a plain synchronous structure: between two awaits of the event loop's tasks nothing changes, so a reader always
sees a whole state.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from kinformer.meta import ObjectKey, Record
from kinformer.store._content import Content
from kinformer.store._indexer import Index

__all__ = ["Store"]


class Store:
    """The read side: the records of one resource by key and by index, at some version."""

    __slots__ = ("_content", "_version")

    def __init__(self) -> None:
        self._content = Content(None)
        self._version = ""

    @property
    def version(self) -> str:
        """The resource version that the content is at least as new as; ``""`` before the first one is known."""
        return self._version

    @property
    def size(self) -> int:
        """The length of all its JSON in bytes, packed where it is packed."""
        return self._content.size

    def get(self, key: ObjectKey) -> Record | None:
        """The record of this key, or ``None``."""
        return self._content.records.get(key)

    def __len__(self) -> int:
        return len(self._content.records)

    def __contains__(self, key: object) -> bool:
        return key in self._content.records

    def __iter__(self) -> Iterator[Record]:
        """Go over the content as it is now; later changes do not disturb it. No order is promised."""
        return iter(tuple(self._content.records.values()))

    @property
    def content(self) -> MappingProxyType[ObjectKey, Record]:
        """The records by key, read-only and not copied: to be used up, or copied, before the next await."""
        return MappingProxyType(self._content.records)

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of the indexes."""
        return tuple(self._content.indexes)

    def by_index(self, name: str, value: str) -> tuple[Record, ...]:
        """The records that the index ``name`` finds under ``value``; none for a value that nothing has.

        Raises:
            LookupError: There is no such index.
        """
        content = self._content
        return tuple(content.records[key] for key in self._index(name).keys.get(value, ()))

    def by_indexes(self, values: Mapping[str, str]) -> tuple[Record, ...]:
        """The records that each of several indexes finds under its value; all records where none is named.

        Costs as much as the index that finds fewest.

        Args:
            values: The value to look under, by the name of the index.

        Raises:
            LookupError: There is no such index.
        """
        records = self._content.records
        found = [self._index(name).keys.get(value, {}) for name, value in values.items()]
        if not found:
            return tuple(records.values())
        fewest = min(found, key=len)
        return tuple(records[key] for key in fewest if all(key in keys for keys in found))

    def index_values(self, name: str) -> tuple[str, ...]:
        """The values that some record has in the index ``name``.

        Raises:
            LookupError: There is no such index.
        """
        return tuple(self._index(name).keys)

    def _index(self, name: str) -> Index:
        index = self._content.indexes.get(name)
        if index is None:
            known = ", ".join(map(repr, self._content.indexes)) or "none"
            raise LookupError(f"no index is called {name!r}; there are: {known}")
        return index
