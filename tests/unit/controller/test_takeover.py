from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import anyio
import anyio.lowlevel

from kinformer.controller import Shard, Sharding
from kinformer.controller._member import MemberRecord
from kinformer.controller._membership import Membership
from kinformer.controller._moment import Moment
from kinformer.controller._ring import Member
from kinformer.controller._sources import EventSource, own_key
from kinformer.controller._takeover import Spring, Takeover
from kinformer.informer import SharedInformer
from kinformer.meta import Object, ObjectKey, Resource
from kinformer.testing import Cluster, config_map, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")
NAMES = [f"m{number}" for number in range(40)]
NOW = Moment(0.0, datetime(2026, 1, 1, tzinfo=UTC))


class Stage:
    """A share of the config maps, with other members as a test wants them."""

    def __init__(self, cluster: Cluster, others: Iterable[str] = ()) -> None:
        self.membership = Membership(Member("me", "me"), duration=15.0, deadline=10.0)
        self.shard = Shard(Sharding("maps", identity="me"), self.membership, cluster.clock)
        self.given: list[str] = []
        self.informer: SharedInformer[Object] = SharedInformer(
            cluster.client.resource(CONFIG_MAPS), clock=cluster.clock
        )
        self.change(others)
        spring = Spring("here", EventSource(CONFIG_MAPS, own_key), self.informer)
        self.takeover = Takeover(self.shard, [spring], self.give)

    def give(self, cluster: str, key: ObjectKey) -> None:
        assert cluster == "here"
        self.given.append(key.name)

    def change(self, others: Iterable[str]) -> None:
        before = self.membership.ring
        records = [MemberRecord(Member(name, name), 15.0, "1") for name in (*others, "me")]
        gone = [
            MemberRecord(Member(member.name, ""), 1.0, "2")
            for member in before.members
            if member.name not in {*others, "me"}
        ]
        self.membership.saw([*records, *gone], NOW, NOW)
        if self.membership.ring is not before:
            self.shard.tell()

    @property
    def ours(self) -> set[str]:
        return {name for name in NAMES if self.shard.owns(ObjectKey("default", name))}

    @asynccontextmanager
    async def runs(self) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            await tasks.start(self.informer.run)
            tasks.start_soon(self.takeover.run)
            await settle()
            yield
            await settle()
            tasks.cancel_scope.cancel()


def cluster() -> Cluster:
    return Cluster(*(config_map(name, namespace="default") for name in NAMES))


async def test_what_has_been_ours_is_not_given_again() -> None:
    async with cluster() as made:
        stage = Stage(made, ["a", "b"])
        async with stage.runs():
            assert stage.given == []
            before = stage.ours
            stage.change(["a"])
            await settle()
            assert set(stage.given) == stage.ours - before
            assert len(stage.given) == len(set(stage.given)) > 0


async def test_who_comes_takes_something_so_nothing_is_given() -> None:
    async with cluster() as made:
        stage = Stage(made, ["a"])
        async with stage.runs():
            stage.change(["a", "b", "c"])
        assert stage.given == []


async def test_what_was_lost_for_a_moment_is_given_again() -> None:
    async with cluster() as made:
        stage = Stage(made)
        async with stage.runs():
            stage.change(["a"])
            had = stage.ours
            stage.change([])  # before anybody has looked
        assert set(stage.given) == set(NAMES) - had


async def test_what_is_lost_while_it_looks_around_is_given_when_it_comes_again() -> None:
    async with cluster() as made:
        stage = Stage(made, ["a"])
        async with stage.runs():
            before = stage.ours
            stage.change([])
            await anyio.lowlevel.checkpoint()
            stage.change(["a"])
            await settle()
            stage.given.clear()
            stage.change([])
            await settle()
            assert set(stage.given) == set(NAMES) - before


async def test_an_informer_that_has_closed_is_somebody_elses_trouble() -> None:
    async with cluster() as made:
        stage = Stage(made, ["a"])
        async with stage.runs():
            stage.informer.close()
            await settle()
            stage.change([])
        assert stage.given == []


async def test_no_handler_is_left() -> None:
    async with cluster() as made:
        stage = Stage(made, ["a"])
        async with stage.runs():
            stage.change([])
            await settle()
            await made.client.resource(CONFIG_MAPS).create(config_map("new", namespace="default"))
            await settle()
            assert "new" not in stage.given
