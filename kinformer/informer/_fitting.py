"""Fitting: what a handler of a model is told, in place of what happened."""

from typing import Final, Generic, TypeVar

from kinformer.informer._notifications import Added, Deleted, Notification, Updated, key_of
from kinformer.informer._views import Views
from kinformer.meta import Object, ObjectKey, Record

__all__ = ["Fitting"]

T = TypeVar("T")


class Fitting(Generic[T]):
    """Makes one listener's notifications those of a world that holds only what fits the model.

    An object that ceases to fit is told as deleted, in the last state that was told, and one that begins to fit as
    added. It goes by what it has told, so nothing is told as added twice, nor as deleted or updated before it was added;
    also where notifications were merged before they came here. Every object fits the default model.

    A model must judge an object by its content alone. Of one that it takes, and refuses when asked again, no deletion
    can be told.

    Invariant: it knows the last state told of each object that the listener must take to be there; none with the
    default model.

    Args:
        views: Makes what is told.
    """

    def __init__(self, views: Views[T]) -> None:
        self._of: Final = views.of
        self._all_fit: Final = views.model is Object
        self._told: dict[ObjectKey, Record] = {}

    def __call__(self, happened: Notification[Record]) -> Notification[T] | None:
        """What is told; ``None`` for nothing.

        Raises:
            DecodeError: The new state does not fit the model. Nothing has changed then: ask ``instead`` what is told.
        """
        if self._all_fit:
            return self._handles(happened)
        match happened:
            case Added(new, is_initial):
                return self._state(new, is_initial=is_initial)
            case Updated(_, new):
                return self._state(new, is_initial=False)
            case Deleted(last, is_tombstone):
                if last.key not in self._told:
                    return None
                told = Deleted(self._of(last), is_tombstone)
                del self._told[last.key]
                return told

    def instead(self, happened: Notification[Record]) -> Deleted[T] | None:
        """What is told of something whose new state does not fit: that the object is gone, or nothing.

        Raises:
            DecodeError: The model refuses what it took before.
        """
        before = self._told.pop(key_of(happened), None)
        if before is None:
            return None
        return Deleted(self._of(before), isinstance(happened, Deleted) and happened.is_tombstone)

    def clear(self) -> None:
        """Let go of all states, once nothing more is told."""
        self._told = {}

    def _state(self, new: Record, *, is_initial: bool) -> Notification[T]:
        after = self._of(new)
        before = self._told.get(new.key)
        told = (
            Added(after, is_initial)
            if before is None
            else Updated(after if before is new else self._of(before), after)
        )
        self._told[new.key] = new
        return told

    def _handles(self, happened: Notification[Record]) -> Notification[T]:
        match happened:
            case Added(obj, is_initial):
                return Added(self._of(obj), is_initial)
            case Deleted(obj, is_tombstone):
                return Deleted(self._of(obj), is_tombstone)
            case Updated(old, new):
                after = self._of(new)
                return Updated(after if old is new else self._of(old), after)
