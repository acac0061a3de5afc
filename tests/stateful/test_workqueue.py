"""WorkQueue with waiting getters, drains, timers, retries and cancellation, against a model of plain lists.

Four queues against one model: the plain one, which takes the short way; one with hooks; one whose order is a subclass of
``Ready`` and so takes the long way; and one with priorities.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.errors import ClosedError
from kinformer.hooks import KeyAdded, KeyDone, KeyParked, KeyResumed, KeyTaken, NoHooks
from kinformer.testing import FakeClock, settle
from kinformer.workqueue import (
    DelayedKey,
    ExponentialLimiter,
    MaxAttempts,
    ParkedKey,
    PriorityReady,
    Ready,
    ReadyKeys,
    RunningKey,
    TimedRetries,
    WorkQueue,
)
from tests.stateful.queue_models import Fifo, Levels

KEYS = st.sampled_from("abcd")
PRIORITIES = st.integers(-1, 1)
ATTEMPTS = {"a": 1, "b": 1, "c": 2, "d": 3}


class Choosy:
    """Gives up some keys sooner than others."""

    def __init__(self) -> None:
        self.limiters = {
            key: MaxAttempts[str](ExponentialLimiter(1.0, 3.0), attempts)
            for key, attempts in ATTEMPTS.items()
        }

    def delay(self, key: str, /) -> float:
        return self.limiters[key].delay(key)

    def forget(self, key: str, /) -> None:
        self.limiters[key].forget(key)

    def requeues(self, key: str, /) -> int:
        return self.limiters[key].requeues(key)


class Counting(NoHooks):
    """What an exporter would show."""

    def __init__(self) -> None:
        self.depth = self.adds = self.taken = self.done = self.parked = 0

    def key_added(self, event: KeyAdded, /) -> None:
        self.adds += 1
        self.depth = event.depth

    def key_taken(self, event: KeyTaken, /) -> None:
        self.taken += 1
        self.depth = event.depth

    def key_done(self, event: KeyDone, /) -> None:
        self.done += 1

    def key_parked(self, event: KeyParked, /) -> None:
        self.parked = event.parked

    def key_resumed(self, event: KeyResumed, /) -> None:
        self.parked = event.parked


class WorkQueueMachine(RuleBasedStateMachine):
    """After every step the loop comes to rest; then each key that is ready and each getter that waits have met.

    The tasks outlive the steps, so they belong to the machine's event loop and not to a task group: ``teardown`` ends
    them. They are cancelled as tasks, which strikes even where a getter was woken already.
    """

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        limiter = TimedRetries[str](Choosy(), self.clock)
        self.hooks = self.make_hooks()
        self.queue = WorkQueue[str](
            clock=self.clock, ready=self.make_ready(), limiter=limiter, hooks=self.hooks
        )
        self.getters: list[asyncio.Task[None]] = []  # those that wait, longest first
        self.drains: list[asyncio.Task[None]] = []
        self.got: list[str] = []
        self.refused = 0
        # the model
        self.model = self.make_model()
        self.since: dict[str, float] = {}
        self.delayed: dict[str, tuple[float, int]] = {}
        self.priorities: dict[str, int] = {}  # of the delayed ones
        self.failures: dict[str, int] = {}
        self.due: dict[str, float] = {}  # when the wait of a failure is over
        self.parked: dict[str, ParkedKey[str]] = {}
        self.calls = 0
        self.adds = 0
        self.is_shut_down = False
        self.expected: list[str] = []
        self.expected_refused = 0

    def make_ready(self) -> ReadyKeys[str] | None:
        return None

    def make_hooks(self) -> Counting | None:
        return None

    def make_model(self) -> Levels:
        return Fifo()

    def teardown(self) -> None:
        self.queue.shut_down()
        self.rest()
        self.runner.close()
        assert not self.queue._sleeping

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.runner.get_loop().create_task(work)

    def rest(self) -> None:
        self.runner.run(settle())

    async def get(self) -> None:
        try:
            self.got.append(await self.queue.get())
        except ClosedError:
            self.refused += 1

    def want(self, key: str, priority: int = 0) -> None:
        if not self.is_shut_down:
            self.parked.pop(key, None)
            self.adds += self.model.add(key, priority)

    def want_later(self, key: str, delay: float, priority: int | None) -> None:
        if self.is_shut_down:
            return
        if priority is None:
            waiting = {wish.key: wish.priority for wish in self.model.wishes}
            priority = self.model.held.get(key, waiting.get(key, 0))
        if delay <= 0:
            self.want(key, priority)
            return
        when = self.clock.monotonic() + delay
        self.calls += 1
        if key not in self.delayed or when < self.delayed[key][0]:
            self.delayed[key] = (when, self.calls)
        self.priorities[key] = max(priority, self.priorities.get(key, priority))

    def meet(self) -> None:
        """Let the loop come to rest, and the model with it."""
        self.rest()
        while self.model.wishes and self.getters:
            key = self.model.take()
            self.expected.append(key)
            self.since[key] = self.clock.monotonic()
            del self.getters[0]
        if self.is_shut_down:
            self.expected_refused += len(self.getters)
            self.getters.clear()
        if not self.model.wishes and not self.model.held:
            for drain in self.drains:
                assert drain.done(), "a drain still waits for an idle queue"
            self.drains.clear()

    @rule(number=st.integers(1, 3))
    def start_getters(self, number: int) -> None:
        self.getters.extend([self.start(self.get()) for _ in range(number)])
        self.meet()

    @rule()
    def start_a_drain(self) -> None:
        self.drains.append(self.start(self.queue.drain()))
        self.meet()

    @rule(keys=st.lists(KEYS, min_size=1, max_size=3), priority=PRIORITIES)
    def add(self, keys: list[str], priority: int) -> None:
        for key in keys:
            self.queue.add(key, priority=priority)
            self.want(key, priority)
        self.meet()

    @precondition(lambda self: self.model.held)
    @rule(data=st.data(), is_put_down=st.booleans())
    def add_what_is_held(self, data: st.DataObject, is_put_down: bool) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.held)))
        self.queue.add(key)
        self.want(key)
        if is_put_down:
            self.put_down(key)
        self.meet()

    @rule(key=KEYS, delay=st.integers(-1, 5), priority=st.none() | PRIORITIES)
    def add_after(self, key: str, delay: int, priority: int | None) -> None:
        self.queue.add_after(key, float(delay), priority=priority)
        self.want_later(key, delay, priority)
        self.meet()

    @precondition(lambda self: self.model.held)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.model.held)))
        self.queue.add_rate_limited(key, error=ValueError(key))
        self.expect_failure(key)
        self.put_down(key)
        self.meet()

    def expect_failure(self, key: str) -> None:
        if self.is_shut_down:
            return
        now = self.clock.monotonic()
        if self.due.get(key, now) > now:
            self.want_later(key, self.due[key] - now, None)
            return
        failures = self.failures.get(key, 0) + 1
        if failures < ATTEMPTS[key]:
            self.failures[key] = failures
            delay = min(2.0 ** (failures - 1), 3.0)
            self.due[key] = now + delay
            self.want_later(key, delay, None)
        else:
            self.expect_success(key)
            if key not in self.model.again:
                self.parked[key] = ParkedKey(key, now, failures, f"ValueError: {key}")

    def expect_success(self, key: str) -> None:
        self.failures.pop(key, None)
        self.due.pop(key, None)
        self.parked.pop(key, None)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.queue.forget(key)
        self.expect_success(key)

    @rule(delay=st.integers(0, 4))
    def advance(self, delay: int) -> None:
        for step in [1.0] * delay or [0.0]:  # all moments are whole seconds
            self.runner.run(self.clock.advance(step))
            for key in sorted(self.delayed, key=self.delayed.__getitem__):
                if self.delayed[key][0] <= self.clock.monotonic():
                    del self.delayed[key]
                    self.want(key, self.priorities.pop(key))
            self.meet()

    def put_down(self, key: str) -> None:
        self.queue.done(key)
        del self.since[key]
        self.model.done(key)

    @precondition(lambda self: self.model.held)
    @rule(data=st.data(), added_before_anybody_wakes=st.lists(KEYS, max_size=1))
    def done(self, data: st.DataObject, added_before_anybody_wakes: list[str]) -> None:
        held = st.sampled_from(sorted(self.model.held))
        for key in data.draw(st.lists(held, min_size=1, unique=True)):
            self.put_down(key)
        for key in added_before_anybody_wakes:
            self.queue.add(key)
            self.want(key)
        self.meet()

    @rule(key=KEYS)
    def done_with_what_nobody_holds(self, key: str) -> None:
        if key not in self.model.held:
            try:
                self.queue.done(key)
            except ValueError:
                return
            raise AssertionError(f"{key} was put down, and nobody had it")

    @precondition(lambda self: self.getters)
    @rule(key=KEYS, number=st.integers(0, 3), is_added_first=st.booleans())
    def cancel_a_getter_while_a_key_comes(self, key: str, number: int, is_added_first: bool) -> None:
        getter = self.getters.pop(number % len(self.getters))
        if not is_added_first:
            getter.cancel()
        self.queue.add(key)
        if is_added_first:
            getter.cancel()
        self.want(key)
        self.meet()
        assert getter.cancelled()

    @precondition(lambda self: self.drains)
    @rule()
    def cancel_a_drain(self) -> None:
        drain = self.drains.pop()
        drain.cancel()
        self.meet()
        assert drain.cancelled()

    @precondition(lambda self: self.calls > 2)
    @rule()
    def shut_down(self) -> None:
        self.queue.shut_down()
        self.is_shut_down = True
        self.delayed.clear()
        self.priorities.clear()
        self.meet()

    @invariant()
    def keys_and_getters_have_met(self) -> None:
        assert self.got == self.expected
        assert self.refused == self.expected_refused
        assert len(self.queue._sleeping) == len(self.getters)
        assert not any(getter.done() for getter in self.getters)

    @invariant()
    def the_queue_holds_what_the_model_holds(self) -> None:
        assert len(self.queue) == len(self.model.wishes)
        assert self.queue.delayed == len(self.delayed)
        assert self.clock.next_timer == min((when for when, _ in self.delayed.values()), default=None)
        assert self.queue.parked == len(self.parked)

    @invariant()
    def failures_are_counted_and_only_those_of_keys_that_are_gone_are_forgotten(self) -> None:
        for key in "abcd":
            assert self.queue.is_parked(key) == (key in self.parked)
            is_gone = key not in self.delayed and key not in self.model.held and key not in self.model.queued
            if is_gone and self.queue.requeues(key) == 0:
                self.failures.pop(key, None)
                self.due.pop(key, None)
            assert self.queue.requeues(key) == self.failures.get(key, 0)

    @invariant()
    def the_snapshot_shows_the_model(self) -> None:
        snapshot = self.queue.snapshot()
        assert snapshot.now == self.clock.monotonic()
        assert {(ready.key, ready.priority) for ready in snapshot.ready} == {
            (wish.key, wish.priority) for wish in self.model.wishes
        }
        order = sorted(self.delayed, key=self.delayed.__getitem__)
        assert snapshot.delayed == tuple(
            DelayedKey(key, self.delayed[key][0], self.priorities[key]) for key in order
        )
        assert set(snapshot.running) == {
            RunningKey(key, since, key in self.model.again) for key, since in self.since.items()
        }
        assert snapshot.parked == tuple(self.parked.values())

    @invariant()
    def the_gauges_and_the_hooks_agree_with_the_model(self) -> None:
        gauges = self.queue.gauges()
        ages = [self.clock.monotonic() - since for since in self.since.values()]
        assert gauges.depth == self.model.depth
        assert (gauges.unfinished_work, gauges.longest_running) == (sum(ages), max(ages, default=0.0))
        assert (gauges.delayed, gauges.parked) == (len(self.delayed), len(self.parked))
        if self.hooks is not None:
            assert self.hooks.adds == self.adds
            assert self.hooks.depth == self.model.depth
            assert self.hooks.taken == len(self.got) == self.hooks.done + len(self.since)
            assert self.hooks.parked == len(self.parked)
            assert gauges.oldest_waiting.keys() == {wish.priority for wish in self.model.wishes}

    @invariant()
    def drains_wait_exactly_while_there_is_work(self) -> None:
        assert not any(drain.done() for drain in self.drains)


class HookedQueueMachine(WorkQueueMachine):
    def make_hooks(self) -> Counting:
        return Counting()


class PluggedQueueMachine(WorkQueueMachine):
    def make_ready(self) -> ReadyKeys[str]:
        class Other(Ready[str]):
            pass

        return Other()


class PriorityQueueMachine(HookedQueueMachine):
    def make_ready(self) -> ReadyKeys[str]:
        return PriorityReady(ageing=3)

    def make_model(self) -> Levels:
        return Levels(3, lambda key: None)


TestWorkQueue = WorkQueueMachine.TestCase
TestHookedQueue = HookedQueueMachine.TestCase
TestPluggedQueue = PluggedQueueMachine.TestCase
TestPriorityQueue = PriorityQueueMachine.TestCase
