import asyncio
from random import Random
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.controller import Controller, Manager, Request, Trigger
from kinformer.hooks import HookFailed, NoHooks, ReconcileFinished, ReflectorListed
from kinformer.meta import Resource
from kinformer.testing import (
    Cluster,
    FakeClock,
    config_map,
    settle,
)
from kinformer.workqueue import ExponentialLimiter, MaxAttempts

CONFIG_MAPS = Resource.builtin("ConfigMap")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")


class Diary:
    """A controller of config maps that writes down what it is asked, and waits where a test says."""

    def __init__(self, name: str = "diary", resource: Resource = CONFIG_MAPS) -> None:
        self.requests: list[Request] = []
        self.ended = 0
        self.gate: anyio.Event | None = None
        self.controller = Controller(name, self.reconcile).watches(resource)

    async def reconcile(self, request: Request) -> None:
        self.requests.append(request)
        if self.gate is not None:
            await self.gate.wait()
        self.ended += 1

    @property
    def keys(self) -> list[str]:
        return sorted(str(request.key) for request in self.requests)


class Memory(NoHooks):
    """Counts lists, and fails where a test says."""

    def __init__(self) -> None:
        self.lists: list[str] = []
        self.error: Exception | None = None
        self.failed: list[HookFailed] = []

    def hook_failed(self, event: HookFailed, /) -> None:
        self.failed.append(event)

    def reflector_listed(self, event: ReflectorListed, /) -> None:
        self.lists.append(event.reflector)

    def reconcile_finished(self, event: ReconcileFinished, /) -> None:
        if self.error is not None:
            raise self.error


def manager_for(cluster: Cluster, *diaries: Diary, **options: Any) -> Manager:
    controllers = [diary.controller for diary in diaries]
    return Manager(*controllers, clients=cluster.client, clock=cluster.clock, **options)


async def test_what_is_there_is_reconciled_and_a_stop_ends_the_run() -> None:
    diary = Diary()
    async with Cluster(config_map("a"), config_map("b")) as cluster:
        manager = manager_for(cluster, diary)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: diary.keys == ["default/a", "default/b"])
            manager.stop()
            manager.stop()
    assert diary.ended == 2


async def test_what_comes_later_is_reconciled_too() -> None:
    diary = Diary()
    async with Cluster() as cluster:
        manager = manager_for(cluster, diary)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            assert diary.keys == []
            await cluster.client.resource(CONFIG_MAPS).create(config_map("late"))
            await cluster.until(lambda: diary.keys == ["default/late"])
            manager.stop()


async def test_controllers_share_the_cache_of_a_resource() -> None:
    one, two, hooks = Diary("one"), Diary("two"), Memory()
    async with Cluster(config_map("a")) as cluster:
        manager = manager_for(cluster, one, two, hooks=hooks)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: one.keys == two.keys == ["default/a"])
            manager.stop()
    assert len(hooks.lists) == 1


async def test_what_is_parked_can_be_listed_while_it_runs() -> None:
    async def reconcile(request: Request) -> None:
        raise ValueError("never")

    controller = Controller(
        "broken", reconcile, limiter=MaxAttempts(ExponentialLimiter(1.0, 1.0), 2)
    ).watches(CONFIG_MAPS)
    async with Cluster(config_map("a")) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        assert manager.queues == {}
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: bool(manager.queues["broken"].parked))
            (parked,) = manager.queues["broken"].parked
            assert (str(parked.key), parked.attempts, parked.error) == ("default/a", 2, "ValueError: never")
            manager.stop()


async def test_what_made_a_key_run_is_told() -> None:
    diary = Diary()
    async with Cluster(config_map("a")) as cluster:
        manager = manager_for(cluster, diary)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: diary.ended == 1)
            await cluster.client.resource(CONFIG_MAPS).delete("default/a")
            await cluster.until(lambda: diary.ended == 2)
            manager.stop()
    told = [[str(reason) for reason in request.reasons] for request in diary.requests]
    assert told == [["ConfigMap default/a listed"], ["ConfigMap default/a deleted"]]


async def test_several_clusters_are_told_apart() -> None:
    diary = Diary()
    async with Cluster(config_map("a")) as east, Cluster(config_map("a")) as west:
        manager = Manager(
            diary.controller, clients={"east": east.client, "west": west.client}, clock=FakeClock()
        )
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await east.until(lambda: len(diary.requests) == 2)
            manager.stop()
        mappers = {request.cluster: request.client.mapper for request in diary.requests}
        assert mappers == {"east": east.client.mapper, "west": west.client.mapper}
    assert diary.keys == ["default/a", "default/a"]


async def test_a_stop_while_caches_fill_ends_the_run() -> None:
    diary = Diary(resource=WEBSITES)
    async with Cluster() as cluster:
        manager = manager_for(cluster, diary)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(manager.run)
            await cluster.clock.advance(1)
            manager.stop()
    assert diary.requests == []


async def test_a_stop_while_caches_fill_also_ends_the_wait_for_the_start() -> None:
    diary = Diary(resource=WEBSITES)
    async with Cluster() as cluster:
        manager = manager_for(cluster, diary)
        async with anyio.create_task_group() as tasks:
            cluster.clock.call_at(5, manager.stop)
            tasks.start_soon(cluster.clock.advance, 5)
            await tasks.start(manager.run)


async def test_a_stop_before_the_run_ends_it_at_once() -> None:
    diary = Diary(resource=WEBSITES)
    async with Cluster() as cluster:
        manager = manager_for(cluster, diary)
        manager.stop()
        await manager.run()
    assert diary.requests == []


async def test_a_stop_at_any_moment_ends_the_run_and_leaves_nothing() -> None:
    diary = Diary()
    async with Cluster(config_map("a")) as cluster:
        cluster.server.cacher(CONFIG_MAPS)  # it outlives whoever made it begin
        await settle()
        before = asyncio.all_tasks()
        for turns in range(60):
            manager = manager_for(cluster, diary)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(manager.run)
                for _ in range(turns):
                    await checkpoint()
                manager.stop()
            await settle()
            assert asyncio.all_tasks() == before, f"something was left after {turns} turns"
    assert diary.ended == len(diary.requests) > 0


async def test_a_cancellation_at_any_moment_leaves_nothing() -> None:
    diary = Diary()
    async with Cluster(config_map("a")) as cluster:
        cluster.server.cacher(CONFIG_MAPS)  # it outlives whoever made it begin
        await settle()
        before = asyncio.all_tasks()
        for turns in range(60):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(manager_for(cluster, diary).run)
                for _ in range(turns):
                    await checkpoint()
                tasks.cancel_scope.cancel()
            await settle()
            assert asyncio.all_tasks() == before, f"something was left after {turns} turns"
    assert diary.requests


async def test_a_manager_may_run_again() -> None:
    diary, rounds = Diary(), list[int]()
    async with Cluster(config_map("a")) as cluster:
        manager = manager_for(cluster, diary)
        for number in (1, 2):
            rounds.append(number)
            async with anyio.create_task_group() as tasks:
                await tasks.start(manager.run)
                await cluster.until(lambda: diary.ended == len(rounds))
                manager.stop()


async def test_a_manager_does_not_run_twice_at_once() -> None:
    async with Cluster() as cluster:
        manager = manager_for(cluster, Diary())
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            with pytest.raises(RuntimeError, match="runs already"):
                await manager.run()
            manager.stop()


async def test_a_running_reconcile_may_finish_when_a_stop_is_asked() -> None:
    diary = Diary()
    diary.gate = anyio.Event()
    async with Cluster(config_map("a")) as cluster:
        manager = manager_for(cluster, diary)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await settle()
            manager.stop()
            await cluster.clock.advance(29)
            diary.gate.set()
    assert diary.ended == 1


async def test_after_the_grace_a_running_reconcile_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    diary = Diary()
    diary.gate = anyio.Event()
    async with Cluster(config_map("a")) as cluster:
        manager = manager_for(cluster, diary, grace=10)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await settle()
            manager.stop()
            await cluster.clock.advance(10)
    assert diary.ended == 0
    assert "diary: the grace is over, cancelling the reconciles of default/a" in caplog.messages


async def test_what_fails_ends_the_run_with_its_error() -> None:
    async def listen(trigger: Trigger) -> None:
        raise RuntimeError("the source is broken")

    diary = Diary()
    diary.controller.listens_to(listen)
    async with Cluster(config_map("a")) as cluster:
        with pytest.raises(RuntimeError, match="the source is broken"):
            await manager_for(cluster, diary).run()


async def test_a_hook_that_raises_ends_nothing_and_is_told_of() -> None:
    diary, hooks = Diary(), Memory()
    hooks.error = RuntimeError("the hook is broken")
    async with Cluster(config_map("a"), config_map("b")) as cluster:
        manager = manager_for(cluster, diary, hooks=hooks)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.until(lambda: diary.ended == 2)
            manager.stop()
    assert [failed.hook for failed in hooks.failed] == ["reconcile_finished"] * 2


@pytest.mark.parametrize("resource", [CONFIG_MAPS, WEBSITES], ids=["when it lists", "when it cannot list"])
async def test_a_cache_that_fails_ends_the_run_with_its_error(resource: Resource) -> None:
    class Broken(Random):
        def random(self) -> float:
            raise RuntimeError("there is no chance")

    diaries = Diary("one", resource), Diary("two", resource)
    async with Cluster(config_map("a")) as cluster:
        with pytest.raises(RuntimeError, match="there is no chance"):
            await manager_for(cluster, *diaries, random=Broken()).run()


async def test_cancelling_ends_running_reconciles_and_leaves_nothing() -> None:
    diary = Diary()
    diary.gate = anyio.Event()
    async with Cluster(config_map("a")) as cluster:
        cluster.server.cacher(CONFIG_MAPS)  # it outlives whoever made it begin
        await settle()
        before = asyncio.all_tasks()
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager_for(cluster, diary).run)
            await settle()
            assert len(diary.requests) == 1
            tasks.cancel_scope.cancel()
        await settle()
        assert asyncio.all_tasks() == before
    assert diary.ended == 0


async def test_a_client_may_be_given_for_one_run() -> None:
    diary = Diary()
    async with Cluster(config_map("a")) as cluster:
        manager = Manager(diary.controller, clock=cluster.clock)
        assert not manager.has_clients
        async with anyio.create_task_group() as tasks:
            await tasks.start(
                lambda *, task_status: manager.run(client=cluster.client, task_status=task_status)
            )
            await cluster.until(lambda: diary.ended == 1)
            manager.stop()


def test_the_parts_of_a_manager_are_checked_at_once() -> None:
    diary = Diary()
    with pytest.raises(ValueError, match="at least one controller"):
        Manager()
    with pytest.raises(TypeError, match="runs Controllers, not 'diary'"):
        Manager("diary")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must differ, for logs and metrics; twice: diary"):
        Manager(diary.controller, Diary().controller)
    with pytest.raises(ValueError, match="controller empty has no reconciler"):
        Manager(Controller("empty"))
    with pytest.raises(TypeError, match="election='e' must be a LeaderElection"):
        Manager(diary.controller, election="e")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sharding='s' must be a Sharding"):
        Manager(diary.controller, sharding="s")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="grace='5' must be a number of seconds"):
        Manager(diary.controller, grace="5")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="grace=-1 must be zero or more"):
        Manager(diary.controller, grace=-1)
    with pytest.raises(ValueError, match="loop_limit=0 must be more than 0"):
        Manager(diary.controller, loop_limit=0)
    with pytest.raises(ValueError, match="names no cluster"):
        Manager(diary.controller, clients={})


async def test_a_manager_with_clients_takes_no_other() -> None:
    async with Cluster() as cluster:
        with pytest.raises(ValueError, match="clients of its own"):
            await manager_for(cluster, Diary()).run(client=cluster.client)
