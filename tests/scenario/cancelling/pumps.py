"""What an informer is made of, each part by itself: a pump with much to do, a source that has no room, a removal."""

from random import Random

import anyio
from anyio.lowlevel import checkpoint

from kinformer.errors import InvalidError
from kinformer.hooks import NoHooks
from kinformer.informer import SharedInformer
from kinformer.informer._backlog import InOrder
from kinformer.informer._compact_source import CompactSource
from kinformer.informer._handlers import calls_of
from kinformer.informer._listener import Listener
from kinformer.informer._pace import PacedSource
from kinformer.informer._pump import Pump
from kinformer.informer._views import Views
from kinformer.meta import EventType, Object, Record, Resource, WatchEvent
from kinformer.store import DeltaFIFO, StoreWriter
from kinformer.testing import FakeClock, settle
from tests.scenario.cancelling.pipeline import SlowSource, wait_a_turn
from tests.scenario.cancelling.sweep import Sweep

__all__ = ["parts_of_informers"]

PODS = Resource.builtin("Pod")
COUNT = 600
"""Objects whose old states take more than one step to be freed."""


def record(number: int, version: int) -> Record:
    text = '{"metadata":{"name":"p%d","namespace":"n","uid":"u%d","resourceVersion":"%d"}}'
    return Record.decode((text % (number, number, version)).encode(), PODS)


OLD = [record(number, 1) for number in range(COUNT)]
NEW = [record(number, 2) for number in range(COUNT)]
FLOOD = [WatchEvent(EventType.MODIFIED, record(0, version)) for version in range(10_000)]


class Parts:
    """A pump with a store and two listeners that nobody runs."""

    def __init__(self) -> None:
        clock, writer = FakeClock(), StoreWriter()
        self.store = writer.store
        self.queue = DeltaFIFO(self.store)
        self.listeners = [
            Listener(
                name,
                calls_of(wait_a_turn),
                InOrder(),
                Views(Object),
                informer="pods",
                clock=clock,
                hooks=NoHooks(),
            )
            for name in ("one", "two")
        ]
        self.pump = Pump(
            self.queue, writer, self.listeners, admit=lambda record: record, name="pods", clock=clock
        )


async def parts_of_informers(sweep: Sweep) -> None:
    """A list and another one, and everything shown again; too much at once; what is compressed; a removal that waits; a list in pages."""

    async def pump() -> None:
        parts = Parts()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(parts.pump.run)
            for version, records in (("1", OLD), ("2", NEW)):
                parts.queue.replace(records, version)
                parts.pump.resync(parts.listeners)
                parts.pump.wake()
                while parts.queue or parts.store.version != version:
                    await parts.pump.wait_moved()
            await settle()
            tasks.cancel_scope.cancel()
        assert [listener.backlog for listener in parts.listeners] == [4 * COUNT] * 2

    async def find_room() -> None:
        parts = Parts()
        parts.queue.apply(FLOOD, "1")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(parts.pump.wait_room)
            await settle()
            parts.queue.pop()
            parts.pump.announce()

    async def wait_for_room() -> None:
        source = PacedSource(SlowSource(clock := FakeClock()), checkpoint)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(clock.advance, 5.0)
            async with source.watch() as batches:
                assert len([batch async for batch in batches]) == 1

    async def compress() -> None:
        source = CompactSource(SlowSource(clock := FakeClock()), lambda record: record)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(clock.advance, 10.0)
            assert len((await source.list()).items) == 1
            async with source.watch(initial_events=True) as batches:
                assert len([batch async for batch in batches]) == 3

    async def remove() -> None:
        refusal = InvalidError(422, "Invalid", "sendInitialEvents is forbidden")
        source = SlowSource(clock := FakeClock(), failure=refusal, times=[(0.0, 1.5)])
        informer = SharedInformer(source, clock=clock, random=Random(1))
        registration = informer.add_handler(wait_a_turn)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(clock.advance, 20.0)
            tasks.start_soon(informer.run)
            await informer.wait_synced()
            informer.remove_handler(registration)
            await registration.wait_ended()
            informer.close()

    for work in (pump, find_room, wait_for_room, compress, remove):
        await sweep.of(work)
