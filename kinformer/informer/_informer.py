"""SharedInformer: one cache of one resource, and any number of handlers that are told of its changes."""

import logging
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from random import Random
from typing import Any, Final, Generic, Literal, TypedDict, TypeVar, Unpack, overload

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kinformer.client import ResourceClient
from kinformer.clock import Clock
from kinformer.errors import ClosedError
from kinformer.hooks import Hooks, NoHooks, ObjectQuarantined
from kinformer.informer._admission import MANAGED_FIELDS, Admission, Prune, Transform
from kinformer.informer._backlog import Coalesced, InOrder
from kinformer.informer._compact_source import CompactSource
from kinformer.informer._compaction import Compaction
from kinformer.informer._handlers import Handler, calls_of, name_of
from kinformer.informer._ingest import Ingest
from kinformer.informer._listener import Listener
from kinformer.informer._lister import Lister
from kinformer.informer._pace import PacedSource
from kinformer.informer._pump import Pump
from kinformer.informer._registration import Registration
from kinformer.informer._resync import ResyncPlan
from kinformer.informer._stats import InformerStats
from kinformer.informer._views import Views
from kinformer.meta import ANY, LATEST, Object, Record, is_at_least
from kinformer.reflector import Ages, Condition, Reflector, Source
from kinformer.store import BUILTIN_INDEXERS, DeltaFIFO, Indexer, InOrderFIFO, Store, StoreWriter
from kinformer.system_clock import SystemClock
from kinformer.tasks import open_task_group

__all__ = ["CacheOptions", "InformerOptions", "SharedInformer"]

T = TypeVar("T")

_log: Final = logging.getLogger("kinformer.informer")


class CacheOptions(TypedDict, total=False):
    """What the cache is to be like; see ``SharedInformer``."""

    queue: Literal["delta", "in-order"]
    indexers: Mapping[str, Indexer] | Iterable[tuple[str, Indexer]]
    prune: Prune | None
    transform: Transform | None
    resync: float
    compact: bool
    check_snapshots: bool


class InformerOptions(CacheOptions, total=False):
    """All keywords of ``SharedInformer`` but the model."""

    name: str
    definitions: Source | None
    clock: Clock | None
    random: Random | None
    hooks: Hooks | None


class SharedInformer(Generic[T]):
    """Keep a store equal to a source, and tell handlers what has changed.

    The store is changed before any handler hears of it, and a new list becomes visible in one step: a reader sees the
    old complete content or the new one. Handlers are told one thing at a time, in order, each from a task of its own;
    how far one is behind is its own matter. They may be added and removed at any time until ``run`` has ended.

    Args:
        source: What to read; a ``ResourceClient`` fits.
        model: What listers and handlers give; decoded when asked for or delivered.
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
        name: For logs and hooks; by default the resource's ``plural.group``.
        definitions: Where to hear of it when the resource is defined; see ``Reflector``.
        clock: The time.
        random: Chance, for the reflector's jitter.
        hooks: Who hears of what happens.

    Raises:
        ValueError: There is no such queue, the period is negative, or an index name is taken.
        ImportError: It is to be compact, and zstandard is not installed.
    """

    @overload
    def __init__(
        self: "SharedInformer[Object]", source: Source, **options: Unpack[InformerOptions]
    ) -> None: ...
    @overload
    def __init__(self, source: Source, *, model: type[T], **options: Unpack[InformerOptions]) -> None: ...

    def __init__(
        self,
        source: Source,
        *,
        model: type[Any] = Object,
        queue: Literal["delta", "in-order"] = "delta",
        indexers: Mapping[str, Indexer] | Iterable[tuple[str, Indexer]] = (),
        prune: Prune | None = MANAGED_FIELDS,
        transform: Transform | None = None,
        resync: float = 0.0,
        compact: bool = False,
        check_snapshots: bool = False,
        name: str = "",
        definitions: Source | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        if queue not in {"delta", "in-order"}:
            raise ValueError(f"queue={queue!r} must be 'delta' or 'in-order'")
        self.name: Final = name or str(source.resource)
        # The reflector has rules of its own for what is tried again; a client that retries too would break its budget.
        source = source.without_retries() if isinstance(source, ResourceClient) else source
        self._check_snapshots = check_snapshots
        self._definitions = definitions
        self._clock = clock or SystemClock()
        self._random = random
        self._hooks = hooks or NoHooks()
        self._writer = StoreWriter(BUILTIN_INDEXERS, index_failed=self._index_failed)
        self._writer.add_indexers(dict(indexers))
        self._queue = InOrderFIFO() if queue == "in-order" else DeltaFIFO(self.store)
        self._listeners: dict[Registration, Listener[T]] = {}
        pack = Compaction() if compact else None
        admit = Admission(self.name, prune=prune, transform=transform, hooks=self._hooks, pack=pack)
        self._pump = Pump(
            self._queue,
            self._writer,
            self._listeners.values(),
            admit=admit,
            name=self.name,
            clock=self._clock,
        )
        snapshots = source if pack is None else CompactSource(source, pack)
        self._source = PacedSource(snapshots, self._pump.wait_room)
        self._ingest = Ingest(self._queue, admit=admit, changed=self._pump.wake, resync=self._resync)
        self._views: Views[T] = Views(model)
        self._plan: ResyncPlan[Listener[T]] = ResyncPlan(resync)
        self._reflector: Reflector | None = None
        self._tasks: TaskGroup | None = None
        self._is_closed = False
        self.lister: Final[Lister[T]] = Lister(
            self._writer.store,
            self._views,
            resource=source.resource,
            name=self.name,
            is_synced=lambda: self._pump.is_filled,
            hooks=self._hooks,
        )

    @property
    def store(self) -> Store:
        """The records that the lister reads."""
        return self._writer.store

    @property
    def is_synced(self) -> bool:
        """Whether a complete list is in the store and in the handlers' buffers; once true it stays so."""
        return self._pump.is_synced

    @property
    def is_closed(self) -> bool:
        """Whether it has ended, or was closed before it ran."""
        return self._is_closed

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """The reflector's health by name; empty before ``run``."""
        return {} if self._reflector is None else self._reflector.conditions

    @property
    def ages(self) -> Ages:
        """How long ago an object and a bookmark last arrived; infinite before ``run``."""
        return Ages(math.inf, math.inf) if self._reflector is None else self._reflector.ages

    @property
    def stats(self) -> InformerStats:
        """Its numbers at this moment."""
        return InformerStats(
            objects=len(self.store),
            size=self.store.size,
            queued=len(self._queue),
            queue_high_water=self._queue.high_water,
            event_age=self.ages.event,
            relists=max(self._ingest.lists - 1, 0),
            watch_restarts=max(self._source.watches - 1, 0),
        )

    async def wait_synced(self) -> None:
        """Wait for the first complete list.

        Raises:
            ClosedError: The informer ended before that.
        """
        while not self.is_synced:
            await self._wait_moved("synced")

    async def wait_for(self, version: str, *, timeout: float = math.inf) -> None:
        """Wait until the store is at least as new as ``version`` of the same resource.

        A version of an object that this informer's selectors leave out is reached by a later event or bookmark.
        Where versions cannot be compared, the store must be at exactly this one, which a fast stream may skip.

        Args:
            version: As the server gave it, for example with what was just written.
            timeout: Seconds.

        Raises:
            ClosedError: The informer ended before that.
            TimeoutError: The time ran out.
        """
        with self._clock.move_on_after(timeout) as scope:
            await self.wait_synced()
            while version not in {ANY, LATEST} and not _has_reached(self.store.version, version):
                await self._wait_moved(f"at version {version}")
        if scope.cancelled_caught:
            found = f"at version {self.store.version}" if self.is_synced else "not synced"
            raise TimeoutError(
                f"informer {self.name} is {found} after {timeout:g} s, and not at version {version}"
            )

    def add_indexers(self, indexers: Mapping[str, Indexer]) -> None:
        """Add indexes at any time; they cover what is stored already.

        Raises:
            ValueError: A name is taken; then none is added.
        """
        self._writer.add_indexers(indexers)

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
            handler: A function, ``async def`` or plain, or ``Handlers``. It may do what it likes: it runs outside of
                any lock, and an exception costs it that one notification.
            name: For logs and hooks; by default the function's.
            resync: Seconds between resyncs for this handler; ``None`` is the informer's period, 0 is never.
            coalesce: Whether to merge what waits for one key. This bounds the backlog by the number of keys.

        Raises:
            TypeError: The handler cannot be called as one.
            ValueError: The period is negative.
            ClosedError: The informer has ended.
        """
        if self._is_closed:
            raise ClosedError(f"informer {self.name} has ended: handlers can be added before that")
        listener = Listener(
            name or name_of(handler),
            calls_of(handler),
            Coalesced() if coalesce else InOrder(),
            self._views.notification,
            informer=self.name,
            clock=self._clock,
            hooks=self._hooks,
        )
        now = self._clock.monotonic()
        self._plan.add(listener, resync, now)
        registration = Registration(listener)
        # From here on no await: it is told of what is in the store now, and of whatever changes that later.
        self._listeners[registration] = listener
        if self._pump.is_filled:
            listener.begin(self.store.content, now)
        if self._pump.is_synced:
            listener.source_synced()
        if self._tasks is not None:
            self._tasks.start_soon(listener.run, name=f"{self.name}: {listener.name}")
        return registration

    def remove_handler(self, registration: Registration) -> None:
        """Tell a handler no more; a call that is going on comes to its end.

        What waits for it is dropped. A registration that was removed before, or is another informer's, is no matter.
        """
        listener = self._listeners.pop(registration, None)
        if listener is not None:
            listener.close()
            self._plan.remove(listener)

    def close(self) -> None:
        """Let ``run`` return. What has been read can still be; no handler is told of anything any more."""
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()
        self._end()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Run until cancelled or closed; ``task_status`` reports the start once the first list is in the store.

        Raises:
            RuntimeError: It ran before; an informer runs once.
            ClosedError: It was closed before.
        """
        if self._reflector is not None:
            raise RuntimeError(f"informer {self.name} ran before: an informer runs once, make another")
        if self._is_closed:
            raise ClosedError(f"informer {self.name} was closed before it ran")
        self._plan.start(self._clock.monotonic())
        self._reflector = Reflector(
            self._source,
            self._ingest,
            name=self.name,
            resync=self._plan.check,
            check_snapshots=self._check_snapshots,
            definitions=self._definitions,
            clock=self._clock,
            random=self._random,
            hooks=self._hooks,
        )
        try:
            async with open_task_group() as tasks:
                self._tasks = tasks
                for listener in self._listeners.values():
                    tasks.start_soon(listener.run, name=f"{self.name}: {listener.name}")
                tasks.start_soon(self._pump.run)
                tasks.start_soon(self._announce, task_status)
                tasks.start_soon(self._reflector.run)
        finally:
            self._tasks = None
            self._end()

    async def _announce(self, task_status: TaskStatus[None]) -> None:
        with suppress(ClosedError):  # closed before its first list: run returns
            await self.wait_synced()
            task_status.started()

    def _resync(self) -> None:
        self._pump.resync(self._plan.due(self._clock.monotonic()))

    async def _wait_moved(self, goal: str) -> None:
        if self._is_closed:
            raise ClosedError(f"informer {self.name} ended before it was {goal}")
        await self._pump.wait_moved()

    def _end(self) -> None:
        self._is_closed = True
        for registration in tuple(self._listeners):
            self.remove_handler(registration)
        self._pump.announce()

    def _index_failed(self, index: str, record: Record, error: Exception) -> None:
        _log.error("%s: index %r failed for %s", self.name, index, record.key, exc_info=error)
        self._hooks.object_quarantined(ObjectQuarantined(self.name, str(record.key), error))


def _has_reached(version: str, floor: str) -> bool:
    try:
        return is_at_least(version, floor)
    except ValueError:
        return version == floor
