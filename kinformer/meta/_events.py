"""WatchEvent: one line of a watch, understood; ObjectList: one page of a list, understood."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, chain, islice
from typing import Final, Generic, Self, TypeVar, overload

import msgspec

from kinformer.errors import DecodeError, RequestError
from kinformer.meta._objects import Object, Record

__all__ = ["INITIAL_EVENTS_END", "EventType", "ObjectList", "Objects", "WatchEvent"]

T_co = TypeVar("T_co", covariant=True)

INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"
"""The annotation of the bookmark that ends the initial events of a watch-list (KEP-3157)."""


class EventType(StrEnum):
    """The ``type`` of a watch event (``watch.EventType``)."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class WatchEvent(msgspec.Struct, frozen=True):
    """One event of a watch.

    ``ADDED``, ``MODIFIED`` and ``DELETED`` have a record, a ``BOOKMARK`` only a version, an ``ERROR`` an error: an
    ``ApiError`` that the server sent and after which it closes the stream, or a ``DecodeError`` for one line that
    could not be read, after which the stream goes on.
    """

    type: EventType
    record: Record | None = None
    version: str = ""
    """The resource version of the object or bookmark; ``""`` for an error."""
    ends_initial_events: bool = False
    """Whether this is the bookmark that ends the initial events of a watch-list."""
    error: RequestError | None = None

    @property
    def obj(self) -> Object:
        """A new handle on the object.

        Raises:
            ValueError: The event is a bookmark or an error, which have none.
        """
        if self.record is None:
            raise ValueError(f"a {self.type} event has no object")
        return Object(self.record)


PIECE: Final = 64
"""Records that are taken from a list at a time: half a millisecond where each is compressed."""


class Objects(Sequence[Object]):
    """Objects in order, each handle made when it is asked for, anew each time; equal to a tuple of equal objects.

    A list of 100,000 handles takes the garbage collector 50 ms, one of records nothing. The records are held in pieces,
    since to make, to look through or to free one tuple of so many takes 10 ms, each of which holds up an event loop.
    """

    __slots__ = ("_ends", "pieces")

    def __init__(self, records: Iterable[Record]) -> None:
        self._hold(_in_pieces(records))

    def _hold(self, pieces: Iterable[Sequence[Record]]) -> None:
        self.pieces = tuple(pieces)
        self._ends = tuple(accumulate(map(len, self.pieces)))

    @classmethod
    def of_pieces(cls, pieces: Iterable[Sequence[Record]]) -> Self:
        """Objects of records that are in pieces already, some of which may be empty."""
        made = cls.__new__(cls)
        made._hold(pieces)
        return made

    @property
    def records(self) -> Iterator[Record]:
        """The records, in order."""
        return chain.from_iterable(self.pieces)

    @overload
    def __getitem__(self, index: int) -> Object: ...
    @overload
    def __getitem__(self, index: slice) -> "Objects": ...

    def __getitem__(self, index: int | slice) -> "Object | Objects":
        if isinstance(index, slice):
            return Objects(tuple(self.records)[index])
        index = range(len(self))[index]
        at = bisect_right(self._ends, index)
        return Object(self.pieces[at][index - self._ends[at]])  # counted from the end of its piece

    def __iter__(self) -> Iterator[Object]:
        return map(Object, self.records)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Objects | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


def _in_pieces(records: Iterable[Record]) -> Iterator[Sequence[Record]]:
    unread = iter(records)
    while piece := tuple(islice(unread, PIECE)):
        yield piece


@dataclass(frozen=True)  # with slots, ObjectList[Object](...) fails on Python 3.11
class ObjectList(Generic[T_co]):
    """One page of a list, in the server's order.

    Attributes:
        items: The objects; see ``Objects`` where nothing else is asked for.
        version: The resource version of the snapshot that the page belongs to.
        continue_token: What to send for the next page; ``""`` on the last one.
        remaining: How many objects follow this page, or ``None`` where the server does not say.
        rejected: Objects that could not be read, each with its key where that could be told. The rest is whole.
    """

    items: Sequence[T_co]
    version: str
    continue_token: str = ""
    remaining: int | None = None
    rejected: tuple[DecodeError, ...] = ()

    @property
    def records(self: "ObjectList[Object]") -> Sequence[Record]:
        """The records of the objects; making no handles where the items are ``Objects``."""
        return tuple(chain.from_iterable(self.pieces))

    @property
    def pieces(self: "ObjectList[Object]") -> Sequence[Sequence[Record]]:
        """The records in pieces, to be taken one by one where there are very many; see ``Objects``."""
        if isinstance(self.items, Objects):
            return self.items.pieces
        return tuple(_in_pieces(obj.record for obj in self.items))
