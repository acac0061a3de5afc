"""Delta queues: what is on its way to the store. What both kinds have in common; see their own files."""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import ClassVar, Protocol, TypeAlias

import msgspec

from kinformer.meta import ObjectKey, Record, WatchEvent
from kinformer.store._deltas import Delta

__all__ = ["Barrier", "DeltaQueue", "Item", "Replacement", "Resync", "Stretch"]


class Replacement(msgspec.Struct, frozen=True):
    """A whole snapshot (client-go's ``ReplacedAll``): what is not in it, or kept, is gone.

    Attributes:
        records: What it holds, in the order of the list; whoever puts it into the store uses it up. Of several records
            with one key the last counts.
        version: What is published with it.
        kept: Keys of objects that are there too but cannot be read: what is known of them stays.
        is_initial: Whether it is the first thing that ever came.
        deletes_first: Whether the deletions are told before the changes.
    """

    records: Iterator[Record]
    version: str
    kept: frozenset[ObjectKey]
    is_initial: bool
    deletes_first: bool


class Resync(msgspec.Struct, frozen=True):
    """Show every object of the store again (client-go's ``SyncAll``)."""


Item: TypeAlias = Sequence[Delta] | Replacement | Resync
"""What is taken at once: some deltas, never none; or a barrier."""


class Stretch(Protocol):
    """The deltas between two barriers; how they are taken is what the kinds of queues differ in."""

    @property
    def oldest(self) -> int:
        """The number of the oldest delta."""

    def add(self, number: int, delta: Delta) -> bool:
        """Take one in, and say whether there is one more now."""

    def take(self) -> Sequence[Delta]:
        """Give out those that are next."""

    def __len__(self) -> int: ...


class Barrier(msgspec.Struct, frozen=True):
    """Something that is taken after all that came before it, and before all that comes after it."""

    item: Replacement | Resync
    oldest: int
    """Its number."""


class DeltaQueue(ABC):
    """Pending changes, snapshots and resyncs; fits the reflector's ``Sink``.

    A snapshot is one thing in the queue: what came before it is taken before it, what comes after it waits for it.
    One thing is in hand at a time: ``pop`` gives it out, ``done`` says that it is in the store. So a queue knows at
    any time what the store will hold (client-go processes an item inside ``Pop``, under the lock).

    Unbounded; ``len`` says how far behind the consumer is, so that the producer can be held back.

    Invariant: things are given out in the order in which they came, but for deltas between two barriers, and
    ``version`` is the newest whose changes are all done.
    """

    _deletes_first: ClassVar[bool]

    def __init__(self) -> None:
        self._waiting: deque[Stretch | Barrier] = deque()
        self._in_hand: Item | None = None
        self._length = 0
        self._high_water = 0
        self._number = 0
        # A version, and the number of the last thing that it stands for.
        self._earned: deque[tuple[int, str]] = deque()
        self._version = ""
        self._is_populated = False
        self._has_synced = False

    @abstractmethod
    def _stretch(self) -> Stretch:
        """Begin a new one."""

    def __len__(self) -> int:
        """How many deltas and barriers wait; what is in hand does not count."""
        return self._length

    @property
    def high_water(self) -> int:
        """The most that ever waited."""
        return self._high_water

    @property
    def has_synced(self) -> bool:
        """Whether the first snapshot is done; once true it stays so.

        A queue to which a delta came first counts as synced at once.
        """
        return self._has_synced

    @property
    def version(self) -> str:
        """The version that all that is done amounts to; ``""`` before the first one is earned."""
        return self._version

    def replace(self, records: Iterable[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
        """Take a whole snapshot: what it holds is replaced, what it does not hold is deleted.

        The records are read when their turn comes, some at a time; what has been read by then is to stay as it is. An
        iterator that lets go of what it has given has what the store holds already freed bit by bit. Nothing happens to
        ``kept``, the keys of what the snapshot holds illegibly.
        """
        is_initial, self._is_populated = not self._is_populated, True
        self._bar(Replacement(iter(records), version, frozenset(kept), is_initial, self._deletes_first))
        self.publish(version)

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        """Take changes in order.

        Args:
            events: ``ADDED``, ``MODIFIED`` and ``DELETED`` only; may be empty.
            version: What is published with them; ``""`` where that has not moved.

        Raises:
            ValueError: An event is a bookmark or an error. Nothing has been taken then.
        """
        for delta in [Delta.of(event) for event in events]:
            self.add(delta)
        self.publish(version)

    def add(self, delta: Delta) -> None:
        """Take one change, without a version."""
        self._populate()
        tail = self._waiting[-1] if self._waiting else None
        if tail is None or isinstance(tail, Barrier):
            tail = self._stretch()
            self._waiting.append(tail)
        self._number += 1
        self._lengthen(tail.add(self._number, delta))

    def publish(self, version: str) -> None:
        """Say which version the changes so far amount to; ``""`` says nothing."""
        if version:
            self._earned.append((self._number, version))
            self._settle()

    def resync(self) -> None:
        """Have everything shown again once what waits now is done; twice is once while that has not begun."""
        if not any(isinstance(one, Barrier) and isinstance(one.item, Resync) for one in self._waiting):
            self._bar(Resync())

    def pop(self) -> Item:
        """Take in hand what is next.

        Raises:
            LookupError: Nothing waits.
            RuntimeError: Something is in hand.
        """
        if self._in_hand is not None:
            raise RuntimeError("something is in hand: say that it is done before you pop again")
        if not self._waiting:
            raise LookupError("the delta queue is empty")
        head = self._waiting[0]
        if isinstance(head, Barrier):
            self._in_hand = item = head.item
            self._waiting.popleft()
            self._length -= 1
            return item
        self._in_hand = deltas = head.take()
        if not head:
            self._waiting.popleft()
        self._length -= len(deltas)
        return deltas

    def done(self) -> None:
        """Say that the store holds what is in hand.

        Raises:
            RuntimeError: Nothing is in hand.
        """
        if self._in_hand is None:
            raise RuntimeError("nothing is in hand: pop comes before done")
        if isinstance(self._in_hand, Replacement):
            self._has_synced = True
        self._in_hand = None
        self._settle()

    def _populate(self) -> None:
        if not self._is_populated:
            self._is_populated = self._has_synced = True

    def _bar(self, item: Replacement | Resync) -> None:
        self._number += 1
        self._waiting.append(Barrier(item, self._number))
        self._lengthen(1)

    def _lengthen(self, count: int) -> None:
        self._length += count
        self._high_water = max(self._high_water, self._length)

    def _settle(self) -> None:
        """Move the version on as far as nothing that belongs to it waits or is in hand."""
        if self._in_hand is not None:
            return
        oldest = self._waiting[0].oldest if self._waiting else self._number + 1
        while self._earned and self._earned[0][0] < oldest:
            self._version = self._earned.popleft()[1]
