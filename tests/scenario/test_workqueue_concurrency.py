"""Workers, re-adds, delays, retries, cancellations and shut-down all at once: what the queue promises must hold."""

import math
from asyncio import all_tasks
from collections.abc import Hashable
from random import Random

import anyio

from kinformer.hooks import KeyAdded, KeyDone, KeyTaken, NoHooks
from kinformer.testing import FakeClock, settle
from kinformer.workqueue import Limiter, PriorityReady, WorkQueue, controller_default

WORKERS = 64
KEYS = 10_000, *19 * (300,)
"""By seed, in turn: many of them show little more, and take ten times as long."""
STEPS = 120


class Witness(NoHooks):
    """Counts the keys that a queue says it has added, handed out and got back."""

    def __init__(self) -> None:
        self.added = self.taken = self.done = 0

    def key_added(self, event: KeyAdded, /) -> None:
        self.added += 1

    def key_taken(self, event: KeyTaken, /) -> None:
        self.taken += 1

    def key_done(self, event: KeyDone, /) -> None:
        self.done += 1


class World:
    """Counts what was asked for and what was done about it. It is the limiter too, so as to hear of the waits."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.keys = KEYS[seed % len(KEYS)]
        self.clock = FakeClock()
        self.limiter: Limiter[Hashable] = controller_default(Random(seed), clock=self.clock, attempts=3)
        self.hooks = Witness() if seed % 3 == 0 else None
        order = PriorityReady[int](ageing=5, bucket=lambda key: key % 7) if seed % 2 else None
        self.queue = WorkQueue[int]("world", ready=order, clock=self.clock, limiter=self, hooks=self.hooks)
        self.asked = dict.fromkeys(range(self.keys), 0)  # how often a run was asked for
        self.moments: dict[int, float] = {}  # the moment that a key waits for, or that its next run is due to
        self.answered = dict.fromkeys(range(self.keys), 0)  # the value of asked when the newest run began
        self.runs = dict.fromkeys(range(self.keys), 0)
        self.held: set[int] = set()
        self.scopes: list[anyio.CancelScope] = []
        self.cancelled = 0
        self.parked = 0

    def delay(self, key: int, /) -> float:
        delay = self.limiter.delay(key)
        if delay < math.inf:
            self.owe(key, delay)
        else:
            self.parked += 1
        return delay

    def forget(self, key: int, /) -> None:
        self.limiter.forget(key)

    def requeues(self, key: int, /) -> int:
        return self.limiter.requeues(key)

    def ask(self, key: int) -> None:
        self.asked[key] += 1
        self.queue.add(key, priority=self.random.choice([-100, 0, 0, 5]))

    def ask_later(self, key: int, delay: float) -> None:
        self.owe(key, delay)
        self.queue.add_after(key, delay)

    def owe(self, key: int, delay: float) -> None:
        self.asked[key] += 1
        now = self.clock.monotonic()
        if delay > 0:
            moment = self.moments.get(key, math.inf)
            self.moments[key] = min(moment if moment > now else math.inf, now + delay)

    async def work(self) -> None:
        """One worker, which may be cancelled at any await."""
        scope = anyio.CancelScope()
        self.scopes.append(scope)
        with scope:
            async for lease in self.queue:
                with lease as key:
                    assert key not in self.held, "in two hands"
                    self.held.add(key)
                    try:
                        await self.reconcile(key)
                    finally:
                        self.held.remove(key)
        self.scopes.remove(scope)
        self.cancelled += scope.cancelled_caught

    async def reconcile(self, key: int) -> None:
        self.runs[key] += 1
        self.answered[key] = self.asked[key]
        if self.moments.get(key, math.inf) <= self.clock.monotonic():
            del self.moments[key]
        if self.random.random() < 0.8:
            await self.clock.sleep(self.random.choice([0.0, 0.01, 0.1]))
        match self.random.randrange(12):
            case 0:
                self.ask(key)  # while held: one more run
            case 1 | 2:
                self.queue.add_rate_limited(key, error=ValueError(key))
            case 3:
                self.ask_later(key, self.random.uniform(0.0, 1.0))
            case 4:
                self.ask(self.random.randrange(self.keys))
            case 5:
                pass  # done, and nobody says that it may be forgotten
            case _:
                self.queue.forget(key)

    async def disturb(self, group: anyio.abc.TaskGroup, steps: int) -> None:
        """Add, delay, cancel workers and replace them, and let time pass."""
        for key in range(self.keys):
            self.ask(key)
        await settle()
        for _ in range(steps):
            for _ in range(self.random.randrange(12)):
                self.ask(self.random.randrange(self.keys))
            for _ in range(self.random.randrange(4)):
                self.ask_later(self.random.randrange(self.keys), self.random.uniform(-0.1, 2.0))
            if self.random.random() < 0.3:
                self.random.choice([scope for scope in self.scopes if not scope.cancel_called]).cancel()
                if self.random.random() < 0.5:
                    self.ask(self.random.randrange(self.keys))  # before the cancelled worker has heard of it
                group.start_soon(self.work)
            if self.random.random() < 0.7:
                await self.clock.advance(self.random.choice([0.0, 0.005, 0.05, 0.1]))

    async def come_to_rest(self) -> None:
        while self.held or len(self.queue) or self.queue.delayed:
            await self.clock.advance(10.0)

    def check_witness(self) -> None:
        if self.hooks is not None:
            assert self.hooks.added == self.hooks.taken == self.hooks.done == sum(self.runs.values())


async def test_every_ask_is_answered_and_no_key_is_in_two_hands(seed: int) -> None:
    world = World(seed)
    before = all_tasks()
    async with anyio.create_task_group() as group:
        for _ in range(WORKERS):
            group.start_soon(world.work)
        await world.disturb(group, STEPS)
        await world.come_to_rest()
        await world.queue.drain()
        assert len(world.scopes) == WORKERS
        assert len(world.queue._sleeping) == WORKERS
        world.queue.shut_down()
    assert all_tasks() == before
    assert world.cancelled > STEPS / 8
    assert world.parked > 0
    assert world.clock.next_timer is None
    assert not world.queue._sleeping
    assert not world.moments
    for key in range(world.keys):
        assert world.answered[key] == world.asked[key], f"an ask for {key} came after its last run"
        assert world.runs[key] <= world.asked[key], f"{key} ran more often than it was asked for"
    world.check_witness()
    known = [key for key in range(world.keys) if world.limiter.requeues(key)]
    assert len(known) == len(world.queue._failing) <= world.keys / 8, (
        "the failures of keys that are gone are kept"
    )


async def test_shut_down_at_any_moment_hands_out_what_is_ready_and_nothing_else(seed: int) -> None:
    world = World(seed)
    before = all_tasks()
    drained: list[int] = []

    async def drain(number: int) -> None:
        await world.queue.drain()
        drained.append(number)

    async with anyio.create_task_group() as group:
        for _ in range(WORKERS):
            group.start_soon(world.work)
        await world.disturb(group, world.random.randrange(STEPS))
        for key in range(0, world.keys, 3):
            world.ask(key)
        for key in range(0, world.keys, 7):
            world.ask_later(key, 100.0)
        owed = world.queue._ready.depth
        runs = sum(world.runs.values())
        world.queue.shut_down()
        world.ask(0)
        world.ask_later(1, 0.5)
        group.start_soon(drain, 1)
        group.start_soon(drain, 2)
        await settle()
        assert drained == []
        await world.clock.advance(1000.0)
        assert sorted(drained) == [1, 2]
    assert sum(world.runs.values()) - runs == owed
    assert len(world.queue) == 0
    assert not world.held
    assert world.clock.next_timer is None
    assert all_tasks() == before
    world.check_witness()
