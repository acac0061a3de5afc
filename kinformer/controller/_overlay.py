"""Overlay: a cache as it will be once it shows what we have written."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from kinformer.controller._own_writes import OwnWrites
from kinformer.meta import ObjectKey, Record
from kinformer.store import BUILTIN_INDEXERS, Store

__all__ = ["OverlayStore"]


class OverlayStore(Store):
    """A store with our own writes laid over it: read like the store, and never older than they are.

    Indexes other than those that every store has are looked up in the store alone, but for what is deleted.

    Args:
        base: The store.
        writes: What is laid over it.
        now: Seconds.
    """

    __slots__ = ("_base", "_now", "_writes")

    def __init__(self, base: Store, writes: OwnWrites, now: Callable[[], float]) -> None:
        super().__init__()
        self._base = base
        self._writes = writes
        self._now = now

    @property
    def version(self) -> str:
        """The version of the store below."""
        return self._base.version

    @property
    def size(self) -> int:
        """The length of all JSON in the store below."""
        return self._base.size

    def get(self, key: ObjectKey) -> Record | None:
        """The record of this key, or ``None``."""
        write = self._writes.pending(key, self._now())
        return self._base.get(key) if write is None else write.record

    def __len__(self) -> int:
        return len(self.content)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, ObjectKey) and self.get(key) is not None

    def __iter__(self) -> Iterator[Record]:
        """Go over the content as it is now; later changes do not disturb it. No order is promised."""
        return iter(tuple(self._laid_over(self._base)))

    @property
    def content(self) -> MappingProxyType[ObjectKey, Record]:
        """The records by key, read-only."""
        if not self._writes:
            return self._base.content
        return MappingProxyType({record.key: record for record in self._laid_over(self._base)})

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of the indexes."""
        return self._base.index_names

    def by_index(self, name: str, value: str) -> tuple[Record, ...]:
        """The records that the index ``name`` finds under ``value``.

        Raises:
            LookupError: There is no such index.
        """
        return self.by_indexes({name: value})

    def by_indexes(self, values: Mapping[str, str]) -> tuple[Record, ...]:
        """The records that each of several indexes finds under its value.

        Raises:
            LookupError: There is no such index.
        """
        return tuple(self._laid_over(self._base.by_indexes(values), values))

    def index_values(self, name: str) -> tuple[str, ...]:
        """The values that some record of the store below has in the index.

        Raises:
            LookupError: There is no such index.
        """
        return self._base.index_values(name)

    def _laid_over(
        self, records: Iterable[Record], values: Mapping[str, str] | None = None
    ) -> Iterator[Record]:
        writes = {write.key: write.record for write in self._writes.all_pending(self._now())}
        if not writes:
            yield from records
            return
        is_known = all(name in BUILTIN_INDEXERS for name in values or ())
        for record in records:
            if record.key not in writes:
                yield record
            elif not is_known and (written := writes[record.key]) is not None:
                yield written
        for written in writes.values() if is_known else ():
            if written is not None and _is_under(written, values or {}):
                yield written


def _is_under(record: Record, values: Mapping[str, str]) -> bool:
    return all(value in BUILTIN_INDEXERS[name](record) for name, value in values.items())
