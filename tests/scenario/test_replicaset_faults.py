"""The ReplicaSet controller of the examples, while its requests fail, its watches break, and its caches are late.

By a seed: what goes wrong when, what others do meanwhile, and whether its reads show its own writes or only its
expectations keep it from doing things twice.
"""

import logging
from random import Random
from typing import Final

import anyio
import httpx
import pytest
from anyio.abc import TaskStatus

from kinformer.controller import Consistency
from kinformer.informer import Deleted, Notification, SharedInformer, Updated
from kinformer.meta import Object, ObjectKey
from kinformer.testing import settle
from tests.scenario.replicaset_stage import (
    EXAMPLE,
    KEY,
    Scene,
    Send,
    is_owned,
    orphan,
    ready,
    refusal,
    replica_set,
    scene,
)

WANTED: Final = 3


class World:
    """What there really is, without faults and without delay.

    Attributes:
        most: The most living pods that had an owner at one moment.
    """

    def __init__(self, stage: Scene) -> None:
        self.most = 0
        self._pods = SharedInformer(stage.pods.without_retries(), queue="in-order", clock=stage.clock)
        self._sets = SharedInformer(stage.sets.without_retries(), clock=stage.clock)
        self._owned: set[str] = set()
        self._pods.add_handler(self._count)
        self._clock = stage.clock

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        async with anyio.create_task_group() as tasks:
            await tasks.start(self._pods.run)
            await tasks.start(self._sets.run)
            task_status.started()

    @property
    def pods(self) -> list[Object]:
        return sorted(self._pods.lister.list(), key=lambda each: each.metadata.name)

    @property
    def owner(self) -> Object | None:
        return self._sets.lister.get(KEY)

    def is_settled(self) -> bool:
        """Whether the world is as the ReplicaSet says, and it says how the world is."""
        if self.owner is None:
            return False
        claimed = EXAMPLE.claim(self.owner, self.pods)
        expected = EXAMPLE.status_of(self.owner, claimed.owned, None, self._clock.now())
        is_as_told = self.owner["status"] == expected and len(claimed.owned) == self.owner["spec"]["replicas"]
        return is_as_told and not claimed.orphans and not claimed.strays

    def _count(self, notification: Notification[Object]) -> None:
        each = notification.new if isinstance(notification, Updated) else notification.obj
        if is_owned(each) and not isinstance(notification, Deleted):
            self._owned.add(each.metadata.uid)
        else:
            self._owned.discard(each.metadata.uid)
        self.most = max(self.most, len(self._owned))


class Troubles:
    """What goes wrong with the controller's requests and watches, while ``are_on``.

    Attributes:
        loses_answers: Whether a request may be done though its answer says that it failed; then the controller cannot know.
    """

    def __init__(self, stage: Scene, random: Random) -> None:
        self.are_on = True
        self.loses_answers = False
        self.count = 0
        self._clock = stage.clock
        self._random = random
        stage.line.before = self.before
        stage.line.watched = self.watched
        stage.line.is_expired = self.is_expired

    def strike(self, chance: float) -> bool:
        struck = self.are_on and self._random.random() < chance
        self.count += struck
        return struck

    async def before(self, request: httpx.Request, send: Send) -> httpx.Response:
        if self.strike(0.15):
            return refusal(
                *self._random.choice([(500, "InternalError"), (403, "Forbidden"), (409, "Conflict")])
            )
        # It takes its time: what is made for an owner that is gone is collected at once, and made again, until that is known.
        await self._clock.sleep(self._random.uniform(0.1, 0.5))
        response = await send(request)
        if self.loses_answers and self.strike(0.1):
            raise httpx.ReadError("the connection broke while the answer was on its way", request=request)
        return response

    def is_expired(self) -> bool:
        return self.strike(0.3)

    async def watched(self, path: str) -> None:
        if self.strike(0.12):
            raise httpx.ReadError("the connection broke")
        if self.strike(0.4):
            await self._clock.sleep(self._random.expovariate(1.0))


class Others:
    """What others do to the world."""

    def __init__(self, stage: Scene, world: World, random: Random) -> None:
        self._stage = stage
        self._world = world
        self._random = random
        self._made = 0

    async def delete_one(self) -> None:
        if self._world.pods:
            await self._stage.pods.delete(self._one())

    async def fail_one(self) -> None:
        if self._world.pods:
            await self._stage.pods.status.patch(self._one(), {"status": {"phase": "Failed"}})

    async def make_one_ready(self) -> None:
        living = [each for each in self._world.pods if EXAMPLE.is_active(each)]
        if living:
            await self._stage.pods.status.patch(self._random.choice(living).key, ready())

    async def label_one(self) -> None:
        if self._world.pods:
            label = self._random.choice(["web", "debugging"])
            await self._stage.pods.patch(self._one(), {"metadata": {"labels": {"app": label}}})

    async def leave_an_orphan(self) -> None:
        self._made += 1
        await self._stage.pods.create(orphan(f"orphan-{self._made}"))

    async def scale(self) -> None:
        await self._stage.scale(self._random.randrange(6))

    async def start_over(self) -> None:
        """Put another ReplicaSet in the place of this one."""
        await self._stage.sets.delete(KEY, propagation=self._random.choice(["Orphan", "Background"]))
        await settle()
        if self._world.owner is None:
            await self._stage.sets.create(replica_set(self._random.randrange(6)))

    def _one(self) -> ObjectKey:
        return self._random.choice(self._world.pods).key


async def test_it_never_makes_one_too_many_and_converges_in_the_end(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "kinformer")  # it would take as long to write down what fails
    random = Random(seed)
    mode: Consistency = "overlay" if seed % 2 else "none"
    async with (
        scene(replica_set(WANTED), consistency=mode, seed=seed) as stage,
        anyio.create_task_group() as tasks,
    ):
        world, troubles = World(stage), Troubles(stage, random)
        others = Others(stage, world, random)
        await tasks.start(world.run)
        for _ in range(3):
            await random.choice([others.delete_one, others.fail_one, others.make_one_ready])()
            await stage.cluster.advance(random.expovariate(1.0))
        assert world.most <= WANTED, "whatever the cache shows"
        troubles.loses_answers = True
        acts = [others.delete_one, others.label_one, others.leave_an_orphan, others.scale, others.start_over]
        for _ in range(3):
            await random.choice(acts)()
            await stage.cluster.advance(random.expovariate(0.5))
        troubles.are_on = False
        await stage.cluster.until(world.is_settled, timeout=700)
        assert troubles.count > 0
        tasks.cancel_scope.cancel()
