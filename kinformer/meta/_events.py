"""WatchEvent: one line of a watch, understood; ObjectList: one page of a list, understood."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar, overload

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


class Objects(Sequence[Object]):
    """Objects in order, each handle made when it is asked for, anew each time; equal to a tuple of equal objects.

    A list of 100,000 handles takes the garbage collector 50 ms, one of records nothing.
    """

    __slots__ = ("records",)

    def __init__(self, records: Iterable[Record]) -> None:
        self.records: Final = tuple(records)

    @overload
    def __getitem__(self, index: int) -> Object: ...
    @overload
    def __getitem__(self, index: slice) -> "Objects": ...

    def __getitem__(self, index: int | slice) -> "Object | Objects":
        return Objects(self.records[index]) if isinstance(index, slice) else Object(self.records[index])

    def __iter__(self) -> Iterator[Object]:
        return map(Object, self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Objects | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


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
        return self.items.records if isinstance(self.items, Objects) else [obj.record for obj in self.items]
