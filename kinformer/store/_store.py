"""A store with many readers and one writer.

Readers hold a ``Store``, which has no way to write. The informer owns the ``StoreWriter``. Both are plain synchronous
structures: between two awaits of the event loop's tasks nothing changes, so a reader always sees a whole state.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from kinformer.meta import ObjectKey, Record
from kinformer.store._indexer import Index, Indexer

__all__ = ["IndexFailure", "Store", "StoreWriter"]

IndexFailure: TypeAlias = Callable[[str, Record, Exception], None]
"""Told the index, the record and the error when an index function raises."""


class _Content:
    """All that is swapped at once by a replacement.

    Invariant: every key in an index is a key of ``records``.
    """

    __slots__ = ("indexes", "records")

    def __init__(self, indexes: dict[str, Index]) -> None:
        self.records: dict[ObjectKey, Record] = {}
        self.indexes = indexes


class Store:
    """The read side: the records of one resource by key and by index, at some version."""

    __slots__ = ("_content", "_version")

    def __init__(self) -> None:
        self._content = _Content({})
        self._version = ""

    @property
    def version(self) -> str:
        """The resource version that the content is at least as new as; ``""`` before the first one is known."""
        return self._version

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


class StoreWriter:
    """The write side: there is one, and the informer owns it.

    Args:
        indexers: Index functions by name; more may be added later.
        index_failed: Told when an index function raises. The record is then stored and found under no value of that
            index. Without it the exception goes to the caller, and nothing has changed.
    """

    def __init__(
        self, indexers: Mapping[str, Indexer] | None = None, *, index_failed: IndexFailure | None = None
    ) -> None:
        self.store: Final = Store()
        self._index_failed = index_failed
        self.add_indexers(indexers or {})

    def add_indexers(self, indexers: Mapping[str, Indexer]) -> None:
        """Add indexes, and fill them from what is stored. All of them are added, or none.

        Raises:
            ValueError: A name is taken.
            Exception: What an index function raises, where nobody is told of it instead.
        """
        content = self.store._content
        for name in indexers:
            if name in content.indexes:
                raise ValueError(f"index {name!r} exists already: choose another name")
        added = {name: Index(function) for name, function in indexers.items()}
        for record in content.records.values():
            for name, index in added.items():
                index.set(record.key, self._values(name, index, record))
        content.indexes.update(added)

    def put(self, record: Record) -> Record | None:
        """Store a record, and give back the one that it took the place of."""
        content = self.store._content
        self._enter(content, record, old := content.records.get(record.key))
        return old

    def remove(self, key: ObjectKey) -> Record | None:
        """Remove and give back the record of this key; ``None`` where there is none."""
        content = self.store._content
        old = content.records.pop(key, None)
        if old is not None:
            for index in content.indexes.values():
                index.set(key, ())
        return old

    def replace(self, records: Iterable[Record], version: str) -> tuple[Record, ...]:
        """Swap in a whole snapshot in one step, and give back the records whose keys vanished.

        Of several records with one key the last counts.
        """
        fresh = _Content({name: Index(index.function) for name, index in self.store._content.indexes.items()})
        for record in records:
            self._enter(fresh, record, fresh.records.get(record.key))
        gone = self.store._content
        self.store._content = fresh
        self.publish(version)
        return tuple(record for key, record in gone.records.items() if key not in fresh.records)

    def publish(self, version: str) -> None:
        """Say at which version the content is now; ``""`` says nothing."""
        if version:
            self.store._version = version

    def _enter(self, content: _Content, record: Record, old: Record | None) -> None:
        if old is record:
            return
        # Ask every function before anything changes, so that one that raises leaves no half-applied state.
        found = [(index, self._values(name, index, record)) for name, index in content.indexes.items()]
        content.records[record.key] = record
        for index, values in found:
            index.set(record.key, values)

    def _values(self, name: str, index: Index, record: Record) -> tuple[str, ...]:
        try:
            return index.values_of(record)
        except (
            Exception
        ) as error:  # an index function is the user's code: what it raises is one record's trouble
            if self._index_failed is None:
                raise
            self._index_failed(name, record, error)
            return ()
