"""Filter: what a filtering handler is told, in place of what happened."""

from collections.abc import Callable
from typing import Generic, TypeVar

from kinformer.informer._notifications import Added, Deleted, Notification, Updated
from kinformer.informer._plain import refuse_async, refuse_awaitable
from kinformer.meta import ObjectKey

__all__ = ["Filter"]

T = TypeVar("T")


class Filter(Generic[T]):
    """Makes one listener's notifications those of a world that holds only what passes.

    It goes by what has been told, where client-go asks the predicate about the old state again. So a deletion is told
    where the add was, whatever the last state looks like, and a predicate that has raised is made good the next time.

    Invariant: it knows the keys of the objects that the listener must take to be there.

    Args:
        when: Whether an object passes; asked once for each new state.

    Raises:
        TypeError: It is no function, or is async.
    """

    def __init__(self, when: Callable[[T], bool]) -> None:
        refuse_async("when", when, "True or False")
        self._when = when
        self._told: set[ObjectKey] = set()

    def __call__(self, key: ObjectKey, notification: Notification[T]) -> Notification[T] | None:
        """What is told instead; ``None`` for nothing. What the predicate raises leaves everything as it was.

        Raises:
            TypeError: The predicate gave something to await, which would pass for true.
            Exception: What the predicate raises.
        """
        match notification:
            case Deleted():
                if key not in self._told:
                    return None
                self._told.remove(key)
                return notification
            case Added(obj, is_initial):
                return self._judge(key, obj, obj, notification, is_initial=is_initial)
            case Updated(old, new):
                return self._judge(key, old, new, notification, is_initial=False)

    def _judge(
        self, key: ObjectKey, old: T, new: T, notification: Notification[T], *, is_initial: bool
    ) -> Notification[T] | None:
        passes: object = self._when(new)
        passed = key in self._told
        refuse_awaitable("when", self._when, passes, "True or False")
        if passes and passed:
            return notification
        if passes:
            self._told.add(key)
            return Added(new, is_initial)
        if passed:
            self._told.remove(key)
            return Deleted(old)
        return None
