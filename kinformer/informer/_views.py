"""Views: what people are given for a record: a handle, or an object of a model."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from kinformer.errors import DecodeError
from kinformer.informer._notifications import Added, Deleted, Notification, Updated
from kinformer.meta import Object, Record

__all__ = ["Views"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Views(Generic[T]):
    """Makes views of one model.

    Each is made afresh, for one handler and one notification, or for one call of a lister, and nothing is kept: so
    what its holder does to it, be it past the wrappers or in a model that is not frozen, nobody else sees.
    """

    model: type[T]

    def of(self, record: Record) -> T:
        """A new view of a record.

        Raises:
            DecodeError: The object does not fit the model.
        """
        return Object(record).decode(self.model)

    def notification(self, notification: Notification[Record]) -> Notification[T]:
        """What a handler is told, with views in place of records.

        Where only the old state of an update does not fit the model, it is an add: no handler has seen that state.

        Raises:
            DecodeError: The object does not fit the model.
        """
        match notification:
            case Added(obj, is_initial):
                return Added(self.of(obj), is_initial)
            case Deleted(obj, is_tombstone):
                return Deleted(self.of(obj), is_tombstone)
            case Updated(old, new):
                after = self.of(new)
                try:
                    before = after if old is new else self.of(old)
                except DecodeError:
                    return Added(after)
                return Updated(before, after)
