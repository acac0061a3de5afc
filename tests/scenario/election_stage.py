"""Several replicas with clocks, machines and connections that each misbehave, and one Lease that they vote by.

Everything is drawn from a seed: how fast and how wrong each clock is, when a machine stands still, and for how long, when a
connection is cut, and how long each message takes. A request that is given up on may still arrive.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Final

import anyio

from kinformer.controller import LeaderElection, Leadership
from kinformer.controller._leadership import Campaign
from kinformer.errors import LeadershipLostError
from kinformer.hooks import NoHooks
from kinformer.meta import ObjectKey
from kinformer.testing import FakeClock
from tests.scenario.machines import Link, MachineClock, Server

KEY: Final = ObjectKey("default", "operator")
TROUBLED: Final = 60.0
"""Seconds of each schedule in which things go wrong; then all is well, and somebody must come to lead."""
HEALED: Final = 45.0
"""Seconds until then: a late write may make one that has gone the holder, whose lease lasts for 15 s of a slow clock."""


@dataclass
class Term:
    """Somebody's time in the block that only a leader runs."""

    replica: str
    began: float
    stood_still: bool = False


class Stage:
    """The world of one schedule. It fails where two replicas lead at once."""

    def __init__(self, seed: int, *, replicas: int = 3) -> None:
        self.random = Random(seed)
        self.world = FakeClock()
        self.server = Server()
        self.terms: list[Term] = []
        self.running: list[Term] = []
        self.writes = 0
        # Either the clocks differ in rate as far as they may, or a leader takes a while to stop.
        self.lingers = self.random.random() < 0.5
        spread = 0.05 if self.lingers else 0.18
        self.replicas = [Replica(f"r{number}", self, spread=spread) for number in range(replicas)]

    @contextmanager
    def term(self, replica: "Replica") -> Iterator[Term]:
        term = Term(replica.name, self.world.monotonic())
        others = [other for other in self.running if not other.stood_still]
        assert not others, f"{replica.name} begins while {others} lead, at {term.began}"
        self.terms.append(term)
        self.running.append(term)
        try:
            yield term
        finally:
            self.running.remove(term)

    def write(self, term: Term) -> None:
        """What a leader does after its fencing check. It must be the latest of all leaders."""
        self.writes += 1
        assert self.terms[-1] is term, (
            f"{term} writes at {self.world.monotonic()} after {self.terms[-1]} began"
        )

    async def play(self) -> None:
        """Let things go wrong for a while and then be well."""
        async with anyio.create_task_group() as tasks:
            for replica in self.replicas:
                tasks.start_soon(replica.live)
                tasks.start_soon(replica.suffer)
            try:
                await self.world.advance(TROUBLED + HEALED)
                assert self.running, "nobody leads although all is well"
            finally:
                tasks.cancel_scope.cancel()
                with anyio.CancelScope(shield=True):
                    await self.world.advance(2 * HEALED)  # they stop, and give back the lease


class Replica:
    """One process that wants to lead, on a machine of its own."""

    def __init__(self, name: str, stage: Stage, *, spread: float) -> None:
        self.name = name
        self._stage = stage
        self._random = Random(stage.random.random())
        self._clock = MachineClock(stage.world, self._random, spread=spread)
        self._link = Link(stage.server, self._clock, self._random)
        self._term: Term | None = None

    async def live(self) -> None:
        """Lead whenever it may, for a while, and then stand by again, perhaps as a new process."""
        for life in range(1000):
            election = LeaderElection(KEY.name, identity=f"{self.name}.{life // 3}")
            campaign = Campaign(
                election, KEY, self._link, clock=self._clock, random=self._random, hooks=NoHooks()
            )
            try:
                async with campaign.lead() as leadership:
                    await self._work(leadership)
            except LeadershipLostError:
                await self._clock.sleep(self._random.uniform(0.1, 5))

    async def suffer(self) -> None:
        world = self._stage.world
        while True:
            await world.sleep(self._random.expovariate(1 / 20))
            ill = min(self._random.expovariate(1 / 10), TROUBLED - world.monotonic())
            if ill <= 0:
                return
            if self._random.random() < 0.5:
                self._link.is_cut = True
                await world.sleep(ill)
                self._link.is_cut = False
            else:
                if self._term is not None:
                    self._term.stood_still = True
                self._clock.stand_still(is_suspended=self._random.random() < 0.5)
                await world.sleep(ill)
                self._clock.go_on()

    async def _work(self, leadership: Leadership) -> None:
        stays = self._random.choice((5.0, 30.0, 1e6)) if self._stage.world.monotonic() < TROUBLED else 1e6
        with self._stage.term(self) as term:
            self._term = term
            try:
                end = self._clock.monotonic() + stays
                while self._clock.monotonic() < end:
                    await self._clock.sleep(self._random.uniform(0.5, 2))
                    self._write(term, leadership)
            finally:
                if self._stage.lingers:
                    with anyio.CancelScope(shield=True):
                        await self._clock.sleep(self._random.uniform(0, 3))
                        self._write(term, leadership)
                self._term = None

    def _write(self, term: Term, leadership: Leadership) -> None:
        if leadership.is_held and not self._clock.stands_still:
            self._stage.write(term)
