"""Nodes: what the loops know of every stored object."""

from typing import NamedTuple

import msgspec

from kinformer.meta import OwnerReference

__all__ = ["FOREGROUND", "ORPHAN", "Node", "read_node"]

FOREGROUND = "foregroundDeletion"
"""The finalizer of an owner that waits for its dependents to go."""

ORPHAN = "orphan"
"""The finalizer of an owner that waits for its dependents to be released."""


class Node(NamedTuple):
    """One object, reduced to what decides over its life.

    Attributes:
        place: Its storage key, which is unique among the objects of one moment.
        uid: Unique among the objects of all times.
    """

    place: str
    uid: str
    group: str
    kind: str
    namespace: str
    name: str
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    is_deleting: bool = False

    @property
    def waits_for_dependents(self) -> bool:
        """Whether it is being deleted in the foreground."""
        return self.is_deleting and FOREGROUND in self.finalizers

    @property
    def waits_for_orphans(self) -> bool:
        """Whether it is being deleted and its dependents are to survive it."""
        return self.is_deleting and ORPHAN in self.finalizers


class _Metadata(msgspec.Struct, gc=False, rename="camel"):
    name: str
    uid: str = ""
    namespace: str = ""
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: str | None = None


class _Stored(msgspec.Struct, gc=False, rename="camel"):
    kind: str
    api_version: str
    metadata: _Metadata


_decode = msgspec.json.Decoder(_Stored).decode


def read_node(place: str, value: bytes) -> Node:
    """Read what is stored at a key.

    Raises:
        msgspec.DecodeError: It is no object.
    """
    stored = _decode(value)
    metadata = stored.metadata
    return Node(
        place,
        metadata.uid,
        stored.api_version.rpartition("/")[0],
        stored.kind,
        metadata.namespace,
        metadata.name,
        metadata.owner_references,
        metadata.finalizers,
        metadata.deletion_timestamp is not None,
    )
