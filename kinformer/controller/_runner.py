"""ControllerRunner: one run of one controller: its caches, its queue and its workers, over one or more clusters."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from random import Random
from secrets import token_hex
from typing import Final, NamedTuple

import anyio

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.controller._consistency import Fence, WriteLog
from kinformer.controller._controller import Controller
from kinformer.controller._history import History, Reason, reason_of
from kinformer.controller._reconcile import Cache, Request
from kinformer.controller._recorder import EventRecorder
from kinformer.controller._shard import Shard
from kinformer.controller._sources import EventSource, Scope, priority_of
from kinformer.controller._takeover import Spring, Takeover
from kinformer.controller._triggers import Events, cluster_of
from kinformer.controller._worker import Item, Workers
from kinformer.errors import ClosedError
from kinformer.hooks import Hooks, KeyTriggered, NoHooks
from kinformer.informer import InformerFactory, Notification, Registration, SharedInformer
from kinformer.meta import Object, ObjectKey, Resource
from kinformer.reflector import ConditionType
from kinformer.tasks import open_task_group
from kinformer.workqueue import (
    LOW_PRIORITY,
    Gauges,
    PriorityReady,
    Snapshot,
    WorkQueue,
    controller_default,
)

__all__ = ["ControllerRunner", "Reach"]

logger = logging.getLogger("kinformer.controller")

_TRIGGERED: Final = Reason("triggered")
_TAKEN_OVER: Final = Reason("taken over")

_PATIENCE: Final = 10.0
"""How long a cache may take to fill before the log says so, and how often it says so again."""


@dataclass(frozen=True, slots=True)
class Reach:
    """The means to work with one cluster."""

    client: Client
    informers: InformerFactory


class _Sight(NamedTuple):
    """A cluster as reconcilers have it: a client whose writes are known, and caches that show them."""

    client: Client
    log: WriteLog
    caches: Mapping[Resource, Cache]
    recorder: EventRecorder


class ControllerRunner:
    """Runs a controller once: ``fill`` its caches and queue, ``work`` to the end, ``stop`` to ask for it, ``close``.

    The two may run side by side, and ``work`` begins when ``fill`` is done. A replica that stands by fills, and does
    not work, so that it has nothing to wait for when it becomes the leader.

    Args:
        controller: What to run.
        clusters: Where, by name.
        clock: Measures timeouts, delays and the grace.
        random: For the jitter of delays.
        hooks: Hears of what happens.

    Raises:
        ValueError: The controller is not complete.
    """

    def __init__(
        self,
        controller: Controller,
        clusters: Mapping[str, Reach],
        *,
        clock: Clock,
        random: Random,
        hooks: Hooks,
    ) -> None:
        self._declared = controller.declaration()
        self._clusters = clusters
        self._random = random
        self._hooks = hooks
        self._consistency = controller.consistency
        self._sights: dict[str, _Sight] = {}
        self._clock = clock
        self._caches: dict[str, dict[Resource, SharedInformer[Object]]] = {}
        self._registrations: list[Registration] = []
        self._springs: list[Spring] = []
        self._shard: Shard | None = None
        self._queue: WorkQueue[Item] = WorkQueue(
            controller.name,
            ready=PriorityReady(),
            limiter=controller.limiter or controller_default(random, clock=clock),
            clock=clock,
            hooks=hooks,
        )
        self._history: History[Item] = History()
        self._workers = Workers(
            controller.name,
            self._declared.reconcile,
            self._queue,
            self._request,
            self._history,
            count=controller.workers,
            timeout=controller.timeout,
            clock=clock,
            hooks=hooks,
        )
        self._is_heard = type(hooks) is not NoHooks
        self._run_id = token_hex(4)
        self._calls = count(1)
        self._resources = ExitStack()
        self._filled = anyio.Event()
        self._settled = anyio.Event()
        self._syncing: anyio.CancelScope | None = None
        self._is_stopping = False

    @property
    def name(self) -> str:
        """The controller's name."""
        return self._declared.name

    @property
    def resource(self) -> Resource:
        """What it reconciles."""
        return self._declared.watched

    @property
    def workers(self) -> int:
        """How many keys it reconciles at once."""
        return self._workers.count

    @property
    def active(self) -> int:
        """How many keys it is reconciling."""
        return len(self._workers.running)

    @property
    def queue(self) -> Snapshot[Item]:
        """What its queue holds."""
        return self._queue.snapshot()

    @property
    def gauges(self) -> Gauges:
        """Its queue in numbers."""
        return self._queue.gauges()

    def held(self, most: int) -> Snapshot[Item]:
        """What its queue holds, of each kind at most so many keys."""
        return self._queue.snapshot(most)

    def failures(self, item: Item) -> tuple[int, str]:
        """How often a key has failed in a row, and its last error in words."""
        return self._queue.requeues(item), self._history.last_error(item)

    def caches(self) -> Iterator[tuple[str, Scope, SharedInformer[Object]]]:
        """Its caches, each with its cluster's name and what it holds."""
        for cluster, caches in self._caches.items():
            for resource, informer in caches.items():
                yield cluster, self._declared.scopes[resource], informer

    @property
    def was_cut(self) -> tuple[str, ...]:
        """Whose reconciles were cancelled since the grace was over."""
        return tuple(f"{self.name}: reconcile of {item}" for item in self._workers.was_cut)

    async def wait_filled(self) -> None:
        """Wait until the caches are synced and every object is in the queue, or until the run is over without that."""
        await self._filled.wait()

    async def wait_settled(self) -> None:
        """Wait until the workers run, or until the run is over without that."""
        await self._settled.wait()

    def stop(self, grace: float) -> None:
        """Take no more keys; cancel the reconciles that still run after ``grace`` seconds. Then ``work`` returns."""
        self._is_stopping = True
        if self._syncing is not None:
            self._syncing.cancel()
        self._workers.stop(grace)

    def close(self) -> None:
        """Let go of the caches and the queue; whoever waits for us does so no more."""
        self._resources.close()
        self._queue.shut_down()
        self._filled.set()
        self._settled.set()

    async def fill(self) -> None:
        """Fill the caches, and put every object of the initial lists into the queue.

        A cache that does not fill is waited for as long as it takes, with a warning each 10 s that tells its
        conditions.
        """
        if self._is_stopping:
            self.close()
            return
        for cluster, reach in self._clusters.items():
            self._open(cluster, reach, self._resources)
        with anyio.CancelScope() as self._syncing:
            await self._wait_synced()
        self._syncing = None
        self._filled.set()

    async def work(self, fence: Fence | None = None, shard: Shard | None = None) -> None:
        """Reconcile until stopped, once the caches are filled; cancellation cancels the reconciles that run.

        Args:
            fence: Asked right before each write of a reconciler.
            shard: Which keys are ours; ``None`` for all.
        """
        try:
            await self._filled.wait()
            for sight in self._sights.values():
                sight.log.fence = fence
            if not self._is_stopping:
                async with self._recording(), open_task_group() as events:
                    if shard is not None:
                        self._shard = self._workers.gate = shard
                        events.start_soon(Takeover(shard, self._springs, self._take_over).run)
                    async with anyio.create_task_group() as tasks:
                        await tasks.start(self._workers.run)
                        logger.info("%s: caches are synced, reconciling", self.name)
                        for listen in self._declared.events:
                            events.start_soon(self._listen, listen)
                        self._settled.set()
                    events.cancel_scope.cancel()
        finally:
            self.close()

    @asynccontextmanager
    async def _recording(self) -> AsyncIterator[None]:
        """Write events around a block, and for a while after it, so that what was told last is written too."""
        async with open_task_group() as tasks:
            for sight in self._sights.values():
                tasks.start_soon(sight.recorder.run)
            yield
            for sight in self._sights.values():
                sight.recorder.close()

    async def _listen(self, events: Events) -> None:
        await events(self._trigger)

    def _trigger(self, key: ObjectKey, /, *, cluster: str = "", delay: float = 0.0) -> None:
        item = Item(cluster_of(key, cluster, self._clusters), key)
        if self._shard is not None and not self._shard.owns(key):
            return
        self._note(item, _TRIGGERED)
        if delay:
            self._queue.add_after(item, delay)
        else:
            self._queue.add(item)

    def _take_over(self, cluster: str, key: ObjectKey) -> None:
        item = Item(cluster, key)
        self._history.add(item, _TAKEN_OVER)
        self._queue.add(item, priority=LOW_PRIORITY)

    def _open(self, cluster: str, reach: Reach, resources: ExitStack) -> None:
        caches = self._caches[cluster] = {}
        log = WriteLog(self.name, self._consistency, fence=None, clock=self._clock, hooks=self._hooks)
        seen: dict[Resource, Cache] = {}
        for resource, scope in self._declared.scopes.items():
            informer = caches[resource] = resources.enter_context(
                reach.informers.acquire(resource, namespaces=scope.namespaces, labels=scope.labels)
            )
            seen[resource] = log.cover(informer, scope)
        for informer, registration in log.listen():
            resources.callback(informer.remove_handler, registration)
        recorder = EventRecorder(
            reach.client, self.name, clock=self._clock, random=self._random, hooks=self._hooks
        )
        self._sights[cluster] = _Sight(reach.client.witnessed(log), log, seen, recorder)
        for source in self._declared.sources:
            informer = caches[source.resource]
            registration = informer.add_handler(self._enqueuer(cluster, source), name=self.name)
            resources.callback(informer.remove_handler, registration)
            self._registrations.append(registration)
            self._springs.append(Spring(cluster, source, informer))

    def _enqueuer(self, cluster: str, source: EventSource) -> Callable[[Notification[Object]], None]:
        def enqueue(notification: Notification[Object]) -> None:
            priority = priority_of(notification)
            reason = reason_of(source.resource, notification)
            for key in source.keys_of(notification):
                if self._shard is not None and not self._shard.owns(key):
                    continue  # whose it is hears of it as well
                item = Item(cluster, key)
                self._note(item, reason)
                self._queue.add(item, priority=priority)

        return enqueue

    def _note(self, item: Item, reason: Reason) -> None:
        self._history.add(item, reason)
        if self._is_heard:  # not for each event where nobody listens
            resource, name = str(reason.resource or ""), str(reason.key or "")
            self._hooks.key_triggered(
                KeyTriggered(self.name, item.cluster, item.key, reason.cause, resource, name)
            )

    async def _wait_synced(self) -> None:
        while True:
            with self._clock.move_on_after(_PATIENCE) as patience:
                await self._hear_of_all()
            if not patience.cancelled_caught:
                return
            self._complain()

    async def _hear_of_all(self) -> None:
        try:
            for caches in self._caches.values():
                for informer in caches.values():
                    await informer.wait_synced()
            for registration in self._registrations:
                await registration.wait_synced()
        except ClosedError:  # an informer has failed; its own error, which is on its way, is what ends us
            await anyio.sleep_forever()

    @property
    def waits(self) -> Sequence[str]:
        """What the start still waits for, in words; empty once the caches and the queue are filled."""
        if self._filled.is_set():
            return ()
        caches = [
            f"its cache of {resource}{cluster and f' in {cluster}'}: {_in_words(informer)}"
            for cluster, caches in self._caches.items()
            for resource, informer in caches.items()
            if not informer.is_synced
        ]
        return caches or ["its handlers to hear of all objects"]

    def _complain(self) -> None:
        for what in self.waits:
            logger.warning("%s: still waits for %s", self.name, what, extra={"controller": self.name})

    def _request(self, item: Item, attempt: int) -> Request:
        sight = self._sights[item.cluster]
        return Request(
            item.cluster,
            item.key,
            sight.client,
            attempt,
            self._history.last_error(item),
            self._history.take(item),
            f"{self._run_id}-{next(self._calls)}",
            sight.caches,
            sight.recorder,
        )


def _in_words(informer: SharedInformer[Object]) -> str:
    troubles = [
        f"{ConditionType(name).meaning} ({condition.message})"
        for name, condition in informer.conditions.items()
        if condition.status
    ]
    return "; ".join(troubles) or "no complete list has arrived"
