"""What a handler is told: ``Added``, ``Updated``, ``Deleted``.

Inside the informer they carry records; a handler gets them with objects of its informer's model.
"""

from typing import Generic, TypeAlias, TypeVar

import msgspec

from kinformer.meta import ObjectKey, Record

__all__ = ["Added", "Deleted", "Notification", "Updated", "key_of"]

T = TypeVar("T")


class Added(msgspec.Struct, Generic[T], frozen=True):
    """The store has an object that it did not have before."""

    obj: T
    is_initial: bool = False
    """Whether it was there already when the informer, or this handler, began to look."""


class Updated(msgspec.Struct, Generic[T], frozen=True):
    """The store has a newer state of an object; both have the same uid. On a resync both are the same object."""

    old: T
    new: T


class Deleted(msgspec.Struct, Generic[T], frozen=True):
    """The store has lost an object."""

    obj: T
    """Its last state; for a tombstone the last one that was seen, which may be out of date."""
    is_tombstone: bool = False
    """Whether nobody saw the deletion: a new list, or a successor of the same name, was without it."""


Notification: TypeAlias = Added[T] | Updated[T] | Deleted[T]
"""What a handler is told, one at a time and in order."""


def key_of(notification: Notification[Record]) -> ObjectKey:
    """Which object it is about."""
    return notification.new.key if isinstance(notification, Updated) else notification.obj.key
