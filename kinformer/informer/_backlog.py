"""Backlogs: what one handler has not been told yet. Pure.

``InOrder`` keeps everything and has no bound; ``Coalesced`` keeps what a handler needs to end up right, at most two
notifications for each key.
"""

from collections import OrderedDict, deque
from typing import Protocol

import msgspec

from kinformer.informer._notifications import Added, Deleted, Notification, Updated
from kinformer.meta import ObjectKey, Record

__all__ = ["Backlog", "Coalesced", "InOrder", "Waiting", "merge"]


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """A notification and since when it waits, in monotonic seconds; one is shared by all handlers."""

    since: float
    notification: Notification[Record]

    @property
    def is_initial(self) -> bool:
        """Whether it belongs to what was there when the handler began to look."""
        return isinstance(self.notification, Added) and self.notification.is_initial

    @property
    def key(self) -> ObjectKey:
        """Which object it is about."""
        match self.notification:
            case Added(obj) | Deleted(obj):
                return obj.key
            case Updated(_, new):
                return new.key


class Backlog(Protocol):
    """What a listener needs of its buffer."""

    @property
    def initial(self) -> int:
        """How many initial adds are in it."""

    @property
    def oldest(self) -> float | None:
        """Since when the next one waits; ``None`` when it is empty."""

    def offer(self, waiting: Waiting) -> None:
        """Take one more."""

    def pop(self) -> Waiting:
        """Give out the next one; ``LookupError`` when it is empty."""

    def clear(self) -> None:
        """Drop everything."""

    def __len__(self) -> int: ...


class InOrder:
    """Everything, in order. Unbounded; a deque gives its memory back block by block as it is emptied."""

    def __init__(self) -> None:
        self._waiting: deque[Waiting] = deque()
        self._initial = 0

    @property
    def initial(self) -> int:
        """How many initial adds are in it."""
        return self._initial

    @property
    def oldest(self) -> float | None:
        """Since when the next one waits; ``None`` when it is empty."""
        return self._waiting[0].since if self._waiting else None

    def offer(self, waiting: Waiting) -> None:
        """Take one more."""
        self._waiting.append(waiting)
        self._initial += waiting.is_initial

    def pop(self) -> Waiting:
        """Give out the next one.

        Raises:
            LookupError: There is none.
        """
        waiting = self._waiting.popleft()
        self._initial -= waiting.is_initial
        return waiting

    def clear(self) -> None:
        """Drop everything."""
        self._waiting.clear()
        self._initial = 0

    def __len__(self) -> int:
        return len(self._waiting)


class Coalesced:
    """For each key what is left of its notifications once they have been merged; keys in order of arrival.

    Invariant: a key has one notification, or a deletion followed by the add of a successor with another uid; no key
    has none. So the bound is twice the number of keys that have changed.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[ObjectKey, tuple[Waiting, ...]] = OrderedDict()
        self._length = 0
        self._initial = 0

    @property
    def initial(self) -> int:
        """How many initial adds are in it."""
        return self._initial

    @property
    def oldest(self) -> float | None:
        """Since when the next one waits; ``None`` when it is empty."""
        return next(iter(self._waiting.values()))[0].since if self._waiting else None

    def offer(self, waiting: Waiting) -> None:
        """Take one more, merging it into what waits for the same key.

        Raises:
            ValueError: It cannot follow what waits, such as an add after an add.
        """
        key = waiting.key
        before = self._waiting.get(key, ())
        after = (waiting,) if not before else (*before[:-1], *_merged(before[-1], waiting))
        if after:
            self._waiting[key] = after
        else:
            del self._waiting[key]
        self._count(before, -1)
        self._count(after, +1)

    def pop(self) -> Waiting:
        """Give out the next one; the second one of a key comes right after the first.

        Raises:
            LookupError: There is none.
        """
        if not self._waiting:
            raise LookupError("the backlog is empty")
        key, (waiting, *rest) = self._waiting.popitem(last=False)
        if rest:
            self._waiting[key] = tuple(rest)
            self._waiting.move_to_end(key, last=False)
        elif not self._waiting:
            self._waiting = OrderedDict()  # an emptied dict keeps the size that it once had
        self._count((waiting,), -1)
        return waiting

    def clear(self) -> None:
        """Drop everything."""
        self._waiting = OrderedDict()
        self._length = self._initial = 0

    def __len__(self) -> int:
        return self._length

    def _count(self, waiting: tuple[Waiting, ...], sign: int) -> None:
        self._length += sign * len(waiting)
        self._initial += sign * sum(one.is_initial for one in waiting)


def merge(first: Notification[Record], second: Notification[Record]) -> tuple[Notification[Record], ...]:
    """What two notifications in a row about one key amount to, for a handler that has heard of neither.

    Raises:
        ValueError: The second cannot follow the first.
    """
    match first, second:
        case Added(_, is_initial), Updated(_, new):
            return (Added(new, is_initial),)
        case Added(), Deleted():
            return ()
        case Updated(old, _), Updated(_, new):
            return (Updated(old, new),)
        case Updated(), Deleted():
            return (second,)
        case Deleted(old), Added(new):
            return (Updated(old, new),) if old.metadata.uid == new.metadata.uid else (first, second)
        case _:
            raise ValueError(f"{type(second).__name__} cannot follow {type(first).__name__}")


def _merged(first: Waiting, second: Waiting) -> tuple[Waiting, ...]:
    left = merge(first.notification, second.notification)
    if left == (first.notification, second.notification):
        return (first, second)
    return tuple(Waiting(first.since, notification) for notification in left)
