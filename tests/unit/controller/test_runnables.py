import asyncio
import logging
from typing import Any

import anyio
import pytest
from anyio.abc import TaskStatus
from anyio.lowlevel import checkpoint

from kinformer.controller import Controller, LeaderElection, Manager, Request
from kinformer.controller._runnables import Group, Shutdown
from kinformer.meta import Resource
from kinformer.testing import Cluster, FakeClock, config_map, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")


class Service:
    """Something that runs, and writes down what becomes of it; a test says how it behaves."""

    def __init__(
        self, name: str, diary: list[str], *, takes: float = 0.0, starts: bool = True, clock: Any = None
    ) -> None:
        self.name = name
        self.error: Exception | None = None
        self._diary = diary
        self._takes = takes
        self._starts = starts
        self._clock = clock
        self._closed = anyio.Event()

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        self._closed = anyio.Event()
        if not self._starts:
            await anyio.sleep_forever()
        self._diary.append(f"{self.name} starts")
        task_status.started()
        if self.error is not None:
            raise self.error
        try:
            await self._closed.wait()
            if self._takes:
                await self._clock.sleep(self._takes)
        finally:
            self._diary.append(f"{self.name} ends")

    def close(self) -> None:
        self._diary.append(f"{self.name} is closed")
        self._closed.set()


async def test_they_start_one_after_the_other_and_are_closed_in_reverse() -> None:
    diary: list[str] = []
    group = Group([Service("a", diary), Service("b", diary)], clock=FakeClock())
    async with group.running(Shutdown(30)):
        diary.append("the block")
    assert diary[:5] == ["a starts", "b starts", "the block", "b is closed", "a is closed"]
    assert sorted(diary[5:]) == ["a ends", "b ends"]


async def test_who_does_not_end_in_time_is_cancelled_and_named() -> None:
    diary, clock = list[str](), FakeClock()
    shutdown = Shutdown(10)
    slow = Service("slow", diary, takes=100, clock=clock)
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            async with Group([slow, Service("quick", diary)], clock=clock).running(shutdown):
                shutdown.begin(clock.monotonic())

        tasks.start_soon(run)
        await clock.advance(9.9)
        assert "slow ends" not in diary
        await clock.advance(0.2)
        assert "slow ends" in diary
    assert shutdown.was_cut == ("slow",)


async def test_an_error_cancels_the_block_and_comes_as_itself() -> None:
    broken = Service("broken", [])
    broken.error = ConnectionError("no")
    with pytest.raises(ConnectionError):
        async with Group([broken], clock=FakeClock()).running(Shutdown(30)):
            await anyio.sleep_forever()


async def test_one_that_does_not_start_is_given_up_when_a_stop_is_asked() -> None:
    diary: list[str] = []
    group = Group([Service("hung", diary, starts=False), Service("b", diary)], clock=FakeClock())
    async with anyio.create_task_group() as tasks:

        async def run() -> None:
            async with group.running(Shutdown(30)):
                diary.append("the block")

        tasks.start_soon(run)
        await settle()
        assert diary == []
        group.stop()
    assert diary == ["the block", "b is closed", "hung is closed"]


async def test_cancelled_at_any_moment_nothing_is_left() -> None:
    before = asyncio.all_tasks()
    for turns in range(12):
        group = Group([Service("a", []), Service("b", [])], clock=FakeClock())

        async def run(group: Group = group) -> None:
            async with group.running(Shutdown(30)):
                await checkpoint()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            for _ in range(turns):
                await checkpoint()
            tasks.cancel_scope.cancel()
        await settle()
        assert asyncio.all_tasks() == before


class Scene:
    """A manager with something in each group, and a reconcile that waits until it may end."""

    def __init__(self, cluster: Cluster, **options: Any) -> None:
        self.diary: list[str] = []
        self.gate = anyio.Event()
        self.cluster = cluster
        self.manager = Manager(
            Controller("maps", self.reconcile).watches(CONFIG_MAPS),
            clients=cluster.client,
            clock=cluster.clock,
            servers=[self.service("probes")],
            others=[self.service("sync")],
            leading=[self.service("leader")],
            **options,
        )

    def service(self, name: str) -> Service:
        return Service(name, self.diary, clock=self.cluster.clock)

    async def reconcile(self, request: Request) -> None:
        self.diary.append("a reconcile begins")
        await self.gate.wait()
        self.diary.append("a reconcile ends")


async def test_a_manager_starts_in_order_and_stops_in_reverse(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kinformer.controller")
    async with Cluster(config_map("a")) as cluster:
        scene = Scene(cluster)
        async with anyio.create_task_group() as tasks:
            await tasks.start(scene.manager.run)
            await settle()
            scene.manager.stop()
            await cluster.clock.advance(5)
            scene.gate.set()
    assert scene.diary == [
        "probes starts",
        "sync starts",
        "leader starts",
        "a reconcile begins",
        "a reconcile ends",
        "leader is closed",
        "leader ends",
        "sync is closed",
        "sync ends",
        "probes is closed",
        "probes ends",
    ]
    assert scene.manager.was_cut == ()
    assert caplog.messages[-1] == "stopped in 5.0 s"


async def test_all_of_it_shares_one_grace_and_what_was_cut_is_told(caplog: pytest.LogCaptureFixture) -> None:
    async with Cluster(config_map("a")) as cluster:
        scene = Scene(cluster, grace=10)
        scene.manager._runnables[0][0]._takes = 100  # type: ignore[attr-defined]
        async with anyio.create_task_group() as tasks:
            await tasks.start(scene.manager.run)
            await settle()
            scene.manager.stop()
            await cluster.clock.advance(10)
    assert scene.manager.was_cut == ("maps: reconcile of default/a", "probes")
    assert (
        caplog.messages[-1]
        == "stopped after 10.0 s; this was cut short: maps: reconcile of default/a, probes"
    )


async def test_what_only_a_leader_runs_does_not_run_in_who_stands_by() -> None:
    async with Cluster(config_map("a")) as cluster, LeaderElection("operator").lead(cluster.client):
        scene = Scene(cluster, election=LeaderElection("operator"))
        async with anyio.create_task_group() as tasks:
            await tasks.start(scene.manager.run)
            await settle()
            assert scene.diary == ["probes starts", "sync starts"]
            scene.manager.stop()


@pytest.mark.parametrize("group", [0, 1, 2])
async def test_the_error_of_any_of_them_ends_the_manager(group: int) -> None:
    async with Cluster(config_map("a")) as cluster:
        scene = Scene(cluster)
        scene.manager._runnables[group][0].error = ConnectionError("no")  # type: ignore[attr-defined]
        with pytest.raises(ConnectionError, match="no"):
            await scene.manager.run()


async def test_a_stop_in_each_phase_ends_all_of_it() -> None:
    async with Cluster(config_map("a")) as cluster:
        await cluster.client.resource(CONFIG_MAPS).list()  # the server begins to follow them
        await settle()
        before = asyncio.all_tasks()
        for turns in range(0, 70, 3):
            scene = Scene(cluster)
            scene.gate.set()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(scene.manager.run)
                for _ in range(turns):
                    await checkpoint()
                scene.manager.stop()
            started = [line.split()[0] for line in scene.diary if line.endswith("starts")]
            ended = [
                line.split()[0] for line in scene.diary if line.endswith("ends") and "reconcile" not in line
            ]
            assert ended == started[::-1]
            assert asyncio.all_tasks() == before


@pytest.mark.parametrize("group", [0, 1, 2], ids=["servers", "others", "leading"])
async def test_a_stop_while_one_of_them_does_not_start_ends_the_manager(group: int) -> None:
    async with Cluster(config_map("a")) as cluster:
        scene = Scene(cluster)
        scene.gate.set()
        scene.manager._runnables[group][0]._starts = False  # type: ignore[attr-defined]
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(scene.manager.run)
            await settle()
            assert len([line for line in scene.diary if line.endswith("starts")]) == group
            scene.manager.stop()
    assert len([line for line in scene.diary if line.endswith("ends")]) == group
    assert "a reconcile begins" not in scene.diary, "what comes after it never began"


async def test_what_one_phase_takes_of_the_grace_the_next_one_does_not_have() -> None:
    async with Cluster(config_map("a")) as cluster:
        scene = Scene(cluster, grace=10)
        scene.manager._runnables[0][0]._takes = 100  # type: ignore[attr-defined]
        async with anyio.create_task_group() as tasks:
            await tasks.start(scene.manager.run)
            await settle()
            scene.manager.stop()
            await cluster.clock.advance(6)
            scene.gate.set()
            await settle()
            assert scene.diary[-1] == "probes is closed"
            await cluster.clock.advance(3.9)
            assert scene.diary[-1] == "probes is closed"
            await cluster.clock.advance(0.2)
    assert scene.diary[-1] == "probes ends"
    assert scene.manager.was_cut == ("probes",)


async def test_a_stop_before_the_run_starts_none_of_them() -> None:
    async with Cluster(config_map("a")) as cluster:
        scene = Scene(cluster)
        scene.manager.stop()
        await scene.manager.run()
    assert [line for line in scene.diary if line.endswith("starts")] == []
