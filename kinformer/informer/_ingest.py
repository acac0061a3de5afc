"""Ingest: the informer's end of the reflector. It trims what comes in and puts it into the delta FIFO."""

import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias

import msgspec

from kinformer.hooks import Hooks, ObjectQuarantined
from kinformer.meta import EventType, Object, ObjectKey, Record, WatchEvent, prune_managed_fields
from kinformer.store import Change, Delta, DeltaFIFO, Tombstone

__all__ = ["MANAGED_FIELDS", "Ingest", "Prune", "Transform"]

_log: Final = logging.getLogger("kinformer.informer")

Prune: TypeAlias = Callable[[bytes], bytes]
"""Cuts something out of an object's JSON, and leaves its metadata's identity alone."""

MANAGED_FIELDS: Final[Prune] = prune_managed_fields
"""Cut ``metadata.managedFields``, which no controller reads from a cache."""

Transform: TypeAlias = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Changes an object in place, or gives another in its stead. Name, namespace, uid and version must stay."""


class Ingest:
    """A ``Sink`` in front of a delta FIFO.

    Each object is pruned and transformed once: one that a new list brings with the uid and version that are known
    already is taken as it is known. An object whose transform fails is quarantined. What was known of it before
    stays, and when it is deleted, that is what the tombstone shows.

    Args:
        fifo: Where everything goes.
        name: The informer's name.
        prune: See ``SharedInformer``.
        transform: See ``SharedInformer``.
        hooks: Hears of quarantined objects.
        changed: Called after the FIFO has taken something.
        resync: Called when it is time to look who is due for a resync.
    """

    def __init__(
        self,
        fifo: DeltaFIFO,
        *,
        name: str,
        prune: Prune | None,
        transform: Transform | None,
        hooks: Hooks,
        changed: Callable[[], None],
        resync: Callable[[], None],
    ) -> None:
        self._fifo = fifo
        self._name = name
        self._prune = prune
        self._transform = transform
        self._hooks = hooks
        self._changed = changed
        self._resync = resync

    def replace(self, records: Sequence[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
        """Take a whole snapshot; what is known of ``kept`` stays."""
        taken = []
        for record in records:
            known = self._fifo.newest(record.key)
            fresh = known if known is not None and _is_same(known, record) else self._admit(record)
            if (best := fresh or known) is not None:
                taken.append(best)
        self._fifo.replace(taken, version, kept=kept)
        self._changed()

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        """Take changes in order."""
        for event in events:
            if event.record is None:
                raise ValueError(f"an informer takes no {event.type} event: it is about no object")
            self._take(event.type, event.record)
        self._fifo.publish(version)
        self._changed()

    def resync(self) -> None:
        """Look who is due."""
        self._resync()

    def _take(self, kind: EventType, record: Record) -> None:
        fresh = self._admit(record)
        if kind is EventType.DELETED:
            known = self._fifo.newest(record.key)
            if fresh is not None:
                self._fifo.add(record.key, Delta(Change.DELETED, fresh))
            elif known is not None:
                self._fifo.add(record.key, Delta(Change.DELETED, Tombstone(record.key, known)))
        elif fresh is not None:
            change = Change.ADDED if kind is EventType.ADDED else Change.UPDATED
            self._fifo.add(record.key, Delta(change, fresh))

    def _admit(self, record: Record) -> Record | None:
        """The record as it is to be kept, or ``None`` for one that is quarantined."""
        try:
            if self._prune is not None:
                pruned = self._prune(record.raw)
                record = record if pruned == record.raw else msgspec.structs.replace(record, raw=pruned)
            return record if self._transform is None else _transformed(record, self._transform)
        except Exception as error:  # noqa: BLE001 -- a transform is the user's code: it fails for this one object
            _log.error("%s: %s cannot be transformed", self._name, record.key, exc_info=error)
            self._hooks.object_quarantined(ObjectQuarantined(self._name, str(record.key), error))
            return None


def _is_same(known: Record, record: Record) -> bool:
    """Whether two records are one state; without versions, as in some aggregated APIs, that cannot be told."""
    mine, other = known.metadata, record.metadata
    return bool(mine.resource_version) and (mine.uid, mine.resource_version) == (
        other.uid,
        other.resource_version,
    )


def _transformed(record: Record, transform: Transform) -> Record:
    content = Object(record).thaw()
    changed = transform(content)
    result = Record.decode(msgspec.json.encode(content if changed is None else changed), record.resource)
    before, after = record.metadata, result.metadata
    if (before.key, before.uid, before.resource_version) != (after.key, after.uid, after.resource_version):
        raise ValueError("a transform must leave name, namespace, uid and resourceVersion as they are")
    return result
