"""Objects: the storage, seen as objects. What all verbs share."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import anyio
import msgspec

from kinformer.apiserver.cacher import Cached, Cachers, StoredObject, Views
from kinformer.apiserver.registry import FieldProblem, Registry, Served, StatusError, future_version, show
from kinformer.apiserver.rest._matching import attributes
from kinformer.apiserver.rest._options import Target
from kinformer.apiserver.storage import KV, KeyRange, KeyValue
from kinformer.clock import Clock

__all__ = ["Objects", "decode", "parse_version", "version_problem"]

_FRESHNESS_TIMEOUT = 3.0
"""Seconds that a reader waits for a version that has not come up yet (rule L-9)."""

_PATIENCE: Final = 30.0
"""Seconds that a write and what follows from it may take, whoever does not want it any more."""

_UINT64: Final = 2**64
_LONGEST_NUMBER: Final = 100
"""Digits of a number that are worth reading; Python itself refuses more than 4300."""


class Objects:
    """Reads and shows stored objects."""

    def __init__(self, kv: KV, registry: Registry, *, clock: Clock, cachers: Cachers | None = None) -> None:
        self.kv = kv
        self.registry = registry
        self.cachers = Cachers(kv, clock=clock) if cachers is None else cachers
        self.clock = clock
        self._views = Views()
        self._cached: dict[Served, Cached] = {}

    def cached(self, served: Served) -> Cached:
        """A resource as its cache must know it. A definition that is being deleted keeps its cache to its end."""
        if served.is_terminating:
            served = replace(served, is_terminating=False)
        found = self._cached.get(served)
        if found is None:
            found = self._cached[served] = Cached(
                served, served.group, served.plural, served.prefix(), attributes(served)
            )
        return found

    def end_caches(self) -> None:
        """End the caches of what is not served any more, or differently; to be called when the registry has changed."""
        served = {replace(each, is_terminating=False) for each in self.registry.served() if each.is_custom}
        self._cached = {
            each: cached for each, cached in self._cached.items() if not each.is_custom or each in served
        }
        self.cachers.keep(self._cached.__contains__)

    def view(self, served: Served, value: KeyValue, version: int = 0) -> StoredObject:
        """A stored value as the entry ``served`` shows it, stamped with a version; 0 takes the value's own.

        A custom resource is pruned and defaulted by the schema of the version that is asked for (rules C-6, C-8).
        """
        version = version or value.mod_revision

        def make() -> StoredObject:
            if not served.is_custom:
                return StoredObject(value.value, version, kind=served.kind, api_version=served.api_version)
            return StoredObject.of(show(served, decode(value)), version)

        return self._views.get((value.key, value.mod_revision, version, served), make)

    async def find(self, target: Target) -> KeyValue | None:
        """What the storage holds of an object."""
        return await self.kv.get(target.served.key(target.namespace, target.name))

    async def wait_for(self, revision: int) -> None:
        """Wait until the storage is at this revision.

        Raises:
            StatusError: It is not there after three seconds: 504.
        """
        current = await self.kv.revision()
        if current >= revision:
            return
        with self.clock.move_on_after(_FRESHNESS_TIMEOUT):
            async with self.kv.watch(KeyRange.prefix(""), revision) as watch:
                async for batch in watch:
                    if batch.revision >= revision:
                        return
        current = await self.kv.revision()
        if current < revision:
            raise future_version(revision, current)

    @contextmanager
    def unbroken(self) -> Iterator[None]:
        """Do a write and what follows from it together: a cancellation waits for the block to end.

        Raises:
            StatusError: The storage did not answer in time: 504. How far it has come is not known.
        """
        with anyio.CancelScope(shield=True), self.clock.move_on_after(_PATIENCE) as patience:
            yield
        if patience.cancelled_caught:
            text = f"Timeout: the storage did not answer within {_PATIENCE:.0f}s"
            raise StatusError(504, "Timeout", text, details={})


def decode(value: KeyValue) -> dict[str, Any]:
    """A private copy of a stored object, with its resourceVersion."""
    content: dict[str, Any] = msgspec.json.decode(value.value)
    content["metadata"]["resourceVersion"] = str(value.mod_revision)
    return content


def parse_version(text: str) -> int:
    """A resource version as a number; ``""`` is 0.

    Raises:
        StatusError: It is not a number of 64 bits: 400, with the text of rule L-4.
    """
    if problem := version_problem(text):
        raise StatusError(400, "BadRequest", f"invalid resource version: {problem}")
    return int(text or 0)


def version_problem(text: str) -> FieldProblem | None:
    """What is wrong with a resource version; ``None`` when it is a number of 64 bits, or absent."""
    if not text or (
        text.isascii() and text.isdigit() and len(text) <= _LONGEST_NUMBER and int(text) < _UINT64
    ):
        return None
    why = "value out of range" if text.isascii() and text.isdigit() else "invalid syntax"
    return FieldProblem.invalid("resourceVersion", text, f'strconv.ParseUint: parsing "{text}": {why}')
