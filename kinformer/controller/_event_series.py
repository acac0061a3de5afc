"""EventSeries: which Events are to be written about what was told, so that much of the same becomes one. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from kinformer.meta import Object, ObjectKey

__all__ = ["EventSeries", "EventType", "EventWrite", "Told", "regarding_of"]

EventType: TypeAlias = Literal["Normal", "Warning"]

_LASTS: Final = 360.0
"""Seconds without another event after which a series is over, and the next event begins a new one (client-go's)."""

_SIMILAR: Final = 10
_SIMILAR_WITHIN: Final = 600.0
"""From so many different notes within so many seconds on, notes are combined (client-go's aggregator)."""

_BURST: Final = 25
_REFILL: Final = 300.0
"""So many events about one object at once, and then one in so many seconds (client-go's spam filter)."""

_REMEMBERED: Final = 4096
"""How many series, groups and objects are remembered, each."""

_PENDING: Final = 1000
"""How many events may wait to be written."""

_COMBINED: Final = "(combined from similar events): "
_NOTE: Final = 1024
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,218}[a-z0-9])?")


class Told(NamedTuple):
    """One thing that was told; all of it but the note says what it is like."""

    regarding: tuple[tuple[str, str], ...]
    related: tuple[tuple[str, str], ...]
    type: EventType
    action: str
    reason: str
    note: str


@dataclass(slots=True)
class _Series:
    """An Event on the server, or on its way there."""

    name: str
    note: str
    first: datetime
    last: datetime
    seen: float
    count: int = 1
    written: int = 0  # the count that the server has; 0 where it has no such Event


class EventWrite(NamedTuple):
    """What is to be written: an Event as a whole, or where it is there already, what has changed of it."""

    told: Told
    key: ObjectKey
    content: dict[str, Any]
    is_new: bool
    counted: int


class EventSeries:
    """What was told and has not been written yet.

    - The same again, within six minutes, counts up the same Event.
    - Many different notes of one reason become one Event, which tells the latest.
    - Much about one object, whatever it is, is told rarely: what is over the limit is counted, where it is of a series, or
      else dropped.

    Invariant: at most 1000 wait to be written, and at most 4096 of each kind are remembered.

    Args:
        controller: Who reports.
        instance: Which instance of it.
    """

    def __init__(self, controller: str, instance: str) -> None:
        self._controller: Final = controller
        self._instance: Final = instance[:128]
        self._series: dict[Told, _Series] = {}
        self._notes: dict[Told, tuple[set[str], float]] = {}
        self._tokens: dict[tuple[object, str], tuple[float, float]] = {}
        self._pending: dict[Told, None] = {}

    def __len__(self) -> int:
        return len(self._pending)

    def tell(self, told: Told, suffix: str, now: float, wall: datetime) -> bool:
        """Take in something that was told.

        Args:
            told: It.
            suffix: Makes the name of a new Event a new name.
            now: Seconds, for the limits.
            wall: The time that people read.

        Returns:
            Whether it will be written, or counted; False where it was dropped.
        """
        may_write = self._may_write(told, now)
        told, note = self._combined(told, now)
        series = self._series.pop(told, None)
        if series is not None and now - series.seen > _LASTS and series.count == series.written:
            series = None  # that one is over; it stays as it is on the server
        if series is None:
            if not may_write or len(self._pending) >= _PENDING:
                return False
            series = _Series(_name_of(told, suffix), note, wall, wall, now)
        else:
            series.count += 1
            series.note, series.last, series.seen = note, wall, now
        _remember(self._series, told, series)
        if may_write and len(self._pending) < _PENDING:
            self._pending[told] = None
        return True

    def next(self) -> EventWrite | None:
        """The write whose turn it is; ``succeeded``, ``vanished`` or ``failed`` must follow. ``None`` where there is none."""
        while self._pending:
            told = next(iter(self._pending))
            series = self._series.get(told)
            if series is not None:
                return self._write_of(told, series)
            del self._pending[told]  # too many others came since
        return None

    def succeeded(self, write: EventWrite) -> None:
        """The server has it; what was told meanwhile is still to be written."""
        series = self._series.get(write.told)
        if series is not None:
            series.written = write.counted
        if series is None or series.count == write.counted:
            self._pending.pop(write.told, None)

    def vanished(self, write: EventWrite) -> None:
        """The server has the Event no more: write it as a whole."""
        series = self._series.get(write.told)
        if series is not None:
            series.written = 0

    def failed(self, write: EventWrite) -> None:
        """It is given up, and forgotten: the same again begins a new Event."""
        self._pending.pop(write.told, None)
        self._series.pop(write.told, None)

    def flush(self) -> None:
        """Let everything be written that was only counted."""
        for told, series in self._series.items():
            if series.count != series.written and len(self._pending) < _PENDING:
                self._pending[told] = None

    def _may_write(self, told: Told, now: float) -> bool:
        about = (told.regarding, told.type)
        tokens, since = self._tokens.pop(about, (float(_BURST), now))
        tokens = min(float(_BURST), tokens + (now - since) / _REFILL)
        may = tokens >= 1
        _remember(self._tokens, about, (tokens - may, now))
        return may

    def _combined(self, told: Told, now: float) -> tuple[Told, str]:
        group = told._replace(note="")
        notes, last = self._notes.pop(group, (set[str](), now))
        if now - last > _SIMILAR_WITHIN:
            notes = set()
        if told.note not in notes and len(notes) < _SIMILAR - 1:
            notes.add(told.note)
        _remember(self._notes, group, (notes, now))
        if told.note in notes:
            return told, told.note
        return told._replace(note=_COMBINED), f"{_COMBINED}{told.note}"

    def _write_of(self, told: Told, series: _Series) -> EventWrite:
        namespace = dict(told.regarding).get("namespace") or "default"
        key = ObjectKey(namespace, series.name)
        counted: dict[str, Any] = {}
        if series.count > 1:
            counted["series"] = {"count": series.count, "lastObservedTime": _micro_time(series.last)}
        if series.written:
            note = {"note": series.note[:_NOTE]} if told.note == _COMBINED else {}
            return EventWrite(told, key, counted | note, is_new=False, counted=series.count)
        content: dict[str, Any] = {
            "metadata": {"name": key.name, "namespace": key.namespace},
            "eventTime": _micro_time(series.first),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": told.action,
            "reason": told.reason,
            "regarding": dict(told.regarding),
            "note": series.note[:_NOTE],
            "type": told.type,
        } | counted
        if told.related:
            content["related"] = dict(told.related)
        return EventWrite(told, key, content, is_new=True, counted=series.count)


def regarding_of(obj: Object) -> tuple[tuple[str, str], ...]:
    """A reference to an object, as an Event has it; without the version, so that the object's changes make no difference."""
    reference: Mapping[str, str] = {
        "apiVersion": obj.api_version,
        "kind": obj.kind,
        "namespace": obj.metadata.namespace,
        "name": obj.metadata.name,
        "uid": obj.metadata.uid,
    }
    return tuple((field, value) for field, value in reference.items() if value)


def _name_of(told: Told, suffix: str) -> str:
    name = dict(told.regarding).get("name", "")[:220]
    return f"{name if _NAME.fullmatch(name) else 'event'}.{suffix}"


def _remember(known: dict[Any, Any], key: object, value: object) -> None:
    known[key] = value  # as the youngest: whoever looked has taken it out
    if len(known) > _REMEMBERED:
        del known[next(iter(known))]


def _micro_time(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
