"""Content: records and their indexes, which are swapped together."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import msgspec

from kinformer.meta import ObjectKey, Record
from kinformer.store._indexer import Index, Indexer, Values

__all__ = ["Content", "IndexFailure"]

IndexFailure: TypeAlias = Callable[[str, Record, Exception], None]
"""Told the index, the record and the error when an index function raises."""


class Places(msgspec.Struct, frozen=True, gc=False):
    """What one key is found under, by each index in turn.

    Not the tuple itself: a dict of tuples is one that the collector looks through, each time it looks at everything,
    and 100,000 of them took it as long as all the rest.
    """

    each: tuple[Values, ...]


class Content:
    """Records by key, and where each is found.

    The values of a key are remembered and not asked for again, so that an index function that changes its mind leaves
    nothing behind, and one that raises leaves everything as it was.

    Invariant: ``records`` and ``values`` have the same keys; the values of a key, one entry for each index, are those
    that the indexes find it under; and ``size`` is how many bytes the records hold.

    Args:
        failed: Told when an index function raises; the record is then found under no value of that index. ``None``
            lets the exception out.
    """

    __slots__ = ("_failed", "indexes", "records", "size", "values")

    def __init__(self, failed: IndexFailure | None) -> None:
        self._failed: Final = failed
        self.indexes: Final[dict[str, Index]] = {}
        self.records: Final[dict[ObjectKey, Record]] = {}
        self.values: Final[dict[ObjectKey, Places]] = {}
        self.size = 0

    def empty_copy(self) -> "Content":
        """A content without records, with the same indexes."""
        copy = Content(self._failed)
        copy.add_indexers({name: index.function for name, index in self.indexes.items()})
        return copy

    def add_indexers(self, indexers: Mapping[str, Indexer]) -> None:
        """Add indexes and fill them; all of them, or none."""
        added = {name: Index(function) for name, function in indexers.items()}
        values = {key: self._ask(added, record) for key, record in self.records.items()}
        for key, found in values.items():
            for index, new in zip(added.values(), found.each, strict=True):
                index.move(key, (), new)
            self.values[key] = Places(self.values[key].each + found.each)
        self.indexes.update(added)

    def put(self, record: Record) -> Record | None:
        """Take a record in, and give back the one that it takes the place of."""
        return self._enter(record, self._ask(self.indexes, record))

    def adopt(self, record: Record, other: "Content") -> Record | None:
        """Take in a record of another content that has the same indexes, under the values that it has there."""
        return self._enter(record, other.values[record.key])

    def remove(self, key: ObjectKey) -> Record | None:
        """Take out and give back the record of this key; ``None`` where there is none."""
        record = self.records.pop(key, None)
        if record is not None:
            self.size -= len(record.held)
            for index, old in zip(self.indexes.values(), self.values.pop(key).each, strict=True):
                index.move(key, old, ())
        return record

    def _enter(self, record: Record, values: Places) -> Record | None:
        key = record.key
        before = self.records.get(key)
        self.records[key] = record
        self.size += len(record.held)
        if before is None:
            self.values[key] = values
            for index, new in zip(self.indexes.values(), values.each, strict=True):
                index.move(key, (), new)
            return None
        self.size -= len(before.held)
        known = self.values[key]
        if values != known:
            self.values[key] = values
            for index, old, new in zip(self.indexes.values(), known.each, values.each, strict=True):
                if old != new:
                    index.move(key, old, new)
        return before

    def _ask(self, indexes: Mapping[str, Index], record: Record) -> Places:
        return Places(tuple([self._values(name, index, record) for name, index in indexes.items()]))

    def _values(self, name: str, index: Index, record: Record) -> Values:
        try:
            return index.values_of(record)
        except (
            Exception
        ) as error:  # an index function is the user's code: what it raises is one record's trouble
            if self._failed is None:
                raise
            self._failed(name, record, error)
            return ()
