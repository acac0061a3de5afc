"""Cachers: the watch caches of a server."""

from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from random import Random

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kinformer.apiserver.cacher._budget import TimeBudget
from kinformer.apiserver.cacher._cacher import Cacher
from kinformer.apiserver.cacher._dispatch import Dispatcher
from kinformer.apiserver.cacher._event import ReadAttributes
from kinformer.apiserver.cacher._metrics import Metrics
from kinformer.apiserver.cacher._options import CacheOptions
from kinformer.apiserver.cacher._support import ProgressSupport
from kinformer.apiserver.storage import KV
from kinformer.clock import Clock
from kinformer.tasks import open_task_group

__all__ = ["Cached", "Cachers", "Following"]


@dataclass(frozen=True, slots=True)
class Cached:
    """A resource as its cache must know it.

    Attributes:
        key: What it is known by; a cache is kept as long as this is served.
        group: The API group, ``""`` for core.
        resource: The plural name.
        prefix: What its keys in the storage begin with.
        read: Reads labels and fields of its objects.
    """

    key: Hashable
    group: str
    resource: str
    prefix: str
    read: ReadAttributes


@dataclass(frozen=True, slots=True)
class Following:
    """A cache, and whom it tells.

    Attributes:
        cacher: The cache.
        dispatcher: Brings its events to watchers, who join it.
    """

    cacher: Cacher
    dispatcher: Dispatcher


class Cachers:
    """One cache for each resource that somebody has asked for, made then.

    ``run`` owns their tasks. While it does not run there are no caches, and everything is read from the storage.

    Args:
        kv: The storage.
        clock: What all times are measured on.
        random: Spreads the bookmarks of watchers.
        options: What can be set.

    Attributes:
        progress: Whether the storage tells how far its watches have come.
        options: What was set.
    """

    def __init__(
        self, kv: KV, *, clock: Clock, random: Random | None = None, options: CacheOptions | None = None
    ) -> None:
        self.options = options or CacheOptions()
        self.progress = ProgressSupport(kv, clock=clock, known=self.options.progress_supported)
        self._kv = kv
        self._clock = clock
        self._random = random or Random()  # noqa: S311 -- nothing secret is drawn from it
        self._followed: dict[Hashable, Following] = {}
        self._private: dict[Cacher, Hashable] = {}
        self._metrics: dict[tuple[str, str], Metrics] = {}
        self._tasks: TaskGroup | None = None

    def __len__(self) -> int:
        """How many caches there are."""
        return len(self._followed)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Have caches until cancelled; ``started()`` at once."""
        try:
            async with open_task_group() as self._tasks:
                task_status.started()
                await anyio.sleep_forever()
        finally:
            self._tasks = None
            for following in self._followed.values():
                following.cacher.close()
            self._followed.clear()

    def of(self, cached: Cached) -> Cacher | None:
        """The cache of a resource, which may not be ready yet; ``None`` while there are no caches."""
        if self._tasks is None:
            return None
        if cached.key not in self._followed:
            following = self._followed[cached.key] = self._make(cached)
            self._tasks.start_soon(following.cacher.run)
        return self._followed[cached.key].cacher

    @asynccontextmanager
    async def follow(self, cached: Cached) -> AsyncIterator[Following]:
        """The cache of a resource; while there are no caches, one that lasts as long as the block."""
        if self.of(cached) is not None:
            yield self._followed[cached.key]
            return
        following = self._make(cached)
        self._private[following.cacher] = cached.key
        async with open_task_group() as tasks:
            tasks.start_soon(following.cacher.run)
            try:
                yield following
            finally:
                del self._private[following.cacher]
                following.cacher.close()

    def keep(self, is_served: Callable[[Hashable], bool]) -> None:
        """End the caches of what is not served any more, once they have told what has become of it."""
        for key in [key for key in self._followed if not is_served(key)]:
            self._followed.pop(key).cacher.retire()
        for cacher, key in self._private.items():
            if not is_served(key):
                cacher.retire()

    def _make(self, cached: Cached) -> Following:
        metrics = self.metrics_of(cached)
        cacher = Cacher(
            self._kv,
            cached.prefix,
            cached.read,
            metrics=metrics,
            clock=self._clock,
            options=self.options,
        )
        dispatcher = Dispatcher(
            cached.prefix,
            clock=self._clock,
            random=self._random,
            metrics=metrics,
            ask=cacher.request_progress,
            budget=TimeBudget(self._clock.monotonic(), most=self.options.dispatch_budget),
        )
        cacher.dispatcher = dispatcher
        return Following(cacher, dispatcher)

    def metrics_of(self, cached: Cached) -> Metrics:
        """Where what concerns a resource is counted, for all its versions and for every cache that it has had."""
        return self._metrics.setdefault(
            (cached.group, cached.resource), Metrics(cached.group, cached.resource)
        )

    def metrics(self) -> Mapping[str, float]:
        """What has been counted, each series as Prometheus writes it, with its value; a copy."""
        found: dict[str, float] = {}
        for metrics in self._metrics.values():
            found.update(metrics.values())
        return found
