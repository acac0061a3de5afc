"""What a watch event costs up to each stage on its way from the wire to a worker, in a plain cache and in a compact one.

Reading from the socket comes before and is measured by ``streams``. Each row is measured on its own and has all that the row
above it has, so the differences are what the stages cost.
"""

import asyncio
import json
import statistics
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import anyio

from kinformer.client._codec import WatchDecoder
from kinformer.informer import Notification, SharedInformer, Updated
from kinformer.meta import EventType, Object, ObjectKey, WatchEvent
from kinformer.workqueue import WorkQueue
from tests.bench.measure import cpu_seconds
from tests.bench.pods import watch_line
from tests.bench.source import PODS, WatchLists

COUNT = 2_000
LINES = [watch_line(index) for index in range(COUNT)]
READS = [b"".join(LINES[start : start + 10]) for start in range(0, COUNT, 10)]
"""What arrives with one read: 64 KiB."""
LAST = str(100_000 + COUNT - 1)
EMPTY = WatchEvent(EventType.BOOKMARK, version="1", ends_initial_events=True)
WORKERS = 4

Stage = Callable[[bool], object]
"""Takes all events up to there, in a compact cache or a plain one."""


def show(rounds: int) -> None:
    """Print the table."""
    stages: dict[str, Stage] = {
        "json.loads of its line": lambda _: _loads(),
        "decode": lambda _: _decode(),
        "+ store": partial(_run, _to_store),
        "+ listener": partial(_run, _to_handler),
        f"+ queue, {WORKERS} workers": partial(_run, partial(_to_workers, reads=False)),
        "+ the worker gets the object and reads its body": partial(_run, partial(_to_workers, reads=True)),
    }
    forms = (False, True) if find_spec("zstandard") else (False,)
    found: dict[str, list[list[float]]] = {name: [] for name in stages}
    for number in range(rounds + 1):
        for name, stage in stages.items():
            spent = [cpu_seconds(partial(stage, compact)) for compact in forms]
            if number:  # the first round warms the caches
                found[name].append(spent)
    print(f"{'an event of 6 KB, up to and with':<64} {'plain':>12} {'compact':>12}")
    for name, rows in found.items():
        medians = (statistics.median(column) * 1e6 / COUNT for column in zip(*rows, strict=True))
        print(f"  {name:<62} {' '.join(f'{each:9.2f} us' for each in medians)}")


def _loads() -> None:
    for line in LINES:
        json.loads(line)


def _decode() -> None:
    decoder = WatchDecoder(PODS)
    for read in READS:
        decoder.feed(read)


def _run(stage: Callable[[SharedInformer[Object]], Coroutine[Any, Any, None]], compact: bool) -> None:
    async def run() -> None:
        informer = SharedInformer(_Reads(), compact=compact)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(informer.run)
            await stage(informer)
            tasks.cancel_scope.cancel()

    asyncio.run(run())


async def _to_store(informer: SharedInformer[Object]) -> None:
    await informer.wait_for(LAST)


async def _to_handler(informer: SharedInformer[Object]) -> None:
    heard, over = 0, anyio.Event()

    def handler(told: Notification[Object]) -> None:
        nonlocal heard
        heard += 1
        if heard == COUNT:
            over.set()

    informer.add_handler(handler)
    await over.wait()


async def _to_workers(informer: SharedInformer[Object], *, reads: bool) -> None:
    queue: WorkQueue[ObjectKey] = WorkQueue()
    left, over = COUNT, anyio.Event()

    def handler(told: Notification[Object]) -> None:
        queue.add(told.new.key if isinstance(told, Updated) else told.obj.key)

    async def work() -> None:
        nonlocal left
        async for lease in queue:
            with lease as key:
                if reads:
                    obj = informer.lister.get(key)
                    assert obj is not None
                    assert obj["status"]["phase"] == "Running"
                left -= 1
                if not left:
                    over.set()

    informer.add_handler(handler)
    async with anyio.create_task_group() as tasks:
        for _ in range(WORKERS):
            tasks.start_soon(work)
        await over.wait()
        tasks.cancel_scope.cancel()


class _Reads(WatchLists):
    """A source of an empty watch-list and what follows, decoded as it is read."""

    async def stream(self) -> AsyncIterator[Sequence[WatchEvent]]:
        decoder = WatchDecoder(PODS)
        yield [EMPTY]
        for read in READS:
            yield decoder.feed(read)
        await anyio.sleep_forever()
