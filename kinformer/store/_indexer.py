"""Indexers: named functions from a record to the values it is found under.

An index function is given the record, so it should read metadata; what needs the body makes an ``Object`` of it. The
built-in ones are client-go's ``MetaNamespaceIndexFunc`` and controller-runtime's usual index by owner.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from kinformer.meta import ObjectKey, Record

__all__ = ["BUILTIN_INDEXERS", "NAMESPACE_INDEX", "OWNER_INDEX", "Indexer", "by_namespace", "by_owner_uid"]

Indexer: TypeAlias = Callable[[Record], Iterable[str]]
"""Gives the values under which a record is to be found; none, one or many, repeats count once."""

NAMESPACE_INDEX: Final = "namespace"
"""The name under which ``by_namespace`` is built in."""

OWNER_INDEX: Final = "owner-uid"
"""The name under which ``by_owner_uid`` is built in."""


def by_namespace(record: Record) -> Iterable[str]:
    """The namespace; cluster-scoped objects have none and are not in this index."""
    namespace = record.key.namespace
    return (namespace,) if namespace else ()


def by_owner_uid(record: Record) -> Iterable[str]:
    """The uid of every owner, whether it is the controller or not."""
    return [owner.uid for owner in record.metadata.owner_references]


BUILTIN_INDEXERS: Final[Mapping[str, Indexer]] = {NAMESPACE_INDEX: by_namespace, OWNER_INDEX: by_owner_uid}
"""What every informer's store is indexed by."""


class Index:
    """One index: which keys have which values.

    Invariant: ``keys`` and ``values`` hold the same pairs, and neither holds an empty entry. The values of a key are
    remembered and not asked for again, so a function that changes its mind leaves nothing behind.
    """

    __slots__ = ("function", "keys", "values")

    def __init__(self, function: Indexer) -> None:
        self.function: Final = function
        self.keys: dict[str, dict[ObjectKey, None]] = {}
        self.values: dict[ObjectKey, tuple[str, ...]] = {}

    def values_of(self, record: Record) -> tuple[str, ...]:
        """Ask the index function.

        Raises:
            TypeError: It gave one string instead of several, which would be taken letter by letter.
            Exception: Whatever the function raises.
        """
        values = self.function(record)
        if isinstance(values, str):
            raise TypeError(f"an index function gives an iterable of values, not the one string {values!r}")
        return tuple(dict.fromkeys(values))

    def set(self, key: ObjectKey, values: tuple[str, ...]) -> None:
        """Let ``key`` be found under these values, and under no other."""
        old = self.values.get(key, ())
        if values == old:
            return
        for value in old:
            found = self.keys[value]
            del found[key]
            if not found:
                del self.keys[value]
        for value in values:
            self.keys.setdefault(value, {})[key] = None
        if values:
            self.values[key] = values
        else:
            del self.values[key]
