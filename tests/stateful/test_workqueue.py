"""WorkQueue with waiting getters, drains, timers and cancellation, against a model of plain lists."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.errors import ClosedError
from kinformer.testing import FakeClock, settle
from kinformer.workqueue import WorkQueue

KEYS = st.sampled_from("abcd")


class WorkQueueMachine(RuleBasedStateMachine):
    """After every step the loop comes to rest; then each key that is ready and each getter that waits have met.

    The tasks outlive the steps, so they belong to the machine's event loop and not to a task group: ``teardown`` ends
    them. They are cancelled as tasks, which strikes even where a getter was woken already.
    """

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.queue = WorkQueue[str](clock=self.clock)
        self.getters: list[asyncio.Task[None]] = []  # those that wait, longest first
        self.drains: list[asyncio.Task[None]] = []
        self.got: list[str] = []
        self.refused = 0
        # the model
        self.queued: list[str] = []
        self.again: set[str] = set()
        self.held: set[str] = set()
        self.delayed: dict[str, tuple[float, int]] = {}
        self.calls = 0
        self.is_shut_down = False
        self.expected: list[str] = []
        self.expected_refused = 0

    def teardown(self) -> None:
        self.queue.shut_down()
        self.rest()
        self.runner.close()
        assert not self.queue._getters

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self.runner.get_loop().create_task(work)

    def rest(self) -> None:
        self.runner.run(settle())

    async def get(self) -> None:
        try:
            self.got.append(await self.queue.get())
        except ClosedError:
            self.refused += 1

    def want(self, key: str) -> None:
        if key in self.held:
            self.again.add(key)
        elif key not in self.queued:
            self.queued.append(key)

    def meet(self) -> None:
        """Let the loop come to rest, and the model with it."""
        self.rest()
        while self.queued and self.getters:
            key = self.queued.pop(0)
            self.expected.append(key)
            self.held.add(key)
            del self.getters[0]
        if self.is_shut_down:
            self.expected_refused += len(self.getters)
            self.getters.clear()
        if not self.queued and not self.held:
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

    @rule(keys=st.lists(KEYS, min_size=1, max_size=3))
    def add(self, keys: list[str]) -> None:
        for key in keys:
            self.queue.add(key)
            if not self.is_shut_down:
                self.want(key)
        self.meet()

    @rule(key=KEYS, delay=st.integers(-1, 5))
    def add_after(self, key: str, delay: int) -> None:
        self.queue.add_after(key, float(delay))
        if not self.is_shut_down:
            when = self.clock.monotonic() + delay
            self.calls += 1
            if delay <= 0:
                self.want(key)
            elif key not in self.delayed or when < self.delayed[key][0]:
                self.delayed[key] = (when, self.calls)
        self.meet()

    @rule(delay=st.integers(0, 4))
    def advance(self, delay: int) -> None:
        self.runner.run(self.clock.advance(float(delay)))
        for key in sorted(self.delayed, key=self.delayed.__getitem__):
            if self.delayed[key][0] <= self.clock.monotonic():
                del self.delayed[key]
                self.want(key)
        self.meet()

    @precondition(lambda self: self.held)
    @rule(data=st.data(), added_before_anybody_wakes=st.lists(KEYS, max_size=1))
    def done(self, data: st.DataObject, added_before_anybody_wakes: list[str]) -> None:
        keys = data.draw(st.lists(st.sampled_from(sorted(self.held)), min_size=1, unique=True))
        for key in keys:
            self.queue.done(key)
            self.held.remove(key)
            if key in self.again:
                self.again.remove(key)
                self.queued.append(key)
        for key in added_before_anybody_wakes:
            self.queue.add(key)
            if not self.is_shut_down:
                self.want(key)
        self.meet()

    @precondition(lambda self: self.getters)
    @rule(key=KEYS, number=st.integers(0, 3), is_added_first=st.booleans())
    def cancel_a_getter_while_a_key_comes(self, key: str, number: int, is_added_first: bool) -> None:
        getter = self.getters.pop(number % len(self.getters))
        if not is_added_first:
            getter.cancel()
        self.queue.add(key)
        if is_added_first:
            getter.cancel()
        if not self.is_shut_down:
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
        self.meet()

    @invariant()
    def keys_and_getters_have_met(self) -> None:
        assert self.got == self.expected
        assert self.refused == self.expected_refused
        assert len(self.queue._getters) == len(self.getters)
        assert not any(getter.done() for getter in self.getters)

    @invariant()
    def the_queue_holds_what_the_model_holds(self) -> None:
        assert len(self.queue) == len(self.queued)
        assert self.queue.delayed == len(self.delayed)
        assert self.clock.next_timer == min((when for when, _ in self.delayed.values()), default=None)

    @invariant()
    def drains_wait_exactly_while_there_is_work(self) -> None:
        assert not any(drain.done() for drain in self.drains)


TestWorkQueue = WorkQueueMachine.TestCase
TestWorkQueue.settings = settings(stateful_step_count=40, deadline=None)
