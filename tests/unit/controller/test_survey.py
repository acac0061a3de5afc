import math

import anyio
import pytest

from kinformer.controller import Controller, LeaderElection, Manager, Request, Sharding
from kinformer.errors import TransportError
from kinformer.meta import Resource
from kinformer.observe import LeaseReport, Phase, Report
from kinformer.testing import Cluster, FakeClock, config_map
from kinformer.workqueue import ExponentialLimiter, MaxAttempts

CONFIG_MAPS = Resource.builtin("ConfigMap")
PODS = Resource.builtin("Pod")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")


async def let_be(request: Request) -> None:
    """Do nothing."""


async def wait(request: Request) -> None:
    await anyio.sleep_forever()


async def fail(request: Request) -> None:
    raise TransportError("no route")


def maps(name: str = "maps", **options: object) -> Controller:
    return Controller(name, let_be).watches(CONFIG_MAPS)


async def test_a_cache_is_told_of_once_with_all_who_share_it() -> None:
    async with Cluster(config_map("a"), config_map("b")) as cluster:
        wide = Controller("wide", let_be).watches(CONFIG_MAPS).reads(PODS)
        narrow = Controller("narrow", let_be).watches(CONFIG_MAPS, namespaces=["default"], labels="app=x")
        manager = Manager(maps(), wide, narrow, clients={"east": cluster.client}, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.advance(3.0)
            report = manager.report()
            manager.stop()
    assert [(each.name, each.scope, each.controllers) for each in report.informers] == [
        ("configmaps", "", ("maps", "wide")),
        ("pods", "", ("wide",)),
        ("configmaps", "in default where app=x", ("narrow",)),
    ]
    shared = report.informers[0]
    assert (shared.cluster, shared.objects, shared.is_synced, shared.troubles) == ("east", 2, True, ())
    assert shared.size > 100
    assert int(shared.version) > 0
    assert [(each.name, each.backlog, each.delivered, each.failures) for each in shared.handlers] == [
        ("maps: own writes", 0, 2, 0),
        ("maps", 0, 2, 0),
        ("wide: own writes", 0, 2, 0),
        ("wide", 0, 2, 0),
    ]


async def test_a_cache_in_trouble_says_which_and_for_how_long() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        manager = Manager(
            Controller("web", let_be).watches(WEBSITES), clients=cluster.client, clock=cluster.clock
        )
        tasks.start_soon(manager.run)
        await cluster.advance(7.0)
        report = manager.report()
        tasks.cancel_scope.cancel()
    (websites,) = report.informers
    troubles = {each.condition: each for each in websites.troubles}
    assert troubles.keys() == {"Synced", "KindMissing"}
    assert troubles["Synced"].meaning == "no complete list has arrived"
    assert troubles["KindMissing"].age == pytest.approx(7.0, abs=1.0)
    assert websites.event_age == math.inf
    assert "websites.example.dev" in report.controllers[0].waits[0]
    assert report.phase == "filling"


async def test_keys_that_run_wait_or_are_parked_are_told_with_their_times_and_errors() -> None:
    limiter = MaxAttempts(ExponentialLimiter(10.0, 100.0), 2)
    controllers = (
        Controller("runs", wait, workers=1).watches(CONFIG_MAPS),
        Controller("fails", fail).watches(CONFIG_MAPS),
        Controller("parks", fail, limiter=limiter).watches(CONFIG_MAPS),
    )
    async with Cluster(config_map("a"), config_map("b")) as cluster, anyio.create_task_group() as tasks:
        manager = Manager(*controllers, clients=cluster.client, clock=cluster.clock)
        await tasks.start(manager.run)
        await cluster.advance(12.0)
        report = manager.report()
        tasks.cancel_scope.cancel()
    runs, fails, parks = report.controllers
    assert [(each.key, each.seconds) for each in runs.running] == [("default/a", 12.0)]
    assert (runs.depth, runs.workers, runs.resource, runs.longest_running) == (1, 1, "configmaps", 12.0)
    assert fails.delayed_total == 2
    assert {each.error for each in fails.delayed} == {"TransportError('no route')"}
    assert all(each.attempts > 3 and 0 < each.seconds < 13 for each in fails.delayed)
    assert [(each.key, each.attempts, each.seconds) for each in parks.parked] == [
        ("default/a", 2, 2.0),
        ("default/b", 2, 2.0),
    ]


async def test_long_lists_of_keys_are_cut_and_counted() -> None:
    limiter = MaxAttempts(ExponentialLimiter(1.0, 1.0), 1)
    controller = Controller("parks", fail, limiter=limiter).watches(CONFIG_MAPS)
    async with Cluster(*(config_map(f"m{number}") for number in range(60))) as cluster:
        manager = Manager(controller, clients=cluster.client, clock=cluster.clock)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await cluster.advance(1.0)
            (report,) = manager.report().controllers
            manager.stop()
    assert (len(report.parked), report.parked_total) == (50, 60)


async def test_the_phases_follow_one_another() -> None:
    election = LeaderElection("maps", identity="me")
    async with Cluster(config_map("a")) as cluster:
        manager = Manager(maps(), election=election, clients=cluster.client, clock=cluster.clock)
        seen: list[Phase] = [manager.report().phase]
        async with anyio.create_task_group() as tasks:
            async with LeaderElection("maps", identity="rival").lead(cluster.client):
                tasks.start_soon(manager.run)
                await cluster.advance(1.0)
                seen.append(manager.report().phase)
                assert lease_of(manager.report()) == ("maps", "me", False, 0)
            await cluster.advance(10.0)
            seen.append(manager.report().phase)
            assert lease_of(manager.report()) == ("maps", "me", True, 1)
            manager.stop()
            seen.append(manager.report().phase)
    seen.append(manager.report().phase)
    assert seen == ["starting", "standing by", "running", "stopping", "starting"]


def lease_of(report: Report) -> tuple[str, str, bool, int]:
    (lease,) = report.leases
    assert lease.kind == "election"
    return lease.name, lease.identity, lease.is_held, lease.term


async def test_who_shares_the_keys_is_told() -> None:
    async with Cluster(config_map("a")) as cluster, anyio.create_task_group() as tasks:
        replicas = [
            Manager(
                maps(), sharding=Sharding("maps", identity=name), clients=cluster.client, clock=cluster.clock
            )
            for name in ("one", "two")
        ]
        for replica in replicas:
            tasks.start_soon(replica.run)
        await cluster.until(lambda: len(replicas[0].report().leases[0].members) == 2, timeout=60.0)
        (lease,) = replicas[0].report().leases
        tasks.cancel_scope.cancel()
    assert lease == LeaseReport("sharding", "maps", "one", is_held=True, members=("one", "two"))


async def test_without_an_election_there_is_no_lease() -> None:
    clock = FakeClock()
    assert Manager(maps(), clock=clock).report() == Report("starting", (), (), ())
