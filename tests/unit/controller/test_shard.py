import asyncio
from collections.abc import Coroutine
from contextlib import closing
from random import Random
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.controller import Admission, Shard, Sharding
from kinformer.controller._lease import LEASES
from kinformer.controller._shard import Enrolment, MemberClient
from kinformer.errors import DecodeError, MembershipLostError, TransportError
from kinformer.hooks import MembersChanged, NoHooks
from kinformer.meta import Object, ObjectKey, ObjectList
from kinformer.testing import Cluster, settle

KEYS = [ObjectKey("default", f"k{number}") for number in range(20)]


class Replica(NoHooks):
    """One who joins, and works while he is a member; a test may hold him up at the end of his work."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.wire = Wire(cluster.client.resource(LEASES).without_retries())
        self.told: list[tuple[str, ...]] = []
        self.enrolment = Enrolment(
            Sharding("maps", identity=name),
            "default",
            self.wire,
            clock=cluster.clock,
            random=Random(),
            hooks=self,
        )
        self.shard: Shard | None = None
        self.error: BaseException | None = None
        self.done = anyio.Event()
        self.may_end = anyio.Event()
        self.may_end.set()

    def members_changed(self, event: MembersChanged, /) -> None:
        self.told.append(event.members)

    def works(self) -> bool:
        return self.shard is not None

    @property
    def keys(self) -> set[ObjectKey]:
        return set() if self.shard is None else set(filter(self.shard.owns, KEYS))

    async def run(self) -> None:
        try:
            async with self.enrolment.join() as shard:
                self.shard = shard
                try:
                    await self.done.wait()
                finally:
                    with anyio.CancelScope(shield=True):
                        await self.may_end.wait()
                    self.shard = None
        except MembershipLostError as error:
            self.error = error


class Wire:
    """The way to the Leases, which a test may cut or block, at either end."""

    def __init__(self, leases: MemberClient) -> None:
        self._leases = leases
        self.is_cut = False
        self.is_deaf = False
        self.rejected: tuple[DecodeError, ...] = ()

    async def get(self, key: ObjectKey | str) -> Object:
        return await self._one(self._leases.get(key))

    async def create(self, obj: dict[str, Any]) -> Object:
        return await self._one(self._leases.create(obj))

    async def replace(self, obj: dict[str, Any]) -> Object:
        return await self._one(self._leases.replace(obj))

    async def list(self, *, namespace: str, labels: str) -> ObjectList[Object]:
        found = await self._pass(self._leases.list(namespace=namespace, labels=labels))
        return ObjectList(found.items, found.version, rejected=self.rejected)

    async def delete(self, key: ObjectKey | str, *, uid: str, version: str) -> None:
        await self._pass(self._leases.delete(key, uid=uid, version=version))

    async def _one(self, call: Coroutine[Any, Any, Object]) -> Object:
        answer: Object = await self._pass(call)
        return answer

    async def _pass(self, call: Coroutine[Any, Any, Any]) -> Any:
        with closing(call):
            if self.is_cut:
                raise TransportError("the wire is cut")
            answer = await call
            if self.is_deaf:
                await anyio.sleep_forever()
            return answer


async def leases(cluster: Cluster) -> list[Object]:
    return list((await cluster.client.resource(LEASES).list(namespace="default")).items)


async def holders(cluster: Cluster) -> list[str]:
    return [lease["spec"].get("holderIdentity", "") for lease in await leases(cluster)]


async def test_one_joins_alone_at_once_and_has_all() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        tasks.start_soon(a.run)
        await settle()
        assert a.keys == set(KEYS)
        a.done.set()
        await settle()
        assert await holders(cluster) == [""]
    assert a.told == [("a",), ()]


async def test_a_second_one_joins_within_some_looks_and_they_share_all() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        tasks.start_soon(a.run)
        await settle()
        tasks.start_soon(b.run)
        await cluster.clock.advance(8)
        assert a.keys | b.keys == set(KEYS)
        assert a.keys & b.keys == set()
        assert a.keys
        assert b.keys
        assert b.shard is not None
        assert b.shard.members == ("a", "b")
        a.done.set()
        await cluster.clock.advance(2)
        assert b.keys == set(KEYS)
        b.done.set()
    assert a.told == [("a",), ("a", "b"), ()]
    assert b.told == [("a", "b"), ("b",), ()]


async def test_the_lease_is_released_only_when_the_work_has_ended() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        a.may_end = anyio.Event()
        tasks.start_soon(a.run)
        await settle()
        a.done.set()
        await cluster.clock.advance(60)
        (lease,) = await leases(cluster)
        assert lease["spec"]["holderIdentity"] == "a"
        assert lease["spec"]["renewTime"] > "2026-01-01T00:00:57"
        a.may_end.set()
        await settle()
        assert await holders(cluster) == [""]


async def test_who_cannot_renew_is_cancelled_at_the_deadline(caplog: pytest.LogCaptureFixture) -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        tasks.start_soon(a.run)
        await settle()
        shard = a.shard
        assert shard is not None
        a.wire.is_cut = True
        await cluster.clock.advance(9.9)
        assert shard.enter(KEYS[0]) is Admission.NOW
        shard.check()
        await cluster.clock.advance(0.2)
        assert not a.works()
        assert not shard.is_held
        assert shard.enter(KEYS[0]) is Admission.ELSEWHERE
        with pytest.raises(MembershipLostError, match="a is no member of maps any more: its Lease was not"):
            shard.check()
        await settle()
    assert str(a.error) == "a is no member of maps any more: the wire is cut"
    assert "the Lease is not released, so it must expire: the wire is cut" in caplog.messages[-1]


async def test_a_lease_that_somebody_removes_ends_its_member() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        tasks.start_soon(a.run)
        await settle()
        await cluster.client.resource(LEASES).delete((await leases(cluster))[0].key)
        await cluster.clock.advance(2)
        await settle()
        assert await leases(cluster) == []
    assert str(a.error) == (
        "a is no member of maps any more: its Lease was not renewed in time, or somebody has ended it"
    )


async def test_what_is_stored_and_not_heard_of_does_no_harm() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        a.wire.is_deaf = True
        tasks.start_soon(a.run)
        await cluster.clock.advance(1)
        a.wire.is_deaf = False
        await cluster.clock.advance(9)
        assert a.works()
        a.wire.is_deaf = True
        await cluster.clock.advance(5)
        a.wire.is_deaf = False
        await cluster.clock.advance(60)
        assert a.works()
        assert await holders(cluster) == ["a"]
        a.done.set()


async def test_who_could_not_join_for_too_long_comes_as_somebody_new() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        a.wire.rejected = (DecodeError("no metadata"),)
        tasks.start_soon(a.run)
        await cluster.clock.advance(20)
        assert not a.works(), "an object that cannot be read may be a member's"
        a.wire.rejected = ()
        await cluster.clock.advance(2)
        assert a.works()
        tasks.start_soon(b.run)
        await cluster.clock.advance(2.5)  # its Lease is there, and a has not said that it respects it
        a.wire.is_cut = True
        b.wire.is_cut = True
        await cluster.clock.advance(12)
        b.wire.is_cut = False
        await cluster.clock.advance(30)
        assert b.works()
        assert len(await leases(cluster)) >= 1
        b.done.set()


async def test_who_waits_for_a_lease_that_never_expires_says_so_with_what_to_do(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("WARNING", "kinformer")
    metadata = {"name": "maps-ghost-1", "namespace": "default", "labels": {"kinformer.dev/sharding": "maps"}}
    ghost = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        spec = {"holderIdentity": "ghost", "leaseDurationSeconds": 2147483647}
        await cluster.create({**ghost, "spec": spec})
        a = Replica(cluster, "a")
        tasks.start_soon(a.run)
        await cluster.clock.advance(30)
        assert caplog.messages == []
        await cluster.clock.advance(60)
        (message,) = caplog.messages
        assert message == (
            "maps: a has not joined yet, since it waits for the Lease maps-ghost-1 of ghost, which is good for "
            "2147483647 s; where that replica is gone, take the holderIdentity out of its Lease"
        )
        assert not a.works()
        await cluster.client.resource(LEASES).patch(
            "default/maps-ghost-1", {"spec": {"holderIdentity": None}}
        )
        await cluster.clock.advance(6)
        assert a.works()
        a.done.set()


async def test_a_member_whose_lease_somebody_renames_starts_over_and_no_key_has_two_owners() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a, b = Replica(cluster, "a"), Replica(cluster, "b")
        tasks.start_soon(a.run)
        await settle()
        tasks.start_soon(b.run)
        await cluster.clock.advance(30)
        (of_b,) = [each for each in await leases(cluster) if each["spec"]["holderIdentity"] == "b"]
        await cluster.client.resource(LEASES).patch(of_b.key, {"spec": {"holderIdentity": "evil"}})
        for _ in range(40):
            await cluster.clock.advance(0.5)
            assert not a.keys & b.keys
        assert "b is no member of maps any more" in str(b.error)
        assert a.keys == set(KEYS)
        a.done.set()


async def test_a_listener_hears_of_each_change() -> None:
    heard: list[tuple[str, ...]] = []
    async with Cluster() as cluster, Sharding("maps", identity="a").join(cluster.client) as shard:
        shard.heed(lambda: heard.append(shard.members))
        async with anyio.create_task_group() as tasks:
            b = Replica(cluster, "b")
            tasks.start_soon(b.run)
            await cluster.clock.advance(10)
            b.done.set()
            await cluster.clock.advance(3)
    assert heard == [("a", "b"), ("a",)]


async def test_two_with_one_name_are_warned_that_only_one_gets_keys(caplog: pytest.LogCaptureFixture) -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        replicas = Replica(cluster, "a"), Replica(cluster, "a")
        for replica in replicas:
            tasks.start_soon(replica.run)
        await cluster.clock.advance(10)
        assert sorted(len(replica.keys) for replica in replicas) == [0, len(KEYS)]
        for replica in replicas:
            replica.done.set()
    warnings = {record.message for record in caplog.records if record.levelname == "WARNING"}
    assert warnings == {
        "maps: 2 replicas are called a, and only one of them gets keys: give each its own Sharding(identity=...)"
    }


async def test_an_error_of_the_work_comes_as_itself_and_the_lease_is_released() -> None:
    async with Cluster() as cluster:
        with pytest.raises(ZeroDivisionError):
            async with Sharding("maps", identity="a").join(cluster.client):
                raise ZeroDivisionError
        assert await holders(cluster) == [""]


async def test_cancelled_at_any_moment_nothing_is_left_and_no_lease_is_held() -> None:
    async with Cluster() as cluster:
        await leases(cluster)  # the server begins to follow them
        await settle()
        before = asyncio.all_tasks()
        for turns in range(0, 60, 2):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(Replica(cluster, f"a{turns}").run)
                for _ in range(turns):
                    await checkpoint()
                tasks.cancel_scope.cancel()
            await settle()
            assert asyncio.all_tasks() == before, f"something was left after {turns} turns"
            assert cluster.clock.next_timer is None
        assert set(await holders(cluster)) == {""}


async def test_somebody_else_may_have_removed_the_litter() -> None:
    async with Cluster() as cluster, anyio.create_task_group() as tasks:
        a = Replica(cluster, "a")
        async with Sharding("maps", identity="gone").join(cluster.client):
            pass

        class Faster(Wire):
            async def delete(self, key: ObjectKey | str, *, uid: str, version: str) -> None:
                await super().delete(key, uid=uid, version=version)
                await super().delete(key, uid=uid, version=version)

        a.enrolment._leases = Faster(a.wire)
        tasks.start_soon(a.run)
        await cluster.clock.advance(40)
        assert await holders(cluster) == ["a"]
        assert a.works()
        a.done.set()
