"""Backlogs: what one handler has not been told yet. Pure.

Each begins with the content that the handler found, which is expanded only as it is given out. The content of one
source may come after changes of another, and is given out before them: they are about different keys. ``InOrder``
keeps everything that comes after it and has no bound; ``Coalesced`` keeps what a handler needs to end up right, at most
two notifications for each key.
"""

from collections import OrderedDict, deque
from collections.abc import Sequence
from types import MappingProxyType
from typing import Protocol

import msgspec

from kinformer.informer._notifications import Added, Deleted, Notification, Updated, key_of
from kinformer.meta import ObjectKey, Record

__all__ = ["Backlog", "Coalesced", "InOrder", "Waiting", "merge"]


class Waiting(msgspec.Struct, frozen=True, gc=False):
    """A notification and since when it waits, in monotonic seconds; one is shared by all handlers."""

    since: float
    notification: Notification[Record]

    @property
    def key(self) -> ObjectKey:
        """Which object it is about."""
        return key_of(self.notification)


class Backlog(Protocol):
    """What a listener needs of its buffer."""

    @property
    def initial(self) -> int:
        """How many initial adds are in it."""

    @property
    def oldest(self) -> float | None:
        """Since when the next one waits; ``None`` when it is empty."""

    def begin(self, content: MappingProxyType[ObjectKey, Record], since: float) -> None:
        """Take an initial add for each of these records, before any change; what is given is copied.

        May be called again, for records of other keys.
        """

    def offer(self, waiting: Sequence[Waiting]) -> None:
        """Take some more."""

    def pop(self) -> Notification[Record]:
        """Give out the next one; ``LookupError`` when it is empty."""

    def clear(self) -> None:
        """Drop everything."""

    def __len__(self) -> int: ...


class InOrder:
    """Everything, in order. Unbounded; a deque gives its memory back block by block as it is emptied."""

    def __init__(self) -> None:
        self._content: deque[Record] = deque()
        self._since = 0.0
        self._waiting: deque[Waiting] = deque()

    @property
    def initial(self) -> int:
        """How many initial adds are in it."""
        return len(self._content)

    @property
    def oldest(self) -> float | None:
        """Since when the next one waits; ``None`` when it is empty."""
        if self._content:
            return self._since
        return self._waiting[0].since if self._waiting else None

    def begin(self, content: MappingProxyType[ObjectKey, Record], since: float) -> None:
        """Take an initial add for each of these records, before any change."""
        self._since = self._since if self._content else since
        self._content.extend(content.values())

    def offer(self, waiting: Sequence[Waiting]) -> None:
        """Take some more."""
        self._waiting.extend(waiting)

    def pop(self) -> Notification[Record]:
        """Give out the next one.

        Raises:
            LookupError: There is none.
        """
        if self._content:
            return Added(self._content.popleft(), is_initial=True)
        return self._waiting.popleft().notification

    def clear(self) -> None:
        """Drop everything."""
        self._content.clear()
        self._waiting.clear()

    def __len__(self) -> int:
        return len(self._content) + len(self._waiting)


class Coalesced:
    """For each key what is left of its notifications once they have been merged.

    First what is left of the initial content, then the other keys in order of arrival.

    Invariant: a key has one notification, or a deletion followed by the add of a successor with another uid; no key
    has none. So the bound is twice the number of keys that have changed.
    """

    def __init__(self) -> None:
        self._content: dict[ObjectKey, Record] = {}
        self._order: deque[ObjectKey] = deque()
        self._since = 0.0
        self._waiting: OrderedDict[ObjectKey, tuple[Waiting, ...]] = OrderedDict()
        self._length = 0

    @property
    def initial(self) -> int:
        """How many initial adds are in it."""
        return len(self._content)

    @property
    def oldest(self) -> float | None:
        """Since when the next one waits; ``None`` when it is empty."""
        if self._content:
            return self._since
        return next(iter(self._waiting.values()))[0].since if self._waiting else None

    def begin(self, content: MappingProxyType[ObjectKey, Record], since: float) -> None:
        """Take an initial add for each of these records, before any change."""
        self._since = self._since if self._content else since
        # Two dicts are merged several times as fast as a dict and a view of one.
        self._content.update(content.copy())
        self._order.extend(content)

    def offer(self, waiting: Sequence[Waiting]) -> None:
        """Take some more, merging each into what waits for the same key.

        Raises:
            ValueError: One cannot follow what waits, such as an add after an add.
        """
        for one in waiting:
            self._merge(one)

    def pop(self) -> Notification[Record]:
        """Give out the next one; the second one of a key comes right after the first.

        Raises:
            LookupError: There is none.
        """
        if self._content:
            return Added(self._pop_content(), is_initial=True)
        if not self._waiting:
            raise LookupError("the backlog is empty")
        key, (waiting, *rest) = self._waiting.popitem(last=False)
        if rest:
            self._waiting[key] = tuple(rest)
            self._waiting.move_to_end(key, last=False)
        elif not self._waiting:  # emptied, it keeps the size that it once had
            self._waiting = OrderedDict()
        self._length -= 1
        return waiting.notification

    def clear(self) -> None:
        """Drop everything."""
        self._content = {}
        self._trim()
        self._waiting = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return len(self._content) + self._length

    def _pop_content(self) -> Record:
        record = None
        while record is None:  # what has been merged away is in the order still
            record = self._content.pop(self._order.popleft(), None)
        self._trim()
        return record

    def _trim(self) -> None:
        if not self._content:  # emptied, it keeps the size that it once had
            self._content = {}
            self._order.clear()

    def _merge(self, waiting: Waiting) -> None:
        key = waiting.key
        record = self._content.get(key)
        if record is not None:
            match merge(Added(record, is_initial=True), waiting.notification):
                case (Added(new),):
                    self._content[key] = new
                case _:
                    del self._content[key]
                    self._trim()
            return
        before = self._waiting.get(key, ())
        after = (waiting,) if not before else (*before[:-1], *_merged(before[-1], waiting))
        self._length += len(after) - len(before)
        if after:
            self._waiting[key] = after
        else:
            del self._waiting[key]


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
    if len(left) == 2:
        return (first, second)
    return tuple(Waiting(first.since, notification) for notification in left)
