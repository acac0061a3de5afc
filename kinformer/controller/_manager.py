"""Manager: servers, clients, informers, controllers and others, started in order and stopped in reverse."""

import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack
from functools import partial
from random import Random
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kinformer.client import Client
from kinformer.clock import Clock
from kinformer.controller._controller import Controller
from kinformer.controller._election import LeaderElection
from kinformer.controller._leadership import Leadership
from kinformer.controller._permissions import Permission, least
from kinformer.controller._preflight import look, tell
from kinformer.controller._preflight_report import Preflight
from kinformer.controller._runnables import Group, Runnable, Shutdown
from kinformer.controller._runner import ControllerRunner, Reach
from kinformer.controller._shard import Shard
from kinformer.controller._sharding import Sharding
from kinformer.controller._sources import Scope
from kinformer.controller._survey import survey
from kinformer.controller._watchdog import Watchdog
from kinformer.controller._worker import Item
from kinformer.hooks import Hooks, together
from kinformer.informer import InformerFactory
from kinformer.meta import Resource
from kinformer.observe import Address, Load, Metrics, Observation, Phase, Report
from kinformer.system_clock import SystemClock
from kinformer.tasks import open_task_group
from kinformer.workqueue import Snapshot

__all__ = ["Manager"]

logger = logging.getLogger("kinformer.controller")

_WARM_UP: Final = 60.0
"""How long a replica waits for all of its caches before it stands for election with those that it has."""


class Manager:
    """Runs controllers together: they share the client and the cache of each resource.

    Args:
        controllers: What to run; their names differ.
        clients: One client, or several by cluster name, in which case each controller reconciles the objects of all.
            They are used as they are: whoever made them closes them. None: a ``Client()`` is made for each run.
        election: How one of several replicas becomes the one that reconciles; None: this one does. Who stands by has
            its caches and queues filled already, so it takes over without a list. The Lease is in the first cluster.
        sharding: How several replicas share the keys, so that all of them reconcile, and each key is reconciled by one; in
            the place of an election. The Leases are in the first cluster; a key is one key in all clusters.
        servers: What starts before all else, and stops after it, such as whatever answers probes.
        others: What runs in each replica, from when the caches begin to fill.
        leading: What runs beside the workers, so with an election in the leader only; with sharding in each replica.
        grace: Seconds that all of them get to finish when a stop is asked, reconciles first, before they are cancelled;
            ``was_cut`` tells what was.
        loop_limit: Seconds for which the event loop may stand still before the log names the reconcile that holds it up
            (``Watchdog``); infinity: nobody watches. On a clock other than the machine's nobody does either.
        address: Where to show how it is doing, as ``":8080"``, ``"127.0.0.1:8080"`` or ``"[::1]:8080"``, over HTTP: at
            ``/healthz`` and ``/readyz`` for probes, ``/metrics`` for Prometheus, ``/debug`` for people, and ``/debug.json``.
            Port 0 takes a free one, which ``url`` tells. None: nowhere.
        metrics: What counts for Prometheus, for a registry of yours; with an address they are made where none are given.
        preflight: Whether to ask each cluster, while the caches begin to fill, what this may do there; see the method of that
            name. The log has what comes out, and at ERROR what is missing. Nothing is stopped by it: a permission that is granted
            later is used as soon as it is there.
        clock: The time; all parts go by it.
        random: Chance, for jitter.
        hooks: Hears of what happens in all parts, except for the requests of clients that are given, which have hooks
            of their own.

    Raises:
        TypeError: Something is no ``Controller``.
        ValueError: There is none, two have one name, one is not complete, the grace is negative, or the address is none.
    """

    def __init__(
        self,
        *controllers: Controller,
        clients: Client | Mapping[str, Client] | None = None,
        election: LeaderElection | None = None,
        sharding: Sharding | None = None,
        servers: Iterable[Runnable] = (),
        others: Iterable[Runnable] = (),
        leading: Iterable[Runnable] = (),
        grace: float = 30.0,
        loop_limit: float = 1.0,
        address: str | None = None,
        metrics: Metrics | None = None,
        preflight: bool = False,
        clock: Clock | None = None,
        random: Random | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        if not controllers:
            raise ValueError("a manager needs at least one controller")
        for controller in controllers:
            if not isinstance(controller, Controller):
                raise TypeError(f"a manager runs Controllers, not {controller!r}")
            controller.declaration()
        names = [controller.name for controller in controllers]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"controller names must differ, for logs and metrics; twice: {', '.join(twice)}")
        if not isinstance(election, LeaderElection | None):
            raise TypeError(f"election={election!r} must be a LeaderElection")
        if not isinstance(sharding, Sharding | None):
            raise TypeError(f"sharding={sharding!r} must be a Sharding")
        if election is not None and sharding is not None:
            raise ValueError("with an election one replica works, with sharding all do: give one of them")
        if not isinstance(grace, int | float):
            raise TypeError(f"grace={grace!r} must be a number of seconds")
        if not grace >= 0:
            raise ValueError(f"grace={grace} must be zero or more")
        if not loop_limit > 0:
            raise ValueError(
                f"loop_limit={loop_limit} must be more than 0; math.inf means that nobody watches"
            )
        self.controllers: Final = controllers
        self._clients = clients if clients is None or isinstance(clients, Mapping) else {"": clients}
        if self._clients is not None and not self._clients:
            raise ValueError("clients={} names no cluster: leave it out to use the current one")
        self.address: Final = address or ""
        self.election: Final = election
        self.sharding: Final = sharding
        self.grace: Final = grace
        self._has_preflight = preflight
        self._loop_limit = loop_limit
        self._clock = clock or SystemClock()
        self._random = random or Random()  # noqa: S311 -- jitter, no secret
        self.hooks: Final = hooks
        """Those that were given."""
        self._observation = (
            None
            if address is None
            else Observation(
                Address.parse(address), self.report, load=self._load, metrics=metrics, clock=self._clock
            )
        )
        if metrics is not None:
            metrics.show(self.report)
        own: tuple[Hooks, ...] = () if metrics is None else (metrics.tally,)
        self._own_hooks = together(*own) if self._observation is None else self._observation.hooks
        self._hooks = together(hooks, self._own_hooks)
        observers: tuple[Runnable, ...] = () if self._observation is None else (self._observation,)
        self._runnables = ((*observers, *servers), tuple(others), tuple(leading))
        self._groups: tuple[Group, ...] = ()
        self._shutdown = Shutdown(grace)
        self._runners: list[ControllerRunner] = []
        self._candidacy: anyio.CancelScope | None = None  # while we stand by
        self._leadership: Leadership | None = None  # while we lead
        self._shard: Shard | None = None  # while we share keys with others
        self._is_running = False
        self._is_stopping = False

    @property
    def has_clients(self) -> bool:
        """Whether clients were given, so that none is made for a run."""
        return self._clients is not None

    @property
    def permissions(self) -> tuple[Permission, ...]:
        """The least that the account of the program needs: for its controllers, and for the election or the sharding."""
        contest = self.election or self.sharding
        return least((*self._declared, *(() if contest is None else contest.permissions)))

    @property
    def waits(self) -> Mapping[str, Sequence[str]]:
        """What the start still waits for, in words by controller; empty when all run, or none does."""
        return {runner.name: runner.waits for runner in self._runners if runner.waits}

    @property
    def queues(self) -> Mapping[str, Snapshot[Item]]:
        """What each controller's queue holds, by the controller's name: waiting, running, delayed and parked keys; empty when none runs."""
        return {runner.name: runner.queue for runner in self._runners}

    def report(self) -> Report:
        """Everything that it shows of itself, as plain data: caches, queues, leases. Quick, since long lists are cut."""
        contest, right = self.election or self.sharding, self._leadership or self._shard
        return survey(self._phase, self._runners, contest, right, clock=self._clock)

    def _load(self) -> Mapping[str, Load]:
        return {runner.name: Load(runner.gauges.depth, runner.active) for runner in self._runners}

    @property
    def url(self) -> str:
        """Where ``address`` is reached, without a slash at its end; ``""`` while nothing listens there."""
        return "" if self._observation is None else self._observation.url

    @property
    def was_cut(self) -> tuple[str, ...]:
        """What the last run had to cancel at its end, since the grace was over: reconciles with their keys, and others by name."""
        return self._shutdown.was_cut

    async def preflight(self, client: Client, *, namespace: str = "") -> Preflight:
        """Ask a cluster whether each of ``permissions`` is granted, and how much its caches are going to hold; changes nothing.

        One SelfSubjectAccessReview for each verb, and one LIST of a single object for each cache, eight at a time and ten seconds
        in all. What cannot be asked, as where reviews are refused, is told in what it gives.

        Args:
            client: Of the cluster, and of the account that is asked about.
            namespace: Where everything namespaced stays, whatever is declared; ``""`` for no such limit.
        """
        return await look(client, self.permissions, self._caches, clock=self._clock, namespace=namespace)

    @property
    def _declared(self) -> tuple[Permission, ...]:
        return least(each for controller in self.controllers for each in controller.permissions)

    @property
    def _caches(self) -> Iterable[tuple[Resource, Scope]]:
        return dict.fromkeys(each for controller in self.controllers for each in controller.scopes.items())

    def stop(self) -> None:
        """Ask ``run`` to return: no key is taken any more, and what runs gets the grace to end, in the reverse order of its start.

        May be called before ``run``, which then returns at once, and more than once. From another thread, use the
        loop's ``call_soon_threadsafe``.
        """
        self._is_stopping = True
        if not self._is_running:
            return
        now = self._clock.monotonic()
        self._shutdown.begin(now)
        for group in self._groups:
            group.stop()
        if self._candidacy is not None:
            self._candidacy.cancel()
        if self._shard is not None:
            self._shard.retire()
        for runner in self._runners:
            runner.stop(self._shutdown.left(now))

    async def run(
        self, *, client: Client | None = None, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Run until ``stop``, until a part fails, or until cancelled, which cancels running reconciles at once.

        ``started()`` is called when all caches are synced and the workers run, or when a stop was asked before that;
        with an election or sharding, when this replica stands by. After the end the manager may run again.

        Args:
            client: The client to use, where none was given to the constructor.
            task_status: See above.

        Raises:
            ListenError: The address is in use, or cannot be listened on.
            LeadershipLostError: The lease could not be renewed; the reconciles that ran were cancelled. Whoever restarts
                the program makes it stand by again.
            MembershipLostError: Likewise, with sharding.
            RuntimeError: The manager runs already.
            ValueError: It has clients of its own, and another one is given.
            Exception: What a part failed with.
        """
        if client is not None and self.has_clients:
            raise ValueError("this manager was made with clients of its own: give it none to run with")
        if self._is_running:
            raise RuntimeError("this manager runs already")
        self._is_running = True
        try:
            async with AsyncExitStack() as resources:
                if self._loop_limit < math.inf and isinstance(self._clock, SystemClock):
                    resources.enter_context(Watchdog(limit=self._loop_limit, hooks=self._hooks))
                await self._run(await self._opened(client, resources), task_status)
        finally:
            self._is_running = self._is_stopping = False
            self._groups = ()
        self._report()

    async def _opened(self, client: Client | None, resources: AsyncExitStack) -> Mapping[str, Client]:
        if self._clients is not None:
            return {name: client.told_to(self._own_hooks) for name, client in self._clients.items()}
        if client is not None:
            client = client.told_to(self._own_hooks)
        else:
            made = Client(clock=self._clock, random=self._random, hooks=self._hooks)
            client = await resources.enter_async_context(made)
        return {"": client}

    def _report(self) -> None:
        spent = self._shutdown.spent(self._clock.monotonic())
        if self.was_cut:
            logger.warning("stopped after %.1f s; this was cut short: %s", spent, ", ".join(self.was_cut))
        else:
            logger.info("stopped in %.1f s", spent)

    async def _run(self, clients: Mapping[str, Client], task_status: TaskStatus[None]) -> None:
        self._shutdown = Shutdown(self.grace)
        self._groups = servers, others, _ = tuple(Group(each, clock=self._clock) for each in self._runnables)
        if self._is_stopping:
            self.stop()
        async with servers.running(self._shutdown), open_task_group() as informers:
            clusters: dict[str, Reach] = {}
            for name, client in clients.items():
                factory = InformerFactory(client, clock=self._clock, random=self._random, hooks=self._hooks)
                clusters[name] = Reach(client, factory)
                informers.start_soon(factory.run)
                if self._has_preflight:
                    asked = (
                        self.permissions if len(clusters) == 1 else self._declared
                    )  # the election is in the first
                    informers.start_soon(partial(tell, name, client, asked, self._caches, clock=self._clock))
            async with others.running(self._shutdown):
                await self._run_controllers(clusters, task_status)
            informers.cancel_scope.cancel()

    async def _run_controllers(self, clusters: Mapping[str, Reach], task_status: TaskStatus[None]) -> None:
        self._runners = [
            ControllerRunner(controller, clusters, clock=self._clock, random=self._random, hooks=self._hooks)
            for controller in self.controllers
        ]
        try:
            if self._is_stopping:
                self.stop()
            with ExitStack() as opened:
                for runner in self._runners:
                    opened.callback(runner.close)
                async with open_task_group() as filling:
                    for runner in self._runners:
                        filling.start_soon(runner.fill)
                    contest = self.election or self.sharding
                    if contest is None:
                        await self._work(task_status)
                    else:
                        await self._stand_for(contest, clusters, task_status)
        finally:
            for runner in self._runners:
                self._shutdown.cut(runner.was_cut)
            self._runners, self._candidacy, self._leadership, self._shard = [], None, None, None

    async def _work(self, task_status: TaskStatus[None], fence: Leadership | Shard | None = None) -> None:
        async with self._groups[-1].running(self._shutdown), open_task_group() as tasks:
            for runner in self._runners:
                tasks.start_soon(runner.work, fence, self._shard)
            for runner in self._runners:
                await runner.wait_settled()
            task_status.started()

    async def _stand_for(
        self, contest: LeaderElection | Sharding, clusters: Mapping[str, Reach], task_status: TaskStatus[None]
    ) -> None:
        with self._clock.move_on_after(_WARM_UP):
            for runner in self._runners:
                await runner.wait_filled()
        task_status.started()
        client = next(iter(clusters.values())).client
        with anyio.CancelScope() as candidacy:
            self._candidacy = candidacy
            if self._is_stopping:
                return
            async with self._entered(contest, client) as right:
                self._candidacy = None  # from now on a stop is graceful
                if isinstance(right, Shard):
                    self._shard = right
                else:
                    self._leadership = right
                await self._work(anyio.TASK_STATUS_IGNORED, right if contest.is_fenced else None)

    def _entered(
        self, contest: LeaderElection | Sharding, client: Client
    ) -> AbstractAsyncContextManager[Leadership | Shard]:
        if isinstance(contest, Sharding):
            return contest.join(client, clock=self._clock, hooks=self._hooks)
        return contest.lead(client, clock=self._clock, random=self._random, hooks=self._hooks)

    @property
    def _phase(self) -> Phase:
        if self._is_stopping:
            return "stopping"
        if not self._runners:
            return "starting"
        if any(runner.waits for runner in self._runners):
            return "filling"
        has_contest = self.election is not None or self.sharding is not None
        has_right = self._leadership is not None or self._shard is not None
        return "standing by" if has_contest and not has_right else "running"
