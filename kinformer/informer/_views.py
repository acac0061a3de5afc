"""Views: what people are given for a record: a handle, or an object of a model."""

from collections import OrderedDict
from typing import Final, Generic, TypeVar

from kinformer.errors import DecodeError
from kinformer.informer._notifications import Added, Deleted, Notification, Updated
from kinformer.meta import Object, Record

__all__ = ["Views"]

T = TypeVar("T")

_KEPT: Final = 128
"""How many handles are kept for the next handler: two for each notification of a listener's turn."""


class Views(Generic[T]):
    """Makes views of one model.

    The handlers of one informer share the handle of a record, so that its body is decoded once for those that keep
    up. Only the last few handles are kept: what waits for a slow handler stays a record.
    """

    def __init__(self, model: type[T]) -> None:
        self._model: Final = model
        self._recent: OrderedDict[int, Object] = OrderedDict()

    def of(self, record: Record) -> T:
        """A new view of a record.

        Raises:
            DecodeError: The object does not fit the model.
        """
        return Object(record).decode(self._model)

    def notification(self, notification: Notification[Record]) -> Notification[T]:
        """What a handler is told, with views in place of records.

        Where only the old state of an update does not fit the model, it is an add: no handler has seen that state.

        Raises:
            DecodeError: The object does not fit the model.
        """
        match notification:
            case Added(obj, is_initial):
                return Added(self._shared(obj), is_initial)
            case Deleted(obj, is_tombstone):
                return Deleted(self._shared(obj), is_tombstone)
            case Updated(old, new):
                after = self._shared(new)
                try:
                    before = after if old is new else self._shared(old)
                except DecodeError:
                    return Added(after)
                return Updated(before, after)

    def forget(self) -> None:
        """Let go of the handles that are kept."""
        self._recent.clear()

    def _shared(self, record: Record) -> T:
        recent = self._recent.get(id(record))  # a kept handle keeps its record, so no other one has this id
        if recent is None:
            recent = self._recent[id(record)] = Object(record)
            if len(self._recent) > _KEPT:
                self._recent.popitem(last=False)
        return recent.decode(self._model)
