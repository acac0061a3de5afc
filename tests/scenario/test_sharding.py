"""Several managers that share the keys of one controller, against the embedded apiserver."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from kinformer.controller import Controller, LeaderElection, Manager, Request, RequeueAfter, Sharding, Trigger
from kinformer.controller._member import LABEL
from kinformer.errors import MembershipLostError
from kinformer.hooks import MembersChanged, NoHooks
from kinformer.meta import ObjectKey, Resource
from kinformer.testing import Cluster, config_map, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")
LEASES = Resource.builtin("Lease")
NAMES = [f"m{number}" for number in range(12)]
MAPS = [config_map(name) for name in NAMES]


class Replica(NoHooks):
    """A manager that shares config maps with others, and what it has done; a test may hold up its reconciles."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.seen: list[str] = []
        self.running: Counter[str] = Counter()
        self.members: list[tuple[str, ...]] = []
        self.gate: anyio.Event | None = None
        self.held = set(NAMES)
        self.delay: float | None = None
        self.error: Exception | None = None
        self.controller = Controller("maps", self.reconcile, workers=len(NAMES)).watches(CONFIG_MAPS)
        self.manager = Manager(
            self.controller,
            clients=cluster.client,
            sharding=Sharding("maps", identity=name),
            clock=cluster.clock,
            hooks=self,
        )

    async def reconcile(self, request: Request) -> RequeueAfter | None:
        name = request.key.name
        self.seen.append(name)
        self.running[name] += 1
        try:
            if self.gate is not None and name in self.held:
                await self.gate.wait()
        finally:
            self.running -= Counter([name])
        return None if self.delay is None else RequeueAfter(self.delay)

    def members_changed(self, event: MembersChanged, /) -> None:
        self.members.append(event.members)

    @asynccontextmanager
    async def runs(self) -> AsyncIterator[None]:
        """Run it around a block: from when its caches are full until it has stopped."""
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._run)
            yield
            if self.error is None:
                self.manager.stop()

    async def _run(self, *, task_status: anyio.abc.TaskStatus[None]) -> None:
        try:
            await self.manager.run(task_status=task_status)
        except MembershipLostError as error:
            self.error = error


async def touch(cluster: Cluster, *names: str) -> None:
    for name in names:
        await cluster.client.resource(CONFIG_MAPS).patch(
            f"default/{name}", {"data": {"at": str(cluster.clock.monotonic())}}
        )


async def owners(cluster: Cluster, *replicas: Replica) -> dict[str, list[str]]:
    """Touch everything, and say who has seen what."""
    for replica in replicas:
        replica.seen.clear()
    await touch(cluster, *NAMES)
    await cluster.clock.advance(2)
    return {name: [str(r) for r, each in enumerate(replicas) if name in each.seen] for name in NAMES}


async def test_each_key_is_one_replicas_and_all_have_some() -> None:
    async with Cluster(*MAPS) as cluster, AsyncExitStack() as stack:
        replicas = [Replica(cluster, name) for name in "abc"]
        for replica in replicas:
            await stack.enter_async_context(replica.runs())
        await cluster.clock.advance(20)
        found = await owners(cluster, *replicas)
        assert {len(who) for who in found.values()} == {1}
        assert {who[0] for who in found.values()} == {"0", "1", "2"}
        assert replicas[0].members[-1] == ("a", "b", "c")


async def test_the_keys_of_who_stops_are_looked_at_by_the_others_and_no_others() -> None:
    async with Cluster(*MAPS) as cluster, AsyncExitStack() as stack:
        a, b, c = replicas = [Replica(cluster, name) for name in "abc"]
        for replica in replicas:
            await stack.enter_async_context(replica.runs())
        await cluster.clock.advance(20)
        before = await owners(cluster, *replicas)
        had = {name for name, who in before.items() if who == ["0"]}
        for replica in replicas:
            replica.seen.clear()
        a.manager.stop()
        await cluster.clock.advance(5)
        assert sorted(b.seen + c.seen) == sorted(had)
        after = await owners(cluster, *replicas)
        assert {name: after[name] for name in NAMES if name not in had} == {
            name: before[name] for name in NAMES if name not in had
        }
        assert {len(who) for who in after.values()} == {1}


async def test_a_newcomer_waits_for_the_reconciles_that_run_and_for_nothing_else() -> None:
    async with Cluster(*MAPS) as cluster:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        async with a.runs(), b.runs():
            await cluster.clock.advance(20)
            theirs = sorted(name for name, who in (await owners(cluster, a, b)).items() if who == ["1"])
        assert len(theirs) > 1
        held, *free = theirs
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        a.gate, a.held = anyio.Event(), {held}
        async with a.runs():
            await cluster.clock.advance(20)
            assert a.running == {held: 1}
            a.seen.clear()
            async with b.runs():
                await cluster.clock.advance(10)
                assert sorted(b.seen) == free
                await touch(cluster, *theirs)
                await cluster.clock.advance(10)
                assert sorted(b.seen) == sorted([*free, *free])
                assert a.seen == []
                a.gate.set()
                await cluster.clock.advance(5)
                assert b.seen.count(held) == 1
                assert a.seen == []


async def test_who_is_thrown_out_is_cancelled_and_the_other_has_all() -> None:
    async with Cluster(*MAPS) as cluster:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        a.gate = anyio.Event()
        async with a.runs(), b.runs():
            await cluster.clock.advance(20)
            assert a.running
            for lease in (await cluster.client.resource(LEASES).list(namespace="default")).items:
                if lease["spec"].get("holderIdentity") == "a":
                    await cluster.client.resource(LEASES).patch(lease.key, {"spec": {"holderIdentity": None}})
            await cluster.clock.advance(4)
            assert not a.running
            assert {tuple(who) for who in (await owners(cluster, b)).values()} == {("0",)}
        assert isinstance(a.error, MembershipLostError)
        assert a.members[-1] == ()


async def test_who_stops_gives_away_at_once_what_it_does_not_work_on() -> None:
    async with Cluster(*MAPS) as cluster:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        async with a.runs(), b.runs():
            await cluster.clock.advance(20)
            had = [name for name, who in (await owners(cluster, a, b)).items() if who == ["0"]]
            held, *free = had
            a.gate, a.held = anyio.Event(), {held}
            await touch(cluster, held)
            await settle()
            b.seen.clear()
            a.manager.stop()
            await cluster.clock.advance(10)
            assert a.running == {held: 1}
            assert sorted(b.seen) == sorted(free)
            a.gate.set()
            await cluster.clock.advance(5)
            assert sorted(b.seen) == sorted(had)


async def test_a_lease_of_somebody_dead_is_waited_for_and_removed_in_the_end() -> None:
    dead = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "maps-dead-1", "namespace": "default", "labels": {LABEL: "maps"}},
        "spec": {"holderIdentity": "dead", "leaseDurationSeconds": 15},
    }
    async with Cluster(*MAPS, dead) as cluster:
        a = Replica(cluster, "a")
        async with a.runs():
            await cluster.clock.advance(14.9)
            assert a.seen == []
            await cluster.clock.advance(4)
            assert sorted(a.seen) == sorted(NAMES)
            await cluster.client.resource(LEASES).get("default/maps-dead-1")
            await cluster.clock.advance(15)
            found = (await cluster.client.resource(LEASES).list(namespace="default")).items
            assert [lease["spec"]["holderIdentity"] for lease in found] == ["a"]


async def test_a_key_that_was_to_come_again_comes_again_at_its_new_owner_only() -> None:
    async with Cluster(*MAPS) as cluster:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        a.delay = b.delay = 30.0
        async with a.runs():
            await cluster.clock.advance(20)
            async with b.runs():
                await cluster.clock.advance(60)
                found = await owners(cluster, a, b)
                a.seen.clear()
                b.seen.clear()
                await cluster.clock.advance(40)
                assert set(a.seen) == {name for name in NAMES if found[name] == ["0"]}
                assert set(b.seen) == {name for name in NAMES if found[name] == ["1"]}


async def test_what_is_heard_of_from_outside_is_reconciled_where_it_belongs() -> None:
    async def tell(trigger: Trigger) -> None:
        while True:
            await cluster.clock.sleep(20)
            for name in NAMES:
                trigger(ObjectKey("default", name))

    async with Cluster(*MAPS) as cluster:
        replicas = [Replica(cluster, name) for name in "ab"]
        for replica in replicas:
            replica.controller.listens_to(tell)
        async with replicas[0].runs(), replicas[1].runs():
            await cluster.clock.advance(10)
            for replica in replicas:
                replica.seen.clear()
            await cluster.clock.advance(20)
            assert sorted(replicas[0].seen + replicas[1].seen) == sorted(NAMES)
            assert replicas[0].seen
            assert replicas[1].seen


async def test_a_stop_at_any_moment_ends_the_run_and_lets_go_of_everything() -> None:
    async with Cluster(*MAPS[:2]) as cluster:
        for turns in range(0, 90, 6):
            replica = Replica(cluster, f"a{turns}")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(replica.manager.run)
                for _ in range(turns):
                    await anyio.lowlevel.checkpoint()
                replica.manager.stop()
        last = Replica(cluster, "last")
        async with last.runs():
            await settle()
            assert sorted(last.seen) == NAMES[:2], "at once: nobody else is there"


@pytest.mark.parametrize("turns", [0, 9, 20, 50, 90])
async def test_cancelled_it_leaves_its_keys_to_the_others(turns: int) -> None:
    async with Cluster(*MAPS[:2]) as cluster:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Replica(cluster, "a").manager.run)
            for _ in range(turns):
                await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        found = (await cluster.client.resource(LEASES).list(namespace="default")).items
        assert ["holderIdentity" in lease["spec"] for lease in found] in ([], [False])


def test_an_election_and_sharding_exclude_each_other() -> None:
    async def reconcile(request: Request) -> None: ...

    controller = Controller("maps", reconcile).watches(CONFIG_MAPS)
    with pytest.raises(ValueError, match="with an election one replica works, with sharding all do"):
        Manager(controller, election=LeaderElection("maps"), sharding=Sharding("maps"))
