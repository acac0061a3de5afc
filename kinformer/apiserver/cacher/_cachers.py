"""Cachers: the watch caches of a server."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

import anyio
from anyio.abc import TaskGroup, TaskStatus

from kinformer.apiserver.cacher._cacher import Cacher
from kinformer.apiserver.cacher._event import ReadAttributes
from kinformer.apiserver.cacher._metrics import Metrics
from kinformer.apiserver.cacher._options import CacheOptions
from kinformer.apiserver.cacher._support import ProgressSupport
from kinformer.apiserver.storage import KV
from kinformer.clock import Clock
from kinformer.tasks import open_task_group

__all__ = ["Cached", "Cachers"]


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


class Cachers:
    """One cache for each resource that somebody has asked for, made then.

    ``run`` owns their tasks. While it does not run there are no caches, and everything is read from the storage.

    Args:
        kv: The storage.
        clock: What all times are measured on.
        options: What can be set.

    Attributes:
        progress: Whether the storage tells how far its watches have come.
        options: What was set.
    """

    def __init__(self, kv: KV, *, clock: Clock, options: CacheOptions | None = None) -> None:
        self.options = options or CacheOptions()
        self.progress = ProgressSupport(kv, clock=clock, known=self.options.progress_supported)
        self._kv = kv
        self._clock = clock
        self._cachers: dict[Hashable, Cacher] = {}
        self._metrics: dict[tuple[str, str], Metrics] = {}
        self._tasks: TaskGroup | None = None

    def __len__(self) -> int:
        """How many caches there are."""
        return len(self._cachers)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Have caches until cancelled; ``started()`` at once."""
        try:
            async with open_task_group() as self._tasks:
                task_status.started()
                await anyio.sleep_forever()
        finally:
            self._tasks = None
            self.keep(lambda _: False)

    def of(self, cached: Cached) -> Cacher | None:
        """The cache of a resource, which may not be ready yet; ``None`` while there are no caches."""
        if self._tasks is None:
            return None
        cacher = self._cachers.get(cached.key)
        if cacher is None:
            cacher = self._cachers[cached.key] = Cacher(
                self._kv,
                cached.prefix,
                cached.read,
                metrics=self.metrics_of(cached),
                clock=self._clock,
                options=self.options,
            )
            self._tasks.start_soon(cacher.run)
        return cacher

    def keep(self, is_served: Callable[[Hashable], bool]) -> None:
        """End the caches of what is not served any more, and with them their watchers."""
        for key in [key for key in self._cachers if not is_served(key)]:
            self._cachers.pop(key).close()

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
