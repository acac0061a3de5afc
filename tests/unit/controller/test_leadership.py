import asyncio
import logging
from collections.abc import Coroutine
from contextlib import closing
from datetime import datetime, timedelta
from random import Random
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.controller import LeaderElection, Leadership
from kinformer.controller._leadership import Campaign, LeaseClient
from kinformer.controller._lease import LEASES
from kinformer.errors import LeadershipLostError, TransportError
from kinformer.hooks import LeadershipChanged, NoHooks
from kinformer.meta import Object, ObjectKey
from kinformer.testing import Cluster, FakeClock, settle

KEY = "default/operator"


class Replica:
    """One who stands for election, and works while he leads; a test may hold him up at the end of his work."""

    def __init__(self, cluster: Cluster, name: str, *, clock: FakeClock | None = None) -> None:
        self.wire = Wire(cluster.client.resource(LEASES).without_retries())
        self.campaign = Campaign(
            LeaderElection("operator", identity=name),
            ObjectKey.parse(KEY),
            self.wire,
            clock=clock or cluster.clock,
            random=Random(0),
            hooks=NoHooks(),
        )
        self.is_at_work = False
        self.error: BaseException | None = None
        self.done = anyio.Event()
        self.may_end = anyio.Event()
        self.may_end.set()
        self.leadership: Leadership | None = None

    def works(self) -> bool:
        return self.is_at_work

    async def run(self) -> None:
        try:
            async with self.campaign.lead() as self.leadership:
                self.is_at_work = True
                try:
                    await self.done.wait()
                finally:
                    with anyio.CancelScope(shield=True):
                        await self.may_end.wait()
                    self.is_at_work = False
        except LeadershipLostError as error:
            self.error = error


class Memory(NoHooks):
    def __init__(self) -> None:
        self.told: list[tuple[str, bool]] = []

    def leadership_changed(self, event: LeadershipChanged, /) -> None:
        self.told.append((event.identity, event.is_leader))


async def spec(cluster: Cluster) -> dict[str, Any]:
    return dict((await cluster.client.resource(LEASES).get(KEY))["spec"])


async def edit(cluster: Cluster, **fields: Any) -> None:
    await cluster.client.resource(LEASES).patch(KEY, {"spec": fields})


async def test_one_leads_and_the_next_takes_over_as_soon_as_he_is_done() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        tasks.start_soon(a.run)
        await settle()
        tasks.start_soon(b.run)
        await cluster.clock.advance(60)
        assert (a.works(), b.works()) == (True, False)
        assert a.leadership is not None
        assert a.leadership.term == 0
        assert (await spec(cluster))["holderIdentity"] == "a"
        a.done.set()
        await settle()
        assert "holderIdentity" not in await spec(cluster)
        await cluster.clock.advance(5)
        assert (a.works(), b.works()) == (False, True)
        assert b.leadership is not None
        assert b.leadership.term == 1
        b.done.set()


async def test_who_vanishes_is_followed_when_his_lease_has_expired() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        b = Replica(cluster, "b")
        old = {"holderIdentity": "a", "leaseDurationSeconds": 20, "renewTime": "2001-01-01T00:00:00.000000Z"}
        await cluster.create(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": "operator", "namespace": "default"},
                "spec": old,
            }
        )
        tasks.start_soon(b.run)
        await cluster.clock.advance(19.9)
        assert not b.works()
        await cluster.clock.advance(0.2)
        assert b.works()
        b.done.set()


async def test_the_lease_is_released_only_when_the_work_has_ended() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        a.may_end = anyio.Event()
        with anyio.CancelScope() as scope:
            tasks.start_soon(_end_later, cluster, a, scope)
            await a.run()
        assert "holderIdentity" not in await spec(cluster)


async def _end_later(cluster: Cluster, replica: Replica, scope: anyio.CancelScope) -> None:
    await settle()
    scope.cancel()
    await cluster.clock.advance(60)
    found = await spec(cluster)
    assert found["holderIdentity"] == "a", "while work goes on, the lease is renewed"
    assert found["renewTime"] > "2026-01-01T00:00:57"
    replica.may_end.set()


async def test_who_cannot_renew_is_cancelled_at_the_deadline(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "kinformer")
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        tasks.start_soon(a.run)
        await settle()
        a.wire.is_cut = True
        await cluster.clock.advance(9.9)
        assert a.works()
        assert a.leadership is not None
        a.leadership.check()
        await cluster.clock.advance(0.2)
        assert not a.works()
        with pytest.raises(LeadershipLostError, match="a leads operator no more: its lease was not renewed"):
            a.leadership.check()
        await settle()
        assert str(a.error) == "a leads operator no more: the wire is cut"
        assert (await spec(cluster))["holderIdentity"] == "a"
    assert caplog.messages == [
        "default/operator: cannot renew or take the lease: the wire is cut",
        "default/operator: the lease is not released, so it must expire: the wire is cut",
    ]


async def test_a_server_that_does_not_answer_is_asked_again_within_the_deadline() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        tasks.start_soon(a.run)
        await settle()
        a.wire.hangs = True
        await cluster.clock.advance(3)
        a.wire.hangs = False
        await cluster.clock.advance(60)
        assert a.works()
        a.done.set()


async def test_a_renewal_that_was_stored_but_not_heard_of_does_no_harm() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        tasks.start_soon(a.run)
        await settle()
        a.wire.is_deaf = True
        await cluster.clock.advance(5)
        a.wire.is_deaf = False
        await cluster.clock.advance(60)
        assert a.works()
        a.done.set()
        await settle()
        assert "holderIdentity" not in await spec(cluster)


@pytest.mark.parametrize("holder", ["b", None])
async def test_a_lease_that_somebody_else_writes_is_lost_at_once_and_left_alone(holder: str | None) -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        tasks.start_soon(a.run)
        await settle()
        await edit(cluster, holderIdentity=holder)
        await cluster.clock.advance(2)
        await settle()
        assert str(a.error) == "a leads operator no more: it went to another"
        assert (await spec(cluster)).get("holderIdentity") == holder


async def test_a_lease_that_is_deleted_is_made_again_by_its_leader_and_not_by_those_who_stand_by() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        tasks.start_soon(a.run)
        await settle()
        tasks.start_soon(b.run)
        await cluster.clock.advance(30)
        await cluster.client.resource(LEASES).delete(KEY)
        await cluster.clock.advance(30)
        assert (a.works(), b.works()) == (True, False)
        a.done.set()
        b.done.set()
        await cluster.clock.advance(5)


async def test_of_two_that_have_one_name_one_leads() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        twins = [Replica(cluster, "a"), Replica(cluster, "a")]
        for each in twins:
            tasks.start_soon(each.run)
        await cluster.clock.advance(60)
        leader, other = sorted(twins, key=Replica.works, reverse=True)
        assert (leader.works(), other.works()) == (True, False)
        leader.done.set()
        await cluster.clock.advance(5)
        assert (leader.works(), other.works()) == (False, True)
        assert (leader.error, other.error) == (None, None)
        other.done.set()


async def test_a_machine_that_was_suspended_leads_no_more() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        clock = SuspendedClock(cluster.clock)
        a = Replica(cluster, "a", clock=clock)
        tasks.start_soon(a.run)
        await settle()
        clock.suspended = timedelta(seconds=60)
        assert a.leadership is not None
        assert not a.leadership.is_held
        await cluster.clock.advance(2)
        await settle()
        assert str(a.error) == "a leads operator no more: it was not renewed in time"


async def test_hooks_hear_of_each_beginning_and_end() -> None:
    hooks = Memory()
    async with Cluster(hooks=hooks) as cluster:
        for name in ("a", "b"):
            async with LeaderElection("operator", identity=name).lead(cluster.client, hooks=hooks):
                pass
    assert hooks.told == [("a", True), ("a", False), ("b", True), ("b", False)]


async def test_an_error_of_the_work_comes_as_itself_and_the_lease_is_released() -> None:
    async with Cluster() as cluster:
        with pytest.raises(ZeroDivisionError):
            async with LeaderElection("operator", identity="a").lead(cluster.client):
                raise ZeroDivisionError
        assert "holderIdentity" not in await spec(cluster)


async def test_cancelled_at_any_moment_nothing_is_left_and_the_lease_is_free() -> None:
    async with Cluster() as cluster:
        await settle()
        before = asyncio.all_tasks()
        for turns in range(40):
            a = Replica(cluster, f"a{turns}")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(a.run)
                for _ in range(turns):
                    await checkpoint()
                tasks.cancel_scope.cancel()
            await settle()
            assert asyncio.all_tasks() == before, f"something was left after {turns} turns"
            assert cluster.clock.next_timer is None
        assert "holderIdentity" not in await spec(cluster)


async def test_a_renewal_that_is_cancelled_while_it_is_under_way_is_released_nevertheless() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        tasks.start_soon(a.run)
        await settle()
        a.wire.is_deaf = True
        await cluster.clock.advance(2.5)
        a.done.set()
        a.wire.is_deaf = False
        await settle()
        assert "holderIdentity" not in await spec(cluster)


async def test_who_stands_by_is_told_once_who_leads(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "kinformer.controller")
    async with (
        Cluster() as cluster,
        LeaderElection("operator", identity="a").lead(cluster.client),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(Replica(cluster, "b").run)
        await cluster.clock.advance(30)
        tasks.cancel_scope.cancel()
    assert caplog.messages == [
        "default/operator: a leads",
        "default/operator: standing by, a leads",
        "default/operator: a leads no more",
    ]


class Wire:
    """The way to the Leases, which a test may cut or block, at either end."""

    def __init__(self, leases: LeaseClient) -> None:
        self._leases = leases
        self.is_cut = False
        self.hangs = False
        self.is_deaf = False

    async def get(self, key: ObjectKey | str) -> Object:
        return await self._pass(self._leases.get(key))

    async def create(self, obj: dict[str, Any]) -> Object:
        return await self._pass(self._leases.create(obj))

    async def replace(self, obj: dict[str, Any]) -> Object:
        return await self._pass(self._leases.replace(obj))

    async def _pass(self, call: Coroutine[Any, Any, Object]) -> Object:
        with closing(call):
            if self.is_cut:
                raise TransportError("the wire is cut")
            if self.hangs:
                await anyio.sleep_forever()
            answer = await call
            if self.is_deaf:
                await anyio.sleep_forever()
            return answer


class SuspendedClock(FakeClock):
    """A clock that goes by another one; its wall time has gone on while the machine was suspended."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self.suspended = timedelta()
        self.monotonic = clock.monotonic  # type: ignore[method-assign]
        self.call_at = clock.call_at  # type: ignore[method-assign]
        self.sleep = clock.sleep  # type: ignore[method-assign]
        self._clock = clock

    def now(self) -> datetime:
        return self._clock.now() + self.suspended
