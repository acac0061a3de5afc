"""What is said on a stream of watches, in etcd's terms: https://etcd.io/docs/v3.5/learning/api/#watch-streams."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from kinformer.apiserver.storage._errors import CompactedError
from kinformer.apiserver.storage._keys import KeyRange
from kinformer.apiserver.storage._mvcc import Change

__all__ = ["NO_WATCH", "WatchRequest", "WatchResponse", "fragments", "unpack"]

NO_WATCH: Final = -1
"""The ``watch_id`` of an answer that concerns no single watch, or one that was refused."""

_EVENT_OVERHEAD: Final = 32
"""Bytes of an event besides keys and values, about: three revisions and the framing."""


@dataclass(frozen=True, slots=True)
class WatchRequest:
    """Follow the changes of some keys.

    Attributes:
        keys: Which keys.
        start_revision: The first revision to tell of, which may be in the past or yet to come; 0 means the next one.
        watch_id: What the watch is called on its stream; 0 lets the storage choose.
        prev_kv: Whether to tell what keys held before. It is looked up when an event leaves, and missing where that
            revision has been compacted by then.
        progress_notify: Whether to tell now and then how far it has come, when there is nothing else to tell.
        fragment: Whether a large response may come in pieces.
        no_put: Leave out what is written.
        no_delete: Leave out what is removed.
    """

    keys: KeyRange
    start_revision: int = 0
    watch_id: int = 0
    prev_kv: bool = False
    progress_notify: bool = False
    fragment: bool = False
    no_put: bool = False
    no_delete: bool = False

    def wants(self, change: Change) -> bool:
        """Whether the filters let a change through."""
        return not (self.no_delete if change.current is None else self.no_put)


@dataclass(frozen=True, slots=True)
class WatchResponse:
    """One message from a stream of watches.

    Attributes:
        watch_id: Whom it concerns.
        revision: The storage's revision when the message was made; 0 when a watch ends by compaction.
        events: Whole revisions, in order.
        created: The watch was opened; comes before all else that concerns it.
        canceled: The watch is over, or was refused when ``created`` is set too.
        compact_revision: The oldest revision that can be watched, where that is why the watch is over.
        cancel_reason: Why a watch was refused.
        fragment: More of the same response follows.
    """

    watch_id: int
    revision: int
    events: tuple[Change, ...] = ()
    created: bool = False
    canceled: bool = False
    compact_revision: int = 0
    cancel_reason: str = ""
    fragment: bool = False

    @property
    def is_progress(self) -> bool:
        """Whether it says just that all up to ``revision`` has been told."""
        return not (self.events or self.created or self.canceled or self.compact_revision)


def fragments(response: WatchResponse, most: int) -> Iterator[WatchResponse]:
    """Cut a response between events into pieces below ``most`` bytes; a single event is never cut."""
    pieces: list[list[Change]] = [[]]
    size = 0
    for event in response.events:
        more = _size(event)
        if pieces[-1] and size + more >= most:
            pieces.append([])
            size = 0
        pieces[-1].append(event)
        size += more
    for number, piece in enumerate(pieces, 1):
        yield replace(response, events=tuple(piece), fragment=number < len(pieces))


def unpack(response: WatchResponse, changes: list[Change]) -> CompactedError | None:
    """Add what a response tells to ``changes``; and say what has been lost, where something has.

    That is the case for a watch whose next revision was compacted, and for an event of which only what it changed was.
    """
    if response.compact_revision:
        return CompactedError(response.compact_revision - 1, response.compact_revision)
    for event in response.events:
        is_create = event.current is not None and event.current.create_revision == event.revision
        if event.previous is None and not is_create:
            return CompactedError(event.revision - 1, event.revision)
        changes.append(event)
    return None


def _size(event: Change) -> int:
    values = [value for value in (event.current, event.previous) if value is not None]
    return _EVENT_OVERHEAD + len(event.key) + sum(len(value.key) + len(value.value) for value in values)
