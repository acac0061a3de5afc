"""Reflectors and informers over a slow server, cancelled wherever they wait; afterwards they go on, or others do."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from random import Random
from typing import Any, Self

import anyio
from anyio.lowlevel import checkpoint

from kinformer.errors import ClosedError, NotFoundError, RequestError, ServerError
from kinformer.informer import InformerFactory, Notification, SharedInformer
from kinformer.meta import Object, ObjectList, Resource, WatchEvent
from kinformer.reflector import Reflector
from kinformer.system_clock import SystemClock
from kinformer.tasks import open_task_group, shed_cancellation
from kinformer.testing import FakeClock, added, bookmark, modified, settle
from tests.scenario.cancelling.sweep import Sweep
from tests.scenario.cancelling.world import PODS
from tests.scenario.reflector_stage import Mirror, page, pod
from tests.unit.reflector.definitions import WEBSITES, definition

A, B, NEW_B = pod("a", "1"), pod("b", "2"), pod("b", "11")
BROKEN = ServerError(500, "InternalError", "the disk is gone")
MISSING = NotFoundError(404, "NotFound", "no such kind")


class SlowSource:
    """Two pages, and a change in each watch; a second goes by before each step, and a turn before each end.

    Args:
        clock: The time.
        failure: What requests fail with at times.
        times: From when to when they do.
    """

    def __init__(
        self,
        clock: FakeClock | None = None,
        *,
        resource: Resource = PODS,
        failure: RequestError | None = None,
        times: Sequence[tuple[float, float]] = (),
    ) -> None:
        self.resource = resource
        self.clock = clock or FakeClock()
        self.failure = failure
        self.times = times
        self.open = 0

    def where(self, **filters: Any) -> Self:
        return self

    async def list(
        self, *, version: str = "", version_match: str = "", limit: int = 0, continue_token: str = ""
    ) -> ObjectList[Object]:
        await self._answer()
        if version_match == "Exact":
            return page(A, B, version=version)
        return page(B, version="10") if continue_token else page(A, version="10", token="b")

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator["Events"]:
        await self._answer()
        self.open += 1
        try:
            state = [[added(A), added(B)], [bookmark("10", ends_initial_events=True)]]
            yield Events(self.clock, [*(state if initial_events else []), [modified(NEW_B)]])
        finally:
            self.open -= 1
            await checkpoint()

    async def _answer(self) -> None:
        await self.clock.sleep(1.0)
        now = self.clock.monotonic()
        if self.failure is not None and any(begin <= now < end for begin, end in self.times):
            raise self.failure


class Events:
    """Batches, one each second."""

    def __init__(self, clock: FakeClock, batches: Sequence[Sequence[WatchEvent]]) -> None:
        self.clock, self.batches = clock, list(batches)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[WatchEvent]:
        await self.clock.sleep(1.0)
        if not self.batches:
            raise StopAsyncIteration
        return self.batches.pop(0)


class SlowDefinitions(SlowSource):
    """The definition of a kind turns out to be established."""

    @asynccontextmanager
    async def watch(
        self, *, version: str = "", timeout: int = 0, bookmarks: bool = True, initial_events: bool = False
    ) -> AsyncIterator[Events]:
        async with super().watch():
            yield Events(self.clock, [[added(definition())]])


async def reflectors(sweep: Sweep) -> None:
    """With lists in pages, watch-lists, failures, resyncs, checks of snapshots, and a kind that is yet to come."""
    for source in (
        SlowSource(),
        SlowSource(failure=BROKEN, times=[(0.0, 1.5), (4.5, 30.0)]),
        SlowSource(resource=WEBSITES, failure=MISSING, times=[(0.0, 60.0)]),
    ):
        for watch_list in (False, True):
            made = Reflected(source, watch_list=watch_list)

            async def begin(made: Reflected = made) -> None:
                made.begin()

            async def go_on(made: Reflected = made) -> None:
                await made.reflect(200.0)
                assert made.sink.content.keys() == {"a", "b"}

            await sweep.of(made.reflect, prepare=begin, held=made.held, whole=go_on)


class Reflected:
    """A reflector over a slow source, begun anew or run again."""

    def __init__(self, source: SlowSource, *, watch_list: bool) -> None:
        self.source, self.watch_list = source, watch_list
        self.begin()

    def begin(self) -> None:
        self.clock, self.sink = FakeClock(), Mirror()
        self.source.clock = self.clock
        self.definitions = SlowDefinitions(self.clock)
        self.reflector = Reflector(
            self.source,
            self.sink,
            resync=2.0,
            watch_list=self.watch_list,
            check_snapshots=True,
            definitions=self.definitions,
            clock=self.clock,
            random=Random(1),
        )

    async def reflect(self, delay: float = 100.0) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._end_after, delay, tasks.cancel_scope)
            await self.reflector.run()

    async def _end_after(self, delay: float, scope: anyio.CancelScope) -> None:
        await self.clock.advance(delay)
        scope.cancel()

    def held(self) -> object:
        return self.source.open, self.definitions.open, self.clock.next_timer


async def informers(sweep: Sweep) -> None:
    """With handlers that wait, that cancel themselves, and that swallow it; and a version that is waited for."""
    source = SlowSource(clock := FakeClock())

    async def inform() -> None:
        informer = SharedInformer(source, clock=clock, random=Random(1))
        registration = informer.add_handler(wait_a_turn)
        informer.add_handler(cancel_itself)
        informer.add_handler(swallow_a_cancellation)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(clock.advance, 20.0)
            tasks.start_soon(informer.run)
            await informer.wait_synced()
            await registration.wait_synced()
            await informer.wait_for("11")
            informer.close()
        assert informer.is_closed

    async def wait_for_nothing() -> None:
        """The wait is over once the informer is."""
        informer = SharedInformer(source, clock=clock)
        registration = informer.add_handler(wait_a_turn)
        async with anyio.create_task_group() as tasks:
            for wait in (partial(informer.wait_for, "11"), registration.wait_synced):
                tasks.start_soon(until_closed, wait)
            await settle()
            informer.close()

    for work in (inform, wait_for_nothing):
        await sweep.of(work, held=lambda: (source.open, clock.next_timer))


async def until_closed(wait: Callable[[], Awaitable[object]]) -> None:
    with suppress(ClosedError):
        await wait()


async def wait_a_turn(notification: Notification[Object]) -> None:
    await checkpoint()


async def cancel_itself(notification: Notification[Object]) -> None:
    cancel_this_task()
    await checkpoint()


async def swallow_a_cancellation(notification: Notification[Object]) -> None:
    cancel_this_task()
    with suppress(asyncio.CancelledError):
        await checkpoint()


def cancel_this_task() -> None:
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def factories(sweep: Sweep) -> None:
    source = SlowSource(clock := FakeClock())

    class Sources:
        def resource(self, resource: Resource, /) -> SlowSource:
            return source

    async def make() -> None:
        factory = InformerFactory(Sources(), clock=clock, random=Random(1))
        async with anyio.create_task_group() as tasks:
            with factory.acquire(PODS):
                tasks.start_soon(clock.advance, 20.0)
                await tasks.start(factory.run)
                await factory.wait_synced()
            tasks.cancel_scope.cancel()

    await sweep.of(make, held=lambda: (source.open, clock.next_timer))
    factory = InformerFactory(Sources(), clock=clock, random=Random(1))

    async def acquire() -> None:
        """From a factory that goes on: nothing runs in it that nobody holds."""
        with factory.acquire(PODS) as informer:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(clock.advance, 20.0)
                await informer.wait_for("11")

    async with anyio.create_task_group() as tasks:
        await tasks.start(factory.run)
        await sweep.of(acquire, held=lambda: (source.open, clock.next_timer))
        tasks.cancel_scope.cancel()


async def floors(sweep: Sweep) -> None:
    """What all rooms stand on: real time, and task groups; and what user code does to them."""

    async def wait() -> None:
        async with open_task_group() as tasks:
            tasks.start_soon(SystemClock().sleep, 0.001)

    async def shed() -> None:
        """In a task of its own, as always: whoever cancels that very task is shed, too."""
        async with open_task_group() as tasks:
            tasks.start_soon(shed_its_own)
            tasks.start_soon(shed_in_vain)

    for work in (wait, shed):
        await sweep.of(work)


async def shed_its_own() -> None:
    cancel_this_task()
    await shed_cancellation()


async def shed_in_vain() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await shed_cancellation()
