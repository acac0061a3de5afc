"""Reception: what the batches of one watch mean, decided without waiting. Pure; ``_reflector`` carries it out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, TypeGuard

from kinformer.errors import DecodeError, ExpiredError
from kinformer.meta import EventType, ObjectKey, Record, WatchEvent, is_at_least
from kinformer.reflector._progress import Progress
from kinformer.reflector._snapshot import Snapshot

__all__ = ["Broken", "Changes", "Effect", "Reception", "Rejected"]

_CHANGES: Final = frozenset({EventType.ADDED, EventType.MODIFIED, EventType.DELETED})


@dataclass(frozen=True, slots=True)
class Changes:
    """Changes to apply, in order; without any, only the version moves."""

    events: Sequence[WatchEvent]
    version: str
    """What is published with them."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """One object could not be read; the stream goes on, and the version does not move."""

    error: DecodeError


@dataclass(frozen=True, slots=True)
class Broken:
    """The server reported an error, or sent what does not even say whose event it is; nothing after it counts."""

    error: Exception


_OTHER_HISTORY: Final = "the server is at version {} and we come from version {}: its history is another one, as after a restored backup"
"""A server takes a watch from the future without a word, and sends nothing until it has caught up."""

Effect: TypeAlias = Snapshot | Changes | Rejected | Broken


class Reception:
    """One watch, as far as it was received.

    Invariant: while a watch-list is incomplete nothing but ``Broken`` comes out, so that a stream that breaks leaves
    no trace.
    """

    def __init__(self, version: str, *, initial_events: bool) -> None:
        self.progress = Progress.start(version)
        self.count = 0
        """Events that were understood, bookmarks included."""
        self.bookmarks = 0
        """The bookmarks among them."""
        self._records: dict[ObjectKey, Record] | None = {} if initial_events else None
        self._rejected: list[DecodeError] = []

    @property
    def has_bookmarks(self) -> bool:
        """Whether the server has shown that it sends bookmarks."""
        return self.bookmarks > 0

    def take(self, batch: Sequence[WatchEvent]) -> Iterator[Effect]:
        """Decide what a batch means; the effects are to be carried out in order, each before the next is asked for."""
        if self._records is None:
            yield from self._follow(batch)
            return
        end = next((count for count, event in enumerate(batch, 1) if event.ends_initial_events), None)
        broken = self._collect(batch[:end], self._records)
        if broken is not None:
            yield broken
        elif end is not None:
            records, self._records = self._records, None
            yield Snapshot.of_events(records, self.progress.version, self._rejected)
            yield from self._follow(batch[end:])

    def _collect(self, batch: Sequence[WatchEvent], records: dict[ObjectKey, Record]) -> Broken | None:
        """Take initial events."""
        for event in batch:
            if event.type is EventType.ERROR:
                error = _error_of(event)
                if not _names_its_object(error):
                    return Broken(error)
                self._rejected.append(error)
                continue
            self.count += 1
            if event.type is EventType.BOOKMARK:
                self.bookmarks += 1
            elif event.record is not None:
                key = event.record.key
                if self._rejected:
                    self._rejected = [error for error in self._rejected if error.key != str(key)]
                if event.type is EventType.DELETED:
                    records.pop(key, None)
                else:
                    records[key] = event.record
        self.progress = self.progress.after(batch)
        return None

    def _follow(self, batch: Sequence[WatchEvent]) -> Iterator[Effect]:
        """Take events that come after the snapshot."""
        start = 0
        for at, event in enumerate(batch):
            if event.type is EventType.BOOKMARK and _is_before(event.version, self.progress.version):
                yield from self._changes(batch[start:at])
                yield Broken(
                    ExpiredError(410, "Expired", _OTHER_HISTORY.format(event.version, self.progress.version))
                )
                return
            if event.type is not EventType.ERROR:
                continue
            # In the order of the events, since an object may be read and be illegible in one batch.
            yield from self._changes(batch[start:at])
            start = at + 1
            error = _error_of(event)
            if not _names_its_object(error):
                yield Broken(error)
                return
            yield Rejected(error)
        yield from self._changes(batch[start:])

    def _changes(self, events: Sequence[WatchEvent]) -> Iterator[Changes]:
        """Take events without an error among them."""
        changes = [event for event in events if event.type in _CHANGES]
        self.bookmarks += len(events) - len(changes)
        self.count += len(events)
        before, self.progress = self.progress, self.progress.after(events)
        if changes or self.progress.version != before.version:
            yield Changes(changes, self.progress.version)


def _is_before(version: str, floor: str) -> bool:
    """Whether a version is older than another; versions that cannot be compared are not."""
    try:
        return not is_at_least(version, floor)
    except ValueError:
        return False


def _names_its_object(error: Exception) -> TypeGuard[DecodeError]:
    """Whether an error is about one object that is known. Otherwise any object may be out of date, for ever."""
    return isinstance(error, DecodeError) and bool(error.key)


def _error_of(event: WatchEvent) -> Exception:
    """What an error event reports."""
    return event.error or DecodeError("the server sent an error event that says nothing")
