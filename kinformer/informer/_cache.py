"""Cache: what all views of one informer share: the feed, and the listeners that are told of what it brings."""

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from random import Random
from typing import Any, Final, Literal

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kinformer.clock import Clock
from kinformer.errors import ClosedError
from kinformer.hooks import Hooks, NoHooks
from kinformer.informer._admission import MANAGED_FIELDS, Admission, Prune, Transform
from kinformer.informer._compaction import Compaction
from kinformer.informer._feed import Feed
from kinformer.informer._listener import Listener
from kinformer.informer._pump import Pump
from kinformer.informer._registration import Registration
from kinformer.informer._resync import ResyncPlan
from kinformer.informer._stats import InformerStats
from kinformer.meta import ANY, LATEST, Resource, is_at_least
from kinformer.reflector import Ages, Condition, Source
from kinformer.store import Indexer, Store
from kinformer.system_clock import SystemClock
from kinformer.tasks import open_task_group

__all__ = ["Cache"]


class Cache:
    """A store that is kept equal to its source, and the listeners, which are told of all that changes in it.

    It knows records only. What is made of them, and who has added which handler, is for its views to know.

    Args:
        source: What to read.
        queue: See ``SharedInformer``; so are all others.
    """

    def __init__(
        self,
        source: Source,
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
        self.resource: Final[Resource] = source.resource
        self.name: Final = name or str(source.resource)
        self.clock: Final[Clock] = clock or SystemClock()
        self.hooks: Final[Hooks] = hooks or NoHooks()
        self._listeners: Final[dict[Registration, Listener[Any]]] = {}
        self._plan: Final[ResyncPlan[Listener[Any]]] = ResyncPlan(resync)
        pumps: list[Pump] = []
        self._feed: Final = Feed(
            source,
            self._listeners.values(),
            name=self.name,
            queue=queue,
            indexers=dict(indexers),
            admit=Admission(self.name, prune=prune, transform=transform, hooks=self.hooks, pack=pack),
            pack=pack,
            resync=partial(_show_again, self._plan, pumps, self.clock),
            check_snapshots=check_snapshots,
            definitions=definitions,
            clock=self.clock,
            random=random,
            hooks=self.hooks,
        )
        pumps.append(self._feed.pump)
        self._tasks: TaskGroup | None = None
        self._has_run = False
        self._is_closed = False

    @property
    def store(self) -> Store:
        """The records."""
        return self._feed.store

    @property
    def is_filled(self) -> bool:
        """Whether a complete list is in the store; once true it stays so."""
        return self._feed.pump.is_filled

    @property
    def is_synced(self) -> bool:
        """Whether it is in the listeners' backlogs too; once true it stays so."""
        return self._feed.pump.is_synced

    @property
    def is_closed(self) -> bool:
        """Whether it has ended, or was closed before it ran."""
        return self._is_closed

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """See ``SharedInformer``."""
        return self._feed.conditions

    @property
    def ages(self) -> Ages:
        """See ``SharedInformer``."""
        return self._feed.ages

    @property
    def stats(self) -> InformerStats:
        """See ``SharedInformer``."""
        return self._feed.stats

    async def wait_synced(self) -> None:
        """See ``SharedInformer``."""
        while not self.is_synced:
            await self._wait_moved(self._feed, "synced")

    async def wait_for(self, version: str, *, timeout: float = math.inf) -> None:
        """See ``SharedInformer``."""
        with self.clock.move_on_after(timeout) as scope:
            await self.wait_synced()
            while version not in {ANY, LATEST} and not _has_reached(self.store.version, version):
                await self._wait_moved(self._feed, f"at version {version}")
        if scope.cancelled_caught:
            found = f"at version {self.store.version}" if self.is_synced else "not synced"
            raise TimeoutError(
                f"informer {self.name} is {found} after {timeout:g} s, and not at version {version}"
            )

    def add_indexers(self, indexers: Mapping[str, Indexer]) -> None:
        """See ``SharedInformer``."""
        self._feed.add_indexers(indexers)

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
        if self._feed.pump.is_filled:
            listener.begin(self._feed.store.content, now)
        if self._feed.pump.is_synced:
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
                tasks.start_soon(self._feed.run, self._plan.check)
        finally:
            self._tasks = None
            self._end()

    async def _announce(self, task_status: TaskStatus[None]) -> None:
        with suppress(ClosedError):  # closed before its first list: run returns
            await self.wait_synced()
            task_status.started()

    async def _wait_moved(self, feed: Feed, goal: str) -> None:
        if self._is_closed:
            raise ClosedError(f"informer {self.name} ended before it was {goal}")
        await feed.pump.wait_moved()

    def _end(self) -> None:
        self._is_closed = True
        for registration in tuple(self._listeners):
            self.remove(registration)
        self._feed.pump.announce()


def _show_again(plan: ResyncPlan[Listener[Any]], pumps: Iterable[Pump], clock: Clock) -> None:
    due = plan.due(clock.monotonic())
    for pump in pumps:
        pump.resync(due)


def _has_reached(version: str, floor: str) -> bool:
    try:
        return is_at_least(version, floor)
    except ValueError:
        return version == floor
