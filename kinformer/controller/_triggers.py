"""Event sources that are no objects of the cluster: an async function that triggers keys."""

import inspect
from collections.abc import Awaitable, Callable, Collection
from typing import Protocol, TypeAlias

from kinformer.meta import ObjectKey

__all__ = ["Events", "Trigger", "checked_events", "cluster_of"]


class Trigger(Protocol):
    """Asks for a reconcile; to be called on the event loop."""

    def __call__(self, key: ObjectKey, /, *, cluster: str = "", delay: float = 0.0) -> None:
        """Ask for a reconcile of a key.

        Args:
            key: An object of the watched kind; it need not exist.
            cluster: Where it is, for a manager of several.
            delay: Seconds to wait before; of two moments the earlier one holds.

        Raises:
            TypeError: It is no key.
            ValueError: There is no such cluster, or the delay is infinite.
        """


Events: TypeAlias = Callable[[Trigger], Awaitable[None]]
"""An async function that waits for something, such as messages of a broker, and triggers keys."""


def checked_events(events: Events) -> Events:
    """Give ``events`` back if it is an ``async def``.

    Raises:
        TypeError: It is no function, or a plain one.
    """
    faces = (events, getattr(events, "__call__", None))  # noqa: B004 -- an object whose call is async is as good
    if not any(map(inspect.iscoroutinefunction, faces)):
        raise TypeError(f"listens_to takes an 'async def' of one trigger, not {events!r}")
    return events


def cluster_of(key: ObjectKey, cluster: str, clusters: Collection[str]) -> str:
    """Which cluster a triggered key is in: the one that is named, or the only one.

    Raises:
        TypeError: The key is none.
        ValueError: It has to be said which, or there is none of that name.
    """
    if not isinstance(key, ObjectKey):
        raise TypeError(f"trigger({key!r}) must be given an ObjectKey: ObjectKey.parse reads text")
    if not cluster and len(clusters) == 1:
        return next(iter(clusters))
    if cluster not in clusters:
        raise ValueError(f"cluster={cluster!r} must be one of {', '.join(map(repr, sorted(clusters)))}")
    return cluster
