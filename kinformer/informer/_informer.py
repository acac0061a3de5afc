"""SharedInformer: one cache of one resource, and any number of handlers that are told of its changes."""

import math
from collections.abc import Mapping
from typing import Any, Generic, Self, TypeVar, Unpack, overload

import anyio
from anyio.abc import TaskStatus

from kinformer.errors import ClosedError
from kinformer.informer._backlog import Coalesced, InOrder
from kinformer.informer._cache import Cache
from kinformer.informer._handlers import Handler, calls_of, filter_of, name_of
from kinformer.informer._listener import Listener
from kinformer.informer._lister import Lister
from kinformer.informer._options import InformerOptions
from kinformer.informer._registration import Registration
from kinformer.informer._stats import InformerStats
from kinformer.informer._views import Views
from kinformer.meta import Object
from kinformer.reflector import Ages, Condition, Source
from kinformer.store import Indexer, Store

__all__ = ["SharedInformer"]

T = TypeVar("T")


class SharedInformer(Generic[T]):
    """Keep a store equal to a source, and tell handlers what has changed.

    The store is changed before any handler hears of it, and a new list becomes visible in one step: a reader sees the
    old complete content or the new one. Handlers are told one thing at a time, in order, each from a task of its own;
    how far one is behind is its own matter. They may be added and removed at any time until ``run`` has ended.

    Args:
        source: What to read; a ``ResourceClient`` fits. Or several, by namespace, each of nothing but that namespace:
            the store then holds them all, and is synced when all are; where one cannot be read, the others go on.
        model: What listers and handlers give; decoded when asked for or delivered. An object that does not fit is
            reported, by the hook ``object_quarantined``, and is not there for them: a handler that was told of it is
            told ``Deleted``, and ``Added`` when it fits again.
        queue: The order in which changes reach the store. ``"delta"``: by key, all pending changes of it at once.
            ``"in-order"``: as the server told them, across all keys; on a relist deletions come before changes.
        indexers: Index functions by name, besides those by namespace and by owner.
        prune: Cuts bytes out of each object before it is kept; ``None`` keeps all.
        transform: Changes each object, once, before it is kept. An object for which it raises is quarantined: the
            hook ``object_quarantined`` hears of it, and what was known of it before stays.
        resync: Seconds after which a handler is shown every object again, from the store; 0 is never.
        compact: Whether objects are held compressed: a tenth to a half of the memory, for about 10 us more when one
            arrives and 5 when its body is read. Needs the extra ``fast``.
        check_snapshots: Whether ``run`` raises where a snapshot is not what an exact LIST of its version says; see ``Reflector``.
        name: For logs and hooks; by default the resource's ``plural.group``. The reflectors of several namespaces are
            told apart, as in ``"pods in shop"``.
        definitions: Where to hear of it when the resource is defined; see ``Reflector``.
        clock: The time.
        random: Chance, for the reflector's jitter.
        hooks: Who hears of what happens.

    Raises:
        ValueError: There is no such queue, the period is no number of seconds, or an index name is taken; or the
            sources by namespace are none, not of one resource, or not narrowed down to their namespaces.
        TypeError: The model is none, or what should be a plain function.
        ImportError: It is to be compact, and zstandard is not installed.
    """

    @overload
    def __init__(
        self: "SharedInformer[Object]",
        source: Source | Mapping[str, Source],
        **options: Unpack[InformerOptions],
    ) -> None: ...
    @overload
    def __init__(
        self, source: Source | Mapping[str, Source], *, model: type[T], **options: Unpack[InformerOptions]
    ) -> None: ...

    def __init__(
        self,
        source: Source | Mapping[str, Source],
        *,
        model: type[Any] = Object,
        **options: Unpack[InformerOptions],
    ) -> None:
        self._show(Cache(source, **options), model)

    @classmethod
    def _of(cls, cache: Cache, model: type[T]) -> Self:
        """A view of a cache that others may have views of as well."""
        view = cls.__new__(cls)
        view._show(cache, model, is_shared=True)
        return view

    def _show(self, cache: Cache, model: type[T], *, is_shared: bool = False) -> None:
        self._cache = cache
        self._is_shared = is_shared  # and so not for its holder to run or to close
        self._views = Views(model)
        self._registrations: dict[Registration, None] = {}
        self._is_released = False
        self._lister = Lister(
            cache.store,
            self._views,
            resource=cache.resource,
            name=cache.name,
            is_synced=lambda: cache.is_filled,
            hooks=cache.hooks,
        )

    @property
    def name(self) -> str:
        """Its name in logs and hooks."""
        return self._cache.name

    @property
    def lister(self) -> Lister[T]:
        """Reads the cache."""
        return self._lister

    @property
    def store(self) -> Store:
        """The records that the lister reads."""
        return self._cache.store

    @property
    def is_synced(self) -> bool:
        """Whether a complete list is in the store and in the handlers' buffers; once true it stays so.

        Of an informer that came from a factory, until its last holder has let go.
        """
        return not self._is_released and self._cache.is_synced

    @property
    def is_closed(self) -> bool:
        """Whether it has ended, or was closed before it ran."""
        return self._is_released or self._cache.is_closed

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """The reflector's health by name; empty before ``run``.

        Of several namespaces: synced where all are, in trouble where any is; the message names them.
        """
        return self._cache.conditions

    @property
    def namespace_conditions(self) -> Mapping[str, Mapping[str, Condition]]:
        """The conditions by namespace; under ``""`` where all namespaces are watched as one."""
        return self._cache.namespace_conditions

    @property
    def ages(self) -> Ages:
        """How long ago an object and a bookmark last arrived; infinite before ``run``.

        Of several namespaces: the newest object of any, and the oldest last bookmark, so that a dead stream shows.
        """
        return self._cache.ages

    @property
    def handlers(self) -> tuple[Registration, ...]:
        """The handlers that are told, in the order in which they were added; how each is doing."""
        return tuple(self._registrations)

    @property
    def stats(self) -> InformerStats:
        """Its numbers at this moment."""
        return self._cache.stats

    async def wait_synced(self) -> None:
        """Wait for the first complete list, of every namespace.

        Raises:
            ClosedError: The informer ended before that.
        """
        self._refuse_released()
        await self._cache.wait_synced()

    async def wait_for(
        self, version: str, *, namespace: str | None = None, timeout: float = math.inf
    ) -> None:
        """Wait until the store is at least as new as ``version`` of the same resource.

        A version of an object that this informer's selectors leave out is reached by a later event or bookmark.
        Where versions cannot be compared, the store must be at exactly this one, which a fast stream may skip.

        Args:
            version: As the server gave it, for example with what was just written.
            namespace: Where several are watched, wait for this one only; in the others a bookmark, which comes once a
                minute, may be the first to reach the version of what was written here.
            timeout: Seconds.

        Raises:
            ValueError: The namespace is not watched.
            ClosedError: The informer ended before that.
            TimeoutError: The time ran out.
        """
        self._refuse_released()
        await self._cache.wait_for(version, namespace=namespace, timeout=timeout)

    def add_indexers(self, indexers: Mapping[str, Indexer]) -> None:
        """Add indexes at any time; they cover what is stored already.

        Raises:
            ValueError: A name is taken; then none is added.
        """
        self._cache.add_indexers(indexers)

    def add_handler(
        self,
        handler: Handler[T],
        *,
        name: str | None = None,
        resync: float | None = None,
        coalesce: bool = False,
    ) -> Registration:
        """Tell ``handler`` of the present content, as initial adds, and of every change from now on.

        The same handler may be added more than once; each registration is on its own.

        Args:
            handler: A function, ``async def`` or plain, or ``Handlers``, or a ``FilteringHandler`` of either. It may do
                what it likes: it runs outside of any lock, and an exception costs it that one notification.
            name: For logs and hooks; by default the function's.
            resync: Seconds between resyncs for this handler; ``None`` is the informer's period, 0 is never.
            coalesce: Whether to merge what waits for one key. This bounds the backlog by the number of keys.

        Raises:
            TypeError: The handler cannot be called as one.
            ValueError: The period is negative.
            ClosedError: The informer has ended.
        """
        if self.is_closed:
            raise ClosedError(f"informer {self.name} has ended: handlers can be added before that")
        listener = Listener(
            name or name_of(handler),
            calls_of(handler),
            Coalesced() if coalesce else InOrder(),
            self._views,
            passes=filter_of(handler),
            informer=self.name,
            sources=self._cache.sources,
            clock=self._cache.clock,
            hooks=self._cache.hooks,
        )
        registration = self._cache.add(listener, resync)
        self._registrations[registration] = None
        return registration

    def remove_handler(self, registration: Registration) -> None:
        """Tell a handler no more; a call that is going on comes to its end.

        What waits for it is dropped. A registration that was removed before, or is another informer's, is no matter.
        """
        if registration in self._registrations:
            del self._registrations[registration]
            self._cache.remove(registration)

    def close(self) -> None:
        """Let ``run`` return. What has been read can still be; no handler is told of anything any more.

        Raises:
            RuntimeError: It belongs to a factory, and others may have it: leave the block of ``acquire`` instead.
        """
        if self.is_closed:
            return
        if self._is_shared:
            raise RuntimeError(
                f"informer {self.name} belongs to a factory: leave the block of acquire() instead"
            )
        self._cache.close()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run until cancelled or closed; ``task_status`` reports the start once the first list is in the store.

        Raises:
            RuntimeError: It ran before; an informer runs once. Or it belongs to a factory, which runs it.
            ClosedError: It was closed before.
        """
        if self._is_shared:
            raise RuntimeError(f"informer {self.name} belongs to a factory: run that instead")
        await self._cache.run(task_status=task_status)

    def _refuse_released(self) -> None:
        if self._is_released:
            raise ClosedError(f"informer {self.name} has been let go: wait while you hold it")

    def _release(self) -> None:
        """End this view, with its handlers; other views of the cache go on."""
        self._is_released = True
        for registration in tuple(self._registrations):
            self.remove_handler(registration)
