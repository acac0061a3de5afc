"""Verbs: what can be done with what is served."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from random import Random
from typing import Any, Final

import anyio
from anyio.abc import TaskStatus

from kinformer.apiserver.cacher import CacheOptions, Cacher, Cachers, StoredObject
from kinformer.apiserver.registry import Registry, Served, StatusError, method_not_allowed
from kinformer.apiserver.rest._applying import Applier
from kinformer.apiserver.rest._definitions import Definitions
from kinformer.apiserver.rest._deleting import Deleter
from kinformer.apiserver.rest._objects import Objects
from kinformer.apiserver.rest._options import (
    DeleteOptions,
    Event,
    Listing,
    ListOptions,
    PatchKind,
    Target,
    WriteOptions,
)
from kinformer.apiserver.rest._patching import Patcher
from kinformer.apiserver.rest._reading import Reader
from kinformer.apiserver.rest._scaling import Scaler
from kinformer.apiserver.rest._watching import Watcher
from kinformer.apiserver.rest._writing import Writer
from kinformer.apiserver.storage import KV, Change
from kinformer.clock import Clock

__all__ = ["Verbs"]

_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")


class Verbs:
    """The verbs over one storage. Every method raises ``StatusError`` where the answer is a failure.

    Each verb decides in plain functions what is to be stored and then compares and puts, so that a cancelled request
    has either been done or has not. What is sent is taken over: the caller must not use it afterwards.

    Args:
        kv: Where everything is kept.
        registry: What is served; definitions that are written here change it.
        clock: Creation times, deadlines, bookmarks.
        random: Uids, generated names, jitter.
        cache: How the watch caches behave.
    """

    def __init__(
        self,
        kv: KV,
        registry: Registry,
        *,
        clock: Clock,
        random: Random,
        cache: CacheOptions | None = None,
    ) -> None:
        self._registry = registry
        self._cachers = Cachers(kv, clock=clock, random=random, options=cache)
        objects = Objects(kv, registry, clock=clock, cachers=self._cachers)
        self._objects = objects
        self._definitions = Definitions(objects)
        self._reader = Reader(objects)
        self._watcher = Watcher(objects, random=random)
        self._writer = Writer(objects, self._definitions, random=random)
        self._deleter = Deleter(objects, self._definitions, self._reader)
        self._patcher = Patcher(self._writer, Applier(objects, self._writer))
        self._scaler = Scaler(self._reader, self._writer)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Keep watch caches until cancelled. While this does not run, everything is read from the storage."""
        unsubscribe = self._registry.subscribe(self._objects.end_caches)
        try:
            await self._cachers.run(task_status=task_status)
        finally:
            unsubscribe()

    def cacher(self, served: Served) -> Cacher:
        """The watch cache of a resource, made where there is none yet.

        Raises:
            RuntimeError: ``run`` does not.
        """
        cacher = self._cachers.of(self._objects.cached(served))
        if cacher is None:
            raise RuntimeError("there are no watch caches while the server does not run")
        return cacher

    @property
    def metrics(self) -> Mapping[str, float]:
        """What the watch caches have counted; see ``Cachers.metrics``."""
        return self._cachers.metrics()

    async def bootstrap(self) -> None:
        """Create the namespaces that every cluster has and serve the definitions that the storage holds.

        To be awaited once, before anything else; harmless when repeated.
        """
        served = self._registry.find("", "v1", "namespaces")
        assert served is not None  # noqa: S101 -- a built-in kind
        await self._definitions.load()
        own = WriteOptions(field_manager="kube-apiserver")
        for name in _NAMESPACES:
            try:
                await self._writer.create(Target(served), {"metadata": {"name": name}}, own)
            except StatusError as error:
                if error.reason != "AlreadyExists":
                    raise

    async def reload(self) -> None:
        """Serve the definitions that the storage holds now, whoever wrote them."""
        await self._definitions.load()

    def follow(self, change: Change) -> None:
        """Hear of a change of the storage, so that definitions which others write into it are served too."""
        self._definitions.follow(change)

    async def get(self, target: Target, *, version: str = "") -> StoredObject:
        """Read one object, or its status or scale, at least as new as ``version``."""
        _check(target, "get")
        if target.subresource == "scale":
            return await self._scaler.get(target, version)
        return await self._reader.get(target, version)

    async def list(self, target: Target, options: ListOptions) -> Listing:
        """Read a page of a collection: of a namespace, or of all when the target names none.

        Waits up to 3 s for a version that has not come up yet.
        """
        return await self._reader.list(target, options)

    def watch(
        self,
        target: Target,
        options: ListOptions,
        *,
        timeout: float | None = None,
        bookmarks: bool = False,
        initial_events: bool | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterator[Sequence[Event]]]:
        """Open a watch; entering may raise, afterwards failures are ERROR events.

        Args:
            target: The collection.
            options: Selectors and where to begin.
            timeout: Seconds until the stream ends; ``None`` or 0 for half an hour to an hour, by chance.
            bookmarks: Whether to send bookmarks.
            initial_events: Whether to begin with the present state and a bookmark that ends it; ``None`` when the
                request did not say, which means yes where it names no version.
        """
        return self._watcher.watch(
            target, options, timeout=timeout, bookmarks=bookmarks, initial_events=initial_events
        )

    async def create(self, target: Target, content: dict[str, Any], options: WriteOptions) -> StoredObject:
        """Create an object in the collection; the target needs no name."""
        if target.subresource:
            raise method_not_allowed(target.served, "create", is_custom=target.served.is_custom)
        return await self._writer.create(target, content, options)

    async def update(
        self, target: Target, content: dict[str, Any], options: WriteOptions
    ) -> tuple[StoredObject, bool]:
        """Replace an object, or its status, scale or finalizers; the flag tells whether it is new, as some may be."""
        _check(target, "update")
        if target.subresource == "scale":
            return await self._scaler.update(target, content, options), False
        return await self._writer.update(target, content, options)

    async def patch(
        self, target: Target, kind: PatchKind, patch: Any, options: WriteOptions
    ) -> tuple[StoredObject, bool]:
        """Change an object by a patch; the flag tells whether it was created by it, as only an apply can."""
        _check(target, "patch")
        if target.subresource == "scale":
            return await self._scaler.patch(target, kind, patch, options), False
        return await self._patcher.patch(target, kind, patch, options)

    async def delete(self, target: Target, options: DeleteOptions) -> StoredObject | dict[str, Any]:
        """Delete an object: gives a Status, or the object where the kind answers so or it goes on living."""
        if target.subresource:
            raise method_not_allowed(target.served, "delete", is_custom=target.served.is_custom)
        return await self._deleter.delete(target, options)

    async def delete_collection(self, target: Target, options: ListOptions, delete: DeleteOptions) -> Listing:
        """Delete all that match; gives what was matched."""
        return await self._deleter.delete_collection(target, options, delete)


def _check(target: Target, verb: str) -> None:
    """Whether the subresource exists and has this verb."""
    served, subresource = target.served, target.subresource
    if subresource and subresource not in served.subresources:
        raise StatusError(404, "NotFound", "the server could not find the requested resource", details={})
    if (subresource == "finalize" and verb != "update") or subresource == "token":
        raise method_not_allowed(served, verb, is_custom=served.is_custom)
