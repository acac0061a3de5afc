"""Two managers with one election, against the embedded apiserver: one works, the other stands by with all it needs."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from kinformer.controller import Controller, LeaderElection, Manager, Request
from kinformer.errors import LeadershipLostError
from kinformer.hooks import NoHooks, ReflectorListed
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock
from kinformer.testing import Cluster, config_map, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")
LEASES = Resource.builtin("Lease")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")


class Replica(NoHooks):
    """A manager with a controller of config maps, and what it has done."""

    def __init__(self, cluster: Cluster, name: str, *others: Controller) -> None:
        self.seen: list[str] = []
        self.lists = 0
        self.running = 0
        self.gate: anyio.Event | None = None
        self.error: Exception | None = None
        controller = Controller("maps", self.reconcile).watches(CONFIG_MAPS)
        self.manager = Manager(
            controller,
            *others,
            clients=cluster.client,
            election=LeaderElection("operator", identity=name),
            clock=cluster.clock,
            hooks=self,
        )

    async def reconcile(self, request: Request) -> None:
        self.seen.append(request.key.name)
        self.running += 1
        try:
            if self.gate is not None:
                await self.gate.wait()
        finally:
            self.running -= 1

    def reflector_listed(self, event: ReflectorListed, /) -> None:
        self.lists += 1

    @asynccontextmanager
    async def runs(self) -> AsyncIterator[None]:
        """Run it around a block: from when it stands by until it has stopped."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._run)
            yield
            if self.error is None:
                self.manager.stop()

    async def _run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        self.error = None
        try:
            await self.manager.run(task_status=task_status)
        except LeadershipLostError as error:
            self.error = error


async def depose(cluster: Cluster) -> None:
    await cluster.client.resource(LEASES).patch("default/operator", {"spec": {"holderIdentity": "other"}})
    await cluster.clock.advance(2)


async def test_who_stands_by_has_its_cache_and_queue_and_takes_over_without_a_list() -> None:
    async with Cluster(config_map("x"), config_map("y")) as cluster:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        async with a.runs():
            await cluster.until(lambda: sorted(a.seen) == ["x", "y"])
            async with b.runs():
                await cluster.clock.advance(60)
                assert b.seen == []
                assert b.lists == 1
                a.manager.stop()
                await cluster.clock.advance(5)
                assert sorted(b.seen) == ["x", "y"]
                assert b.lists == 1


async def test_a_lost_lease_cancels_what_runs_and_ends_the_manager() -> None:
    async with Cluster(config_map("x")) as cluster:
        a = Replica(cluster, "a")
        a.gate = anyio.Event()
        async with a.runs():
            await cluster.until(lambda: a.running == 1)
            await depose(cluster)
            await settle()
            assert a.running == 0
    assert isinstance(a.error, LeadershipLostError)


async def test_a_stop_lets_what_runs_finish_before_the_lease_is_released() -> None:
    async with Cluster(config_map("x")) as cluster:
        a = Replica(cluster, "a")
        a.gate = anyio.Event()
        async with a.runs():
            await cluster.until(lambda: a.running == 1)
            a.manager.stop()
            await cluster.clock.advance(20)
            assert a.running == 1
            assert (await cluster.client.resource(LEASES).get("default/operator"))["spec"][
                "holderIdentity"
            ] == "a"
            a.gate.set()
            await settle()
            assert (
                "holderIdentity"
                not in (await cluster.client.resource(LEASES).get("default/operator"))["spec"]
            )


async def test_who_is_stopped_while_it_stands_by_never_works() -> None:
    async with Cluster(config_map("x")) as cluster:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        async with a.runs():
            await settle()
            async with b.runs():
                await cluster.clock.advance(5)
            await cluster.clock.advance(60)
        assert b.seen == []


async def test_a_stop_at_any_moment_ends_the_run_and_frees_the_lease() -> None:
    async with Cluster(config_map("x")) as cluster:
        for turns in range(0, 80, 2):
            a = Replica(cluster, f"a{turns}")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(a.manager.run)
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                a.manager.stop()
        async with Replica(cluster, "last").runs():
            await settle()
            lease = await cluster.client.resource(LEASES).get("default/operator")
            assert lease["spec"]["holderIdentity"] == "last", "at once: nobody else held it"


async def test_a_cache_that_does_not_fill_does_not_keep_the_others_from_leading_for_ever() -> None:
    async def reconcile(request: Request) -> None: ...

    async with Cluster(config_map("x")) as cluster:
        a = Replica(cluster, "a", Controller("sites", reconcile).watches(WEBSITES))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(a.manager.run)
            await cluster.clock.advance(59)
            assert a.seen == []
            await cluster.clock.advance(2)
            assert a.seen == ["x"]
            a.manager.stop()


async def test_who_is_stopped_while_its_caches_fill_does_not_stand_for_election_any_more() -> None:
    async def reconcile(request: Request) -> None: ...

    async with Cluster(config_map("x")) as cluster:
        a = Replica(cluster, "a")
        b = Replica(cluster, "b", Controller("sites", reconcile).watches(WEBSITES))
        async with a.runs():
            await settle()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(b.manager.run)
                await cluster.clock.advance(5)
                b.manager.stop()
                await settle()
                assert not b.manager.queues, "it has ended, though another one leads"


async def test_after_its_term_a_manager_may_run_again() -> None:
    async with Cluster(config_map("x")) as cluster:
        a = Replica(cluster, "a")
        async with a.runs():
            await settle()
            await depose(cluster)
        async with a.runs():
            await cluster.clock.advance(20)
            assert a.seen == ["x", "x"]


@pytest.mark.parametrize("turns", [0, 3, 9, 20, 50])
async def test_cancelled_it_leaves_the_lease_free(turns: int) -> None:
    async with Cluster(config_map("x")) as cluster:
        a = Replica(cluster, "a")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(a.manager.run)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        found = (await cluster.client.resource(LEASES).list(namespace="default")).items
        assert ["holderIdentity" in lease["spec"] for lease in found] in ([], [False])


async def test_a_lease_that_is_lost_while_a_thread_reconciles_refuses_its_writes_and_waits_for_it() -> None:
    began, may_go_on = threading.Event(), threading.Event()
    errors: list[BaseException] = []

    def reconcile(request: Request) -> None:
        began.set()
        may_go_on.wait()
        write = request.client.resource(CONFIG_MAPS).patch
        try:
            request.run(write, request.key, {"data": {"by": "a"}})
        except BaseException as error:
            errors.append(error)
            raise

    async with Cluster(config_map("x")) as cluster:
        manager = Manager(
            Controller("maps", reconcile).watches(CONFIG_MAPS),
            clients=cluster.client,
            election=LeaderElection("operator", identity="a"),
            clock=cluster.clock,
        )
        ends: list[BaseException] = []

        async def run() -> None:
            try:
                await manager.run()
            except LeadershipLostError as error:
                ends.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            while not began.is_set():
                await SystemClock().sleep(0.001)
            await depose(cluster)
            await settle()
            assert not ends, "a thread cannot be cancelled, and is waited for"
            may_go_on.set()
        assert isinstance(ends[0], LeadershipLostError)
        assert errors
        found = await cluster.client.resource(CONFIG_MAPS).get("default/x")
        assert "by" not in found.at("data", default={})
