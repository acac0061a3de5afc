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


Values: TypeAlias = str | tuple[str, ...]
"""What a key is found under in one index. A single value stands for itself, which saves a tuple for each object."""


class Index:
    """One index: which keys are found under a value.

    What a key is found under is remembered by the content that the index belongs to.

    Invariant: no value is without a key.
    """

    __slots__ = ("function", "keys")

    def __init__(self, function: Indexer) -> None:
        self.function: Final = function
        self.keys: Final[dict[str, dict[ObjectKey, None]]] = {}

    def values_of(self, record: Record) -> Values:
        """Ask the index function.

        Raises:
            TypeError: It gave one string instead of several, which would be taken letter by letter, or a value that is
                no string, such as the ``None`` of a field that is not set.
            Exception: Whatever the function raises.
        """
        given = self.function(record)
        if isinstance(given, str):
            raise TypeError(f"an index function gives an iterable of values, not the one string {given!r}")
        values = tuple(dict.fromkeys(given))
        for value in values:
            if not isinstance(value, str):
                raise TypeError(f"an index function gives strings, not {value!r}: leave out what is not set")
        return values[0] if len(values) == 1 else values

    def move(self, key: ObjectKey, old: Values, new: Values) -> None:
        """Let ``key``, which is found under ``old``, be found under ``new`` and under nothing else."""
        for value in _each(old):
            found = self.keys[value]
            del found[key]
            if not found:
                del self.keys[value]
        for value in _each(new):
            keys = self.keys.get(value)
            if keys is None:
                self.keys[value] = {key: None}
            else:
                keys[key] = None


def _each(values: Values) -> tuple[str, ...]:
    return (values,) if isinstance(values, str) else values
