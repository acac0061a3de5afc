"""Several members that share some keys, with clocks, machines and connections that each misbehave, and processes that die.

Everything is drawn from a seed, as in ``election_stage``. Who is a member works on whatever it may, all the time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Final

import anyio

from kinformer.controller import Admission, Shard, Sharding
from kinformer.controller._shard import Enrolment
from kinformer.errors import MembershipLostError
from kinformer.hooks import NoHooks
from kinformer.meta import ObjectKey
from kinformer.testing import FakeClock
from tests.scenario.machines import Link, MachineClock, Server

KEYS: Final = [ObjectKey("default", f"k{number}") for number in range(3)]
TROUBLED: Final = 26.0
"""Seconds of each schedule in which things go wrong; then all is well, and each key must be somebody's."""
HEALED: Final = 46.0
"""Seconds until then: a Lease that was written late lasts for 15 s of a slow clock, and a newcomer waits for it."""
IDLE: Final = 21.0
"""For how long no work on a key may begin when all is well: some takes 13 s on a slow clock, and then the key may move."""
ENDED: Final = 10.0
"""Seconds in which all come to their ends and leave."""


@dataclass(eq=False)
class Work:
    """Somebody's work on a key."""

    member: str
    key: ObjectKey
    began: float
    stood_still: bool = False


class Stage:
    """The world of one schedule. It fails where two members work on one key at once."""

    def __init__(self, seed: int, *, replicas: int = 3) -> None:
        self.random = Random(seed)
        self.world = FakeClock()
        self.server = Server()
        self.running: list[Work] = []
        self.latest: dict[ObjectKey, Work] = {}
        self.begun = self.writes = 0
        # Either the clocks differ in rate as far as they may, or work takes a while to stop.
        self.lingers = self.random.random() < 0.5
        spread = 0.05 if self.lingers else 0.18
        self.replicas = [Replica(f"r{number}", self, spread=spread) for number in range(replicas)]

    @contextmanager
    def work(self, member: str, key: ObjectKey) -> Iterator[Work]:
        work = Work(member, key, self.world.monotonic())
        others = [other for other in self.running if other.key == key and not other.stood_still]
        assert not others, f"{member} begins with {key} while {others} work on it, at {work.began}"
        self.latest[key] = work
        self.begun += 1
        self.running.append(work)
        try:
            yield work
        finally:
            self.running.remove(work)

    def write(self, work: Work) -> None:
        """What somebody does after the fencing check. Its work must be the latest on the key."""
        self.writes += 1
        assert self.latest[work.key] is work, (
            f"{work} writes at {self.world.monotonic()} after {self.latest[work.key]} began"
        )

    async def play(self) -> None:
        """Let things go wrong for a while and then be well."""
        async with anyio.create_task_group() as tasks:
            for replica in self.replicas:
                tasks.start_soon(replica.live)
                tasks.start_soon(replica.suffer)
            try:
                await self.world.advance(TROUBLED + HEALED)
                since = self.world.monotonic() - IDLE
                idle = [key for key in KEYS if key not in self.latest or self.latest[key].began < since]
                assert not idle, f"nobody has worked on {idle} for {IDLE} s although all is well"
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await self.world.advance(ENDED)  # they stop, and leave


class Replica:
    """One process after the other that wants to share the keys, on a machine of its own."""

    def __init__(self, name: str, stage: Stage, *, spread: float) -> None:
        self.name = name
        self._stage = stage
        self._random = Random(stage.random.random())
        self._clock = MachineClock(stage.world, self._random, spread=spread)
        self._renew_process()

    def _renew_process(self) -> None:
        self._link = Link(self._stage.server, self._clock, self._random)
        self._process = anyio.CancelScope()

    async def live(self) -> None:
        """Share whenever it may, for a while; and then again, mostly as the same pod."""
        for life in range(1000):
            with self._process:
                await self._share(f"{self.name}-{life // 3}")
            if self._link.is_dead:
                self._renew_process()
            await self._clock.sleep(self._random.uniform(0.1, 5))

    async def _share(self, identity: str) -> None:
        sharding = Sharding("maps", identity=identity)
        enrolment = Enrolment(
            sharding, "default", self._link, clock=self._clock, random=self._random, hooks=NoHooks()
        )
        try:
            async with enrolment.join() as shard:
                await self._work(identity, shard)
        except MembershipLostError:
            pass

    async def suffer(self) -> None:
        world = self._stage.world
        while True:
            await world.sleep(self._random.expovariate(1 / 15))
            ill = min(self._random.expovariate(1 / 10), TROUBLED - world.monotonic())
            if ill <= 0:
                return
            what = self._random.random()
            if what < 0.4:
                link = self._link
                link.is_cut = True
                await world.sleep(ill)
                link.is_cut = False
            elif what < 0.7:
                self._stand_still()
                await world.sleep(ill)
                self._clock.go_on()
            elif not self._link.is_dead:
                self._link.is_dead = True
                self._process.cancel()

    def _stand_still(self) -> None:
        for work in self._stage.running:
            if work.member.startswith(self.name):
                work.stood_still = True
        self._clock.stand_still(is_suspended=self._random.random() < 0.5)

    async def _work(self, identity: str, shard: Shard) -> None:
        stays = self._random.choice((5.0, 30.0, 1e6)) if self._stage.world.monotonic() < TROUBLED else 1e6
        async with anyio.create_task_group() as tasks:
            scope = tasks.cancel_scope
            end = self._clock.monotonic() + stays
            timers = [
                self._clock.call_at(end, shard.retire),
                self._clock.call_at(end + self._random.uniform(0, 10), scope.cancel),
            ]
            try:
                for key in KEYS:
                    tasks.start_soon(self._take, key, identity, shard)
                await anyio.sleep_forever()
            finally:
                for timer in timers:
                    timer.cancel()

    async def _take(self, key: ObjectKey, identity: str, shard: Shard) -> None:
        while True:
            if not self._clock.stands_still and shard.enter(key) is Admission.NOW:
                try:
                    with self._stage.work(identity, key) as work:
                        await self._hold(work, shard)
                finally:
                    shard.leave(key)
            await self._clock.sleep(2.0)

    async def _hold(self, work: Work, shard: Shard) -> None:
        try:
            await self._clock.sleep(self._random.choice((0.1, 1.0, 3.0, 8.0)))
            self._write(work, shard)
        finally:
            if self._stage.lingers and not self._link.is_dead:
                with anyio.CancelScope(shield=True):
                    await self._clock.sleep(self._random.uniform(0, 3))
                    self._write(work, shard)

    def _write(self, work: Work, shard: Shard) -> None:
        if shard.is_held and not self._clock.stands_still and not self._link.is_dead:
            self._stage.write(work)
