"""Cache: what all views of one informer share: the feeds, and the listeners that are told of what they bring."""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, Final, Literal

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kinformer.client import ResourceReader
from kinformer.clock import Clock
from kinformer.errors import ClosedError
from kinformer.hooks import Hooks, guarded
from kinformer.informer._admission import MANAGED_FIELDS, Admission, Prune, Transform
from kinformer.informer._compaction import Compaction
from kinformer.informer._feed import Feed
from kinformer.informer._listener import Listener
from kinformer.informer._pump import Pump
from kinformer.informer._registration import Registration
from kinformer.informer._resync import ResyncPlan
from kinformer.informer._stats import InformerStats
from kinformer.informer._totals import ages_of_all, conditions_of_all, stats_of_all
from kinformer.meta import ANY, LATEST, Resource, is_at_least
from kinformer.reflector import Ages, Condition, Source
from kinformer.store import Indexer, Store, UnionStore
from kinformer.system_clock import SystemClock
from kinformer.tasks import open_task_group

__all__ = ["Cache"]


class Cache:
    """A store that is kept equal to its sources, and the listeners, which are told of all that changes in it.

    It knows records only. What is made of them, and who has added which handler, is for its views to know. Each source
    has a feed with a store of its own: so a relist of one namespace is of no concern to the others, and versions need
    not be compared across streams. A listener is told by all feeds; no two of them tell of one key.

    Args:
        source: What to read, at once or by namespace.
        queue: See ``SharedInformer``; so are all others.
    """

    def __init__(
        self,
        source: Source | Mapping[str, Source],
        *,
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
        pack = Compaction() if compact else None
        sources = _by_namespace(source)
        self.resource: Final[Resource] = next(iter(sources.values())).resource
        self.name: Final = name or str(self.resource)
        self.clock: Final[Clock] = clock or SystemClock()
        self.hooks: Final[Hooks] = guarded(hooks)
        self._listeners: Final[dict[Registration, Listener[Any]]] = {}
        self._plan: Final[ResyncPlan[Listener[Any]]] = ResyncPlan(resync)
        pumps: list[Pump] = []
        make_feed = partial(
            Feed,
            listeners=self._listeners.values(),
            queue=queue,
            indexers=dict(indexers),
            resync=partial(_show_again, self._plan, pumps, self.clock),
            check_snapshots=check_snapshots,
            definitions=definitions,
            clock=self.clock,
            random=random,
            hooks=self.hooks,
        )
        make_admission = partial(
            Admission, self.name, prune=prune, transform=transform, hooks=self.hooks, pack=pack
        )
        self._feeds: Final = {
            namespace: make_feed(
                each,
                name=self.name if len(sources) == 1 else f"{self.name} in {namespace}",
                admit=make_admission(namespace=namespace),
            )
            for namespace, each in sources.items()
        }
        pumps += (feed.pump for feed in self._feeds.values())
        self.store: Final[Store] = _union({namespace: feed.store for namespace, feed in self._feeds.items()})
        self._is_filled = False
        self._is_forgotten = False
        self._tasks: TaskGroup | None = None
        self._has_run = False
        self._is_closed = False

    @property
    def sources(self) -> int:
        """How many there are."""
        return len(self._feeds)

    @property
    def is_filled(self) -> bool:
        """Whether a complete list of every source is in the store; once true it stays so.

        Raises:
            ClosedError: It was, and has been forgotten.
        """
        if not self._is_filled:  # each access of a lister asks
            if self._is_forgotten:
                raise ClosedError(
                    f"informer {self.name} has been let go, and nothing of it is left: read it before that"
                )
            self._is_filled = all(feed.pump.is_filled for feed in self._feeds.values())
        return self._is_filled

    @property
    def is_synced(self) -> bool:
        """Whether it is in the listeners' backlogs too; once true it stays so."""
        return all(feed.pump.is_synced for feed in self._feeds.values())

    @property
    def is_closed(self) -> bool:
        """Whether it has ended, or was closed before it ran."""
        return self._is_closed

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """See ``SharedInformer``."""
        parts = self.namespace_conditions
        return conditions_of_all(parts) if len(parts) > 1 else next(iter(parts.values()))

    @property
    def namespace_conditions(self) -> Mapping[str, Mapping[str, Condition]]:
        """See ``SharedInformer``."""
        return {namespace: feed.conditions for namespace, feed in self._feeds.items()}

    @property
    def ages(self) -> Ages:
        """See ``SharedInformer``."""
        return ages_of_all(feed.ages for feed in self._feeds.values())

    @property
    def stats(self) -> InformerStats:
        """See ``SharedInformer``."""
        return stats_of_all(feed.stats for feed in self._feeds.values())

    async def wait_synced(self) -> None:
        """See ``SharedInformer``."""
        for feed in self._feeds.values():  # one after the other, since none becomes unsynced again
            await self._wait_synced(feed)

    async def wait_for(self, version: str, *, namespace: str | None, timeout: float) -> None:
        """See ``SharedInformer``."""
        waiting = deque(self._covering(namespace))
        with self.clock.move_on_after(timeout) as scope:
            while waiting:
                await self._wait_synced(waiting[0])
                while version not in {ANY, LATEST} and not _has_reached(waiting[0].store.version, version):
                    await self._wait_moved(waiting[0], f"at version {version}")
                waiting.popleft()
        if scope.cancelled_caught:
            late = waiting[0]
            found = f"at version {late.store.version}" if late.pump.is_synced else "not synced"
            raise TimeoutError(
                f"informer {late.name} is {found} after {timeout:g} s, and not at version {version}"
            )

    def add_indexers(self, indexers: Mapping[str, Indexer]) -> None:
        """See ``SharedInformer``."""
        for feed in self._feeds.values():
            feed.add_indexers(indexers)

    def add(self, listener: Listener[Any], resync: float | None) -> Registration:
        """Begin to tell a listener.

        Raises:
            ValueError: The resync period is negative.
        """
        now = self.clock.monotonic()
        self._plan.add(listener, resync, now)
        registration = Registration(listener)
        # From here on no await: it is told of what is in the store now, and of whatever changes that later.
        self._listeners[registration] = listener
        for feed in self._feeds.values():
            if feed.pump.is_filled:
                listener.begin(feed.store.content, now)
            if feed.pump.is_synced:
                listener.source_synced()
        if self._tasks is not None:
            self._tasks.start_soon(listener.run, name=f"{self.name}: {listener.name}")
        return registration

    def remove(self, registration: Registration) -> None:
        """Tell a listener no more; one that is not here is no matter."""
        listener = self._listeners.pop(registration, None)
        if listener is not None:
            listener.close()
            self._plan.remove(listener)

    def close(self) -> None:
        """Let ``run`` return."""
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()
        self._end()

    def forget(self) -> None:
        """Let go of all that has been read, once it is closed.

        It would be freed with the cache, which a cancelled task leaves to the garbage collector; and that does not see
        how much there is, since it does not look at records.
        """
        self._is_filled, self._is_forgotten = False, True
        for feed in self._feeds.values():
            feed.forget()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """See ``SharedInformer``."""
        if self._has_run:
            raise RuntimeError(f"informer {self.name} ran before: an informer runs once, make another")
        if self._is_closed:
            raise ClosedError(f"informer {self.name} was closed before it ran")
        self._has_run = True
        self._plan.start(self.clock.monotonic())
        try:
            async with open_task_group() as tasks:
                self._tasks = tasks
                for listener in self._listeners.values():
                    tasks.start_soon(listener.run, name=f"{self.name}: {listener.name}")
                tasks.start_soon(self._announce, task_status)
                for feed in self._feeds.values():
                    tasks.start_soon(feed.run, self._plan.check)
        finally:
            self._tasks = None
            self._end()

    async def _announce(self, task_status: TaskStatus[None]) -> None:
        with suppress(ClosedError):  # closed before its first list: run returns
            await self.wait_synced()
            task_status.started()

    def _covering(self, namespace: str | None) -> Sequence[Feed]:
        """The feeds that bring a namespace, or anything."""
        if namespace is None or "" in self._feeds:
            return tuple(self._feeds.values())
        if namespace not in self._feeds:
            known = ", ".join(self._feeds)
            raise ValueError(f"informer {self.name} does not watch namespace {namespace!r}, but {known}")
        return [self._feeds[namespace]]

    async def _wait_synced(self, feed: Feed) -> None:
        while not feed.pump.is_synced:
            await self._wait_moved(feed, "synced")

    async def _wait_moved(self, feed: Feed, goal: str) -> None:
        if self._is_closed:
            raise ClosedError(f"informer {feed.name} ended before it was {goal}")
        await feed.pump.wait_moved()

    def _end(self) -> None:
        self._is_closed = True
        for registration in tuple(self._listeners):
            self.remove(registration)
        for feed in self._feeds.values():
            feed.pump.announce()


def _by_namespace(source: Source | Mapping[str, Source]) -> Mapping[str, Source]:
    if not isinstance(source, Mapping):
        return {"": source}
    if not source or "" in source:
        raise ValueError(
            "sources by namespace need a namespace each, and at least one: a source of all goes alone"
        )
    resources = {each.resource for each in source.values()}
    if len(resources) > 1:
        raise ValueError(
            f"the sources of one informer are of one resource, not of {', '.join(sorted(map(str, resources)))}"
        )
    if not (resource := resources.pop()).namespaced:
        raise ValueError(f"{resource} is cluster-scoped: give its source alone, without namespaces")
    for namespace, each in source.items():
        if isinstance(each, ResourceReader) and each.namespace != namespace:
            raise ValueError(
                f"the source of namespace {namespace!r} reads {repr(each.namespace) if each.namespace else 'all'}: "
                f"give source.where(namespace={namespace!r})"
            )
    return source


def _union(stores: Mapping[str, Store]) -> Store:
    return UnionStore(stores) if len(stores) > 1 else next(iter(stores.values()))


def _show_again(plan: ResyncPlan[Listener[Any]], pumps: Iterable[Pump], clock: Clock) -> None:
    due = plan.due(clock.monotonic())
    for pump in pumps:
        pump.resync(due)


def _has_reached(version: str, floor: str) -> bool:
    try:
        return is_at_least(version, floor)
    except ValueError:
        return version == floor
