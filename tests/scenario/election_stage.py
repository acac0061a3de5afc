"""Several replicas with clocks, machines and connections that each misbehave, and one Lease that they vote by.

Everything is drawn from a seed: how fast and how wrong each clock is, when a machine stands still, and for how long, when a
connection is cut, and how long each message takes. A request that is given up on may still arrive.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

import anyio

from kinformer.clock import Timer
from kinformer.controller import LeaderElection, Leadership
from kinformer.controller._leadership import Campaign
from kinformer.controller._lease import LEASES
from kinformer.errors import ConflictError, KinformerError, LeadershipLostError, NotFoundError
from kinformer.hooks import NoHooks
from kinformer.meta import Object, ObjectKey
from kinformer.testing import FakeClock

KEY: Final = ObjectKey("default", "operator")
TROUBLED: Final = 60.0
"""Seconds of each schedule in which things go wrong; then all is well, and somebody must come to lead."""
HEALED: Final = 45.0
"""Seconds until then: a late write may make one that has gone the holder, whose lease lasts for 15 s of a slow clock."""


class MachineClock(FakeClock):
    """The clock of a machine whose time goes by the world's, but at its own rate, and not where it stands still."""

    def __init__(self, world: FakeClock, random: Random, *, spread: float) -> None:
        super().__init__()
        self.world = world
        self._random = random
        self._rate = random.uniform(1 - spread, 1 + spread)
        self._offset = random.uniform(-1e6, 1e6)
        self._skew = timedelta(seconds=random.uniform(-1e5, 1e5))
        self._stood = 0.0  # seconds of the world for which the monotonic clock has stood
        self._stands_since: float | None = None
        self._late: list[Callable[[], None]] | None = (
            None  # what waits for the machine to go on, while it stands
        )

    def monotonic(self) -> float:
        until = self.world.monotonic() if self._stands_since is None else self._stands_since
        return self._offset + (until - self._stood) * self._rate

    def now(self) -> datetime:
        return self.world.now() + self._skew

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        timer = _Timer(self, when, callback)
        timer.arm()
        return timer

    async def sleep(self, delay: float) -> None:
        woken = anyio.Event()
        timer = self.call_at(self.monotonic() + delay, woken.set)
        try:
            await woken.wait()
        finally:
            timer.cancel()

    def hand_over(self, callback: Callable[[], None]) -> None:
        """Do something on this machine, as soon as it goes on."""
        if self._late is None:
            callback()
        else:
            self._late.append(callback)

    def stand_still(self, *, is_suspended: bool) -> None:
        """Run nothing; a machine that is suspended has a monotonic clock that stands too."""
        self._late = []
        if is_suspended:
            self._stands_since = self.world.monotonic()

    def go_on(self) -> None:
        late, self._late = self._late or [], None
        if self._stands_since is not None:
            self._stood += self.world.monotonic() - self._stands_since
            self._stands_since = None
        self._random.shuffle(late)  # what is due comes in any order
        for callback in late:
            callback()

    @property
    def stands_still(self) -> bool:
        return self._late is not None

    @property
    def rate(self) -> float:
        return self._rate


class _Timer:
    def __init__(self, clock: MachineClock, when: float, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._when = when
        self._callback = callback
        self._is_cancelled = False

    def arm(self) -> None:
        world = self._clock.world
        delay = max(0.0, (self._when - self._clock.monotonic()) / self._clock.rate)
        world.call_at(world.monotonic() + delay, lambda: self._clock.hand_over(self._ring))

    def _ring(self) -> None:
        if self._is_cancelled:
            return
        if self._clock.monotonic() < self._when - 1e-6:  # it stood still meanwhile
            self.arm()
        else:
            self._callback()

    def cancel(self) -> None:
        self._is_cancelled = True


class Server:
    """One Lease, with the versions of an apiserver."""

    def __init__(self) -> None:
        self.lease: Object | None = None
        self._version = 0

    def get(self) -> Object:
        if self.lease is None:
            raise NotFoundError(404, "NotFound", "no such lease")
        return self.lease

    def create(self, content: dict[str, Any]) -> Object:
        if self.lease is not None:
            raise ConflictError(409, "AlreadyExists", "it exists")
        return self._store(content)

    def replace(self, content: dict[str, Any]) -> Object:
        if content["metadata"]["resourceVersion"] != self.get().metadata.resource_version:
            raise ConflictError(409, "Conflict", "the object has changed")
        return self._store(content)

    def _store(self, content: dict[str, Any]) -> Object:
        self._version += 1
        metadata = content["metadata"] | {"resourceVersion": str(self._version)}
        self.lease = Object.from_mapping(content | {"metadata": metadata}, LEASES)
        return self.lease


class Link:
    """A machine's way to the server: slow, cut at times, and nobody learns what became of a message."""

    def __init__(self, server: Server, clock: MachineClock, random: Random) -> None:
        self._server = server
        self._clock = clock
        self._random = random
        self.is_cut = False

    async def get(self, key: ObjectKey | str) -> Object:
        return await self._ask(self._server.get)

    async def create(self, obj: dict[str, Any]) -> Object:
        return await self._ask(lambda: self._server.create(obj))

    async def replace(self, obj: dict[str, Any]) -> Object:
        return await self._ask(lambda: self._server.replace(obj))

    async def _ask(self, call: Callable[[], Object]) -> Object:
        answered = anyio.Event()
        answers: list[Object | KinformerError] = []
        world = self._clock.world

        def hear() -> None:
            answered.set()

        def arrive() -> None:
            if self.is_cut and self._random.random() < 0.7:
                return
            try:
                answers.append(call())
            except KinformerError as error:
                answers.append(error)
            if not self.is_cut:
                world.call_at(world.monotonic() + self._latency(), lambda: self._clock.hand_over(hear))

        if not self.is_cut or self._random.random() < 0.3:
            world.call_at(world.monotonic() + self._latency(), arrive)
        await answered.wait()
        if isinstance(answers[0], KinformerError):
            raise answers[0]
        return answers[0]

    def _latency(self) -> float:
        return self._random.choice((0.01, 0.05, 0.2, 1.0, 8.0) if self.is_cut else (0.01, 0.02, 0.05))


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
