"""What a work queue is watched with: hooks that keep what they hear, getters, a clock that counts its timers."""

from asyncio import Task, current_task
from collections.abc import Callable

import anyio

from kinformer.clock import Timer
from kinformer.errors import ClosedError
from kinformer.hooks import KeyAdded, KeyDone, KeyParked, KeyResumed, KeyRetried, KeyTaken, NoHooks
from kinformer.testing import FakeClock
from kinformer.workqueue import WorkQueue


class Heard(NoHooks):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.events: list[object] = []

    def key_added(self, event: KeyAdded, /) -> None:
        self.events.append(event)

    def key_taken(self, event: KeyTaken, /) -> None:
        self.events.append(event)

    def key_done(self, event: KeyDone, /) -> None:
        self.events.append(event)

    def key_retried(self, event: KeyRetried, /) -> None:
        self.events.append(event)

    def key_parked(self, event: KeyParked, /) -> None:
        self.events.append(event)

    def key_resumed(self, event: KeyResumed, /) -> None:
        self.events.append(event)


class Getter:
    """One call of ``get`` in its own scope: ``got`` is what it gave, or the error that it raised."""

    def __init__(self, queue: WorkQueue[str]) -> None:
        self.queue = queue
        self.scope = anyio.CancelScope()
        self.task: Task[None] | None = None
        self.got: str | ClosedError | None = None

    async def run(self) -> None:
        self.task = current_task()
        with self.scope:
            try:
                self.got = await self.queue.get()
            except ClosedError as error:
                self.got = error


class TimedClock(FakeClock):
    """Counts the timers that were set."""

    def __init__(self) -> None:
        super().__init__()
        self.timers: list[float] = []

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        self.timers.append(when)
        return super().call_at(when, callback)


def queue_of(*keys: str, clock: FakeClock | None = None) -> WorkQueue[str]:
    queue = WorkQueue[str]("test", clock=FakeClock() if clock is None else clock)
    for key in keys:
        queue.add(key)
    return queue
