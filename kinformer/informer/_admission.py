"""Admission: what happens to an object before it is kept."""

import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from kinformer.hooks import Hooks, ObjectQuarantined
from kinformer.meta import Object, Pack, Record, prune_managed_fields

__all__ = ["MANAGED_FIELDS", "Admission", "Prune", "Transform"]

_log: Final = logging.getLogger("kinformer.informer")

Prune: TypeAlias = Callable[[bytes], bytes]
"""Cuts something out of an object's JSON, and leaves its metadata's identity alone."""

MANAGED_FIELDS: Final[Prune] = prune_managed_fields
"""Cut ``metadata.managedFields``, which no controller reads from a cache."""

Transform: TypeAlias = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Changes an object in place, or gives another in its stead. Name, namespace, uid and version must stay."""


class Admission:
    """Prunes, transforms and compresses objects; one for which that fails is quarantined.

    Args:
        name: The informer's name.
        prune: See ``SharedInformer``.
        transform: See ``SharedInformer``.
        hooks: Hears of quarantined objects.
        pack: Compresses a record; ``None`` leaves it as it is.
    """

    def __init__(
        self,
        name: str,
        *,
        prune: Prune | None,
        transform: Transform | None,
        hooks: Hooks,
        pack: Pack | None = None,
    ) -> None:
        self._name = name
        self._prune = prune
        self._transform = transform
        self._pack = pack
        self._hooks = hooks

    def __call__(self, record: Record) -> Record | None:
        """The record as it is to be kept, or ``None`` for one that is quarantined."""
        try:
            if self._prune is not None:
                record = _pruned(record, self._prune)
            if self._transform is not None:
                record = _transformed(record, self._transform)
            return record if self._pack is None else self._pack(record)
        except Exception as error:  # noqa: BLE001 -- a transform is the user's code: it fails for this one object
            _log.error("%s: %s cannot be transformed", self._name, record.key, exc_info=error)
            self._hooks.object_quarantined(ObjectQuarantined(self._name, str(record.key), error))
            return None

    def shorten(self, record: Record) -> Record:
        """A listed record in fewer bytes, before it is known whether it is news; it must be admitted all the same.

        That is for what may be done twice: cutting managed fields, and compressing. Of what users bring nothing is called.
        """
        if record.packing is None and self._prune is MANAGED_FIELDS:
            record = _pruned(record, MANAGED_FIELDS)
        return record if self._pack is None else self._pack(record)


def _pruned(record: Record, prune: Prune) -> Record:
    raw = record.raw
    pruned = prune(raw)
    if not isinstance(pruned, bytes):
        raise TypeError(f"prune gives the bytes that are left, not {type(pruned).__name__}")
    if pruned == raw:
        return record
    return Record(record.resource, record.key, record.metadata, pruned)


def _transformed(record: Record, transform: Transform) -> Record:
    content = Object(record).thaw()
    changed = transform(content)
    result = Record.decode(msgspec.json.encode(content if changed is None else changed), record.resource)
    before, after = record.metadata, result.metadata
    if (before.key, before.uid, before.resource_version) != (after.key, after.uid, after.resource_version):
        raise ValueError("a transform must leave name, namespace, uid and resourceVersion as they are")
    return result
