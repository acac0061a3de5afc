"""Verbs: what can be done with what is served."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest._options import (
    DeleteOptions,
    Event,
    Listing,
    ListOptions,
    PatchKind,
    Target,
    WriteOptions,
)
from kinformer.apiserver.storage import KV
from kinformer.clock import Clock

__all__ = ["Verbs"]


class Verbs:
    """The verbs over one storage. Every method raises ``StatusError`` where the answer is a failure."""

    def __init__(self, kv: KV, registry: Registry, *, clock: Clock, random: Random) -> None:
        self._kv = kv
        self._registry = registry
        self._clock = clock
        self._random = random

    async def bootstrap(self) -> None:
        """Create the namespaces that every cluster has and serve the definitions that the storage holds.

        To be awaited once, before anything else; harmless when repeated.
        """
        raise NotImplementedError

    async def get(self, target: Target, *, version: str = "") -> StoredObject:
        """Read one object, at least as new as ``version``."""
        raise NotImplementedError

    async def list(self, target: Target, options: ListOptions) -> Listing:
        """Read a page of a collection."""
        raise NotImplementedError

    def watch(
        self,
        target: Target,
        options: ListOptions,
        *,
        timeout: float | None = None,
        bookmarks: bool = False,
        initial_events: bool | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[Event]]]:
        """Open a watch; entering may raise, afterwards failures are ERROR events."""
        raise NotImplementedError

    async def create(self, target: Target, content: dict[str, Any], options: WriteOptions) -> StoredObject:
        """Create an object."""
        raise NotImplementedError

    async def update(self, target: Target, content: dict[str, Any], options: WriteOptions) -> StoredObject:
        """Replace an object, or its status, scale or finalizers."""
        raise NotImplementedError

    async def patch(
        self, target: Target, kind: PatchKind, patch: Any, options: WriteOptions
    ) -> tuple[StoredObject, bool]:
        """Change an object by a patch; the flag tells whether it was created by it."""
        raise NotImplementedError

    async def delete(self, target: Target, options: DeleteOptions) -> StoredObject | dict[str, Any]:
        """Delete an object: gives a Status, or the object where the kind answers so or it goes on living."""
        raise NotImplementedError

    async def delete_collection(self, target: Target, options: ListOptions, delete: DeleteOptions) -> Listing:
        """Delete all that match; gives what was matched."""
        raise NotImplementedError
