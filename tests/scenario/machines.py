"""Machines whose clocks go as they like and stand still at times, and their ways to a server that has Leases.

A request that is given up on may still arrive.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from random import Random
from typing import Any, TypeVar

import anyio

from kinformer.clock import Timer
from kinformer.controller._lease import LEASES
from kinformer.errors import ConflictError, KinformerError, NotFoundError, TransportError
from kinformer.meta import Object, ObjectKey, ObjectList
from kinformer.testing import FakeClock

T = TypeVar("T")


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
    """Leases, with the versions of an apiserver."""

    def __init__(self) -> None:
        self.leases: dict[str, Object] = {}
        self._version = 0

    def get(self, name: str) -> Object:
        if name not in self.leases:
            raise NotFoundError(404, "NotFound", "no such lease")
        return self.leases[name]

    def list(self) -> ObjectList[Object]:
        return ObjectList(tuple(self.leases.values()), str(self._version))

    def create(self, content: dict[str, Any]) -> Object:
        if content["metadata"]["name"] in self.leases:
            raise ConflictError(409, "AlreadyExists", "it exists")
        return self._store(content)

    def replace(self, content: dict[str, Any]) -> Object:
        self._check(content["metadata"]["name"], content["metadata"]["resourceVersion"])
        return self._store(content)

    def delete(self, name: str, version: str) -> None:
        self._check(name, version)
        del self.leases[name]

    def _check(self, name: str, version: str) -> None:
        if version != self.get(name).metadata.resource_version:
            raise ConflictError(409, "Conflict", "the object has changed")

    def _store(self, content: dict[str, Any]) -> Object:
        self._version += 1
        metadata = content["metadata"] | {"resourceVersion": str(self._version)}
        lease = Object.from_mapping(content | {"metadata": metadata}, LEASES)
        self.leases[lease.metadata.name] = lease
        return lease


class Link:
    """A machine's way to the server: slow, cut at times, and nobody learns what became of a message."""

    def __init__(self, server: Server, clock: MachineClock, random: Random) -> None:
        self._server = server
        self._clock = clock
        self._random = random
        self.is_cut = False
        self.is_dead = False
        """The process is gone: it sends nothing any more, and what it has sent arrives."""

    async def get(self, key: ObjectKey | str) -> Object:
        return await self._ask(lambda: self._server.get(_name(key)))

    async def list(self, *, namespace: str, labels: str) -> ObjectList[Object]:
        return await self._ask(self._server.list)

    async def create(self, obj: dict[str, Any]) -> Object:
        return await self._ask(lambda: self._server.create(obj))

    async def replace(self, obj: dict[str, Any]) -> Object:
        return await self._ask(lambda: self._server.replace(obj))

    async def delete(self, key: ObjectKey | str, *, uid: str, version: str) -> None:
        await self._ask(lambda: self._server.delete(_name(key), version))

    async def _ask(self, call: Callable[[], T]) -> T:
        if self.is_dead:
            raise TransportError("nobody is there to ask")
        answered = anyio.Event()
        answers: list[T] = []
        errors: list[KinformerError] = []
        world = self._clock.world

        def hear() -> None:
            answered.set()

        def arrive() -> None:
            if self.is_cut and self._random.random() < 0.7:
                return
            try:
                answers.append(call())
            except KinformerError as error:
                errors.append(error)
            if not self.is_cut:
                world.call_at(world.monotonic() + self._latency(), lambda: self._clock.hand_over(hear))

        if not self.is_cut or self._random.random() < 0.3:
            world.call_at(world.monotonic() + self._latency(), arrive)
        await answered.wait()
        if errors:
            raise errors[0]
        return answers[0]

    def _latency(self) -> float:
        return self._random.choice((0.01, 0.05, 0.2, 1.0, 8.0) if self.is_cut else (0.01, 0.02, 0.05))


def _name(key: ObjectKey | str) -> str:
    return key.name if isinstance(key, ObjectKey) else ObjectKey.parse(key).name
