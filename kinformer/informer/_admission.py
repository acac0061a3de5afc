"""Admission: what happens to an object before it is kept."""

import logging
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import msgspec

from kinformer.hooks import Hooks, ObjectQuarantined
from kinformer.informer._plain import refuse_async, refuse_awaitable
from kinformer.meta import Object, Pack, Record, prune_managed_fields

__all__ = ["MANAGED_FIELDS", "Admission", "Prune", "Transform"]

_log: Final = logging.getLogger("kinformer.informer")

Prune: TypeAlias = Callable[[bytes], bytes]
"""Cuts something out of an object's JSON, and leaves its metadata's identity alone."""

MANAGED_FIELDS: Final[Prune] = prune_managed_fields
"""Cut ``metadata.managedFields``, which no controller reads from a cache."""

Transform: TypeAlias = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Changes an object in place, or gives another in its stead. Name, namespace, uid and version must stay."""


_TRANSFORMED: Final = "the object or, having changed it, None"


class Admission:
    """Prunes, transforms and compresses objects; one for which that fails is quarantined.

    Args:
        name: The informer's name.
        prune: See ``SharedInformer``.
        transform: See ``SharedInformer``.
        hooks: Hears of quarantined objects.
        pack: Compresses a record; ``None`` leaves it as it is.
        namespace: Where all objects have to be; ``""`` is anywhere.

    Raises:
        TypeError: What is to prune or to transform is no plain function.
    """

    def __init__(
        self,
        name: str,
        *,
        prune: Prune | None,
        transform: Transform | None,
        hooks: Hooks,
        pack: Pack | None = None,
        namespace: str = "",
    ) -> None:
        if prune is not None:
            refuse_async("prune", prune, "the bytes that are left")
        if transform is not None:
            refuse_async("transform", transform, _TRANSFORMED)
        self._name = name
        self._prune = prune
        self._transform = transform
        self._pack = pack
        self._hooks = hooks
        self._namespace = namespace

    def __call__(self, record: Record) -> Record | None:
        """The record as it is to be kept, or ``None`` for one that is quarantined."""
        try:
            _check_namespace(record, self._namespace)
            if self._prune is not None:
                record = _pruned(record, self._prune)
            if self._transform is not None:
                record = _transformed(record, self._transform)
            return record if self._pack is None else self._pack(record)
        except Exception as error:  # noqa: BLE001 -- a transform is the user's code: it fails for this one object
            _log.error("%s: %s cannot be admitted", self._name, record.key, exc_info=error)
            self._hooks.object_quarantined(ObjectQuarantined(self._name, str(record.key), error))
            return None

    def shorten(self, record: Record) -> Record:
        """A listed record in fewer bytes, before it is known whether it is news; it must be admitted all the same.

        That is for what may be done twice: cutting managed fields, and compressing. Of what users bring nothing is called.
        """
        if record.packing is None and self._prune is MANAGED_FIELDS:
            record = _pruned(record, MANAGED_FIELDS)
        return record if self._pack is None else self._pack(record)


def _check_namespace(record: Record, namespace: str) -> None:
    if namespace not in ("", record.key.namespace):
        raise ValueError(f"the source of namespace {namespace!r} gave an object of another: narrow it down")


def _pruned(record: Record, prune: Prune) -> Record:
    raw = record.raw
    pruned = prune(raw)
    refuse_awaitable("prune", prune, pruned, "the bytes that are left")
    if not isinstance(pruned, bytes):
        raise TypeError(f"prune gives the bytes that are left, not {type(pruned).__name__}")
    if pruned == raw:
        return record
    if prune is MANAGED_FIELDS:  # which leaves all else as it is
        return Record(record.resource, record.key, record.metadata, pruned)
    return _same(record, Record.decode(pruned, record.resource), "prune")


def _transformed(record: Record, transform: Transform) -> Record:
    content = Object(record).thaw()
    changed = transform(content)
    refuse_awaitable("transform", transform, changed, _TRANSFORMED)
    raw = msgspec.json.encode(content if changed is None else changed)
    return _same(record, Record.decode(raw, record.resource), "transform")


def _same(record: Record, result: Record, name: str) -> Record:
    before, after = record.metadata, result.metadata
    if (before.key, before.uid, before.resource_version) != (after.key, after.uid, after.resource_version):
        raise ValueError(f"{name} must leave name, namespace, uid and resourceVersion as they are")
    return result
