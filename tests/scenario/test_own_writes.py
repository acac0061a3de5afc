"""The classic double create: a reconciler that runs again before its cache shows what it has made."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import pytest

from kinformer.client import Client
from kinformer.controller import (
    Controller,
    LeaderElection,
    Manager,
    Request,
    RequeueAfter,
    Sharding,
    owner_reference,
)
from kinformer.controller._consistency import Consistency
from kinformer.errors import LeadershipLostError, MembershipLostError
from kinformer.hooks import NoHooks, ReconcileFinished, WriteUnseen
from kinformer.meta import Resource
from kinformer.tasks import open_task_group
from kinformer.testing import AppTransport, Cluster, FakeClock, settle

CONFIG_MAPS = Resource.builtin("ConfigMap")
LEASES = Resource.builtin("Lease")
SECRETS = Resource.builtin("Secret")
OWNER = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "owner", "namespace": "default"}}


class LateWatches(AppTransport):
    """A transport whose watches of config maps bring everything late."""

    def __init__(self, cluster: Cluster, delay: float) -> None:
        super().__init__(cluster.server.app, clock=cluster.clock)
        self._late = cluster.clock
        self._delay = delay

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        if "watch" in request.url.params and request.url.path.endswith("/configmaps"):
            response.stream = _Late(response, self._late, self._delay)
        return response


class _Late(httpx.AsyncByteStream):
    def __init__(self, response: httpx.Response, clock: FakeClock, delay: float) -> None:
        assert isinstance(response.stream, httpx.AsyncByteStream)
        self._inner = response.stream
        self._clock = clock
        self._delay = delay

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._inner:
            await self._clock.sleep(self._delay)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class OneChild(NoHooks):
    """A controller that sees to it that each Secret owns one config map, of any name, and looks five times."""

    def __init__(self, mode: Consistency) -> None:
        self.runs = 0
        self.unseen: list[WriteUnseen] = []
        self.finished: list[ReconcileFinished] = []
        self.controller = Controller("children", self.reconcile, consistency=mode)
        self.controller.watches(SECRETS).reads(CONFIG_MAPS)

    async def reconcile(self, request: Request) -> RequeueAfter | None:
        self.runs += 1
        owner = request.lister(SECRETS).get(request.key)
        assert owner is not None
        if not request.lister(CONFIG_MAPS).by_owner(owner.metadata.uid):
            child = {"metadata": {"generateName": "child-", "ownerReferences": [owner_reference(owner)]}}
            await request.client.resource(CONFIG_MAPS).create(child, namespace="default")
        return RequeueAfter(0.1) if self.runs < 5 else None

    def write_unseen(self, event: WriteUnseen, /) -> None:
        self.unseen.append(event)

    def reconcile_finished(self, event: ReconcileFinished, /) -> None:
        self.finished.append(event)


async def children(mode: Consistency, *, delay: float) -> tuple[int, OneChild]:
    """How many there are in the end, where the cache is this late."""
    scene = OneChild(mode)
    async with Cluster(OWNER) as cluster:
        async with (
            Client(
                "http://late.invalid", transport=LateWatches(cluster, delay), clock=cluster.clock
            ) as client,
            anyio.create_task_group() as tasks,
        ):
            manager = Manager(scene.controller, clients=client, clock=cluster.clock, hooks=scene)
            tasks.start_soon(manager.run)
            await cluster.until(lambda: scene.runs == 5, timeout=200)
            await settle()
            manager.stop()
        found = await cluster.client.resource(CONFIG_MAPS).list(namespace="default")
        return len(found.items), scene


@pytest.mark.parametrize("mode", ["overlay", "barrier"])
async def test_one_child_is_made_however_late_the_cache_is(mode: Consistency) -> None:
    count, scene = await children(mode, delay=2)
    assert count == 1
    assert scene.unseen == []


async def test_without_consistency_there_are_several() -> None:
    count, _ = await children("none", delay=2)
    assert count > 1


async def test_a_barrier_that_is_not_reached_is_given_up_and_told_of() -> None:
    _, scene = await children("barrier", delay=25)
    assert scene.unseen
    assert scene.unseen[0].controller == "children"
    assert scene.unseen[0].resource == "configmaps"
    assert 10 <= scene.unseen[0].waited < 11
    assert scene.finished[0].error is None


@pytest.mark.parametrize(
    ("contest", "lost"),
    [
        ({"election": LeaderElection("late", identity="a")}, LeadershipLostError),
        ({"sharding": Sharding("late", identity="a")}, MembershipLostError),
    ],
    ids=["election", "sharding"],
)
async def test_a_write_after_the_lease_is_lost_is_refused_before_it_is_sent(
    contest: Any, lost: type[Exception]
) -> None:
    gate, errors = anyio.Event(), list[BaseException]()

    async def reconcile(request: Request) -> None:
        with anyio.CancelScope(shield=True):  # it does not heed the cancellation
            await gate.wait()
            try:
                await request.client.resource(CONFIG_MAPS).create(
                    {"metadata": {"name": "late"}}, namespace="default"
                )
            except lost as error:
                errors.append(error)

    controller = Controller("late", reconcile).watches(SECRETS)
    async with Cluster(OWNER) as cluster:
        manager = Manager(
            controller,
            clients=cluster.client,
            clock=cluster.clock,
            **contest,
        )
        with pytest.raises(lost):
            async with open_task_group() as tasks:
                tasks.start_soon(manager.run)
                await settle()
                (lease,) = (await cluster.client.resource(LEASES).list(namespace="default")).items
                taken = {"spec": {"holderIdentity": "b" if "election" in contest else None}}
                await cluster.client.resource(LEASES).patch(lease.key, taken)
                await cluster.clock.advance(3)
                gate.set()
        assert len(errors) == 1
        assert (await cluster.client.resource(CONFIG_MAPS).list(namespace="default")).items == ()
