"""What a key costs on its way through the work queue, against an item on its way through ``asyncio.Queue``."""

import asyncio
import tracemalloc
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from heapq import heappop, heappush
from random import Random
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from kinformer.hooks import Hooks, NoHooks
from kinformer.meta import ObjectKey
from kinformer.workqueue import Delayed, PriorityReady, ReadyKeys, WorkQueue
from tests.bench.measure import Comparison

COUNT = 20_000
WAVE = 100  # how many keys wait at once, as in client-go's BenchmarkQueue
KEYS = [ObjectKey("default", f"web-{index}") for index in range(COUNT)]

DELAYED = 100_000
MOMENTS = [Random(7).random() * 600.0 for _ in range(DELAYED)]


class Hearing(NoHooks):
    """Hooks that the queue must call, and that do nothing."""


HEARING = Hearing()


def comparisons() -> list[Comparison]:
    """One worker over a full queue in four ways, an add that is no news, many workers, and delays."""
    return [
        Comparison("add, get, done : asyncio.Queue put, get", _in_loop(_work), _in_loop(_stdlib), COUNT, 1.0),
        Comparison(
            "the same, all of 20,000 before the first get",
            _in_loop(partial(_work, wave=COUNT)),
            _in_loop(partial(_stdlib, wave=COUNT)),
            COUNT,
            1.1,
        ),
        Comparison(
            "add, lease, hooks : asyncio.Queue put, get", _in_loop(_lease), _in_loop(_stdlib), COUNT, 3.0
        ),
        Comparison(
            "the same with priorities, no hooks : asyncio.Queue put, get",
            _in_loop(partial(_lease, hooks=None, ready=PriorityReady)),
            _in_loop(_stdlib),
            COUNT,
            5.0,
        ),
        Comparison("add of a waiting key : asyncio.Queue put", _in_loop(_again), _in_loop(_put), COUNT, 0.5),
        Comparison(
            "16 workers, each awaiting once a key : one worker",
            _in_loop(partial(_workers, 16)),
            _in_loop(partial(_workers, 1)),
            COUNT,
            4.0,
        ),
        Comparison("delayed keys, push and pop : heapq", _delay, _heap, DELAYED, 6.0),
    ]


def gives_memory_back(items: int) -> bool:
    """Fill and drain a queue of ``items`` keys, and say whether all that was allocated for them is free again.

    The keys are alive before and after, so what is measured is what the queue holds. Up to 64 KiB may stay: what
    the interpreter keeps for itself.
    """
    keys = list(range(items))
    tracemalloc.start()
    full, left = asyncio.run(_fill_and_drain(keys))
    tracemalloc.stop()
    holds = left <= 65_536
    print(
        f"{f'a queue after a drain of {items:,} keys':<64} {full / 1e6:9.1f} MB {left / 1e6:9.4f} MB"
        f"  of it left  (at most 0.0655){'' if holds else '  FAILED'}"
    )
    return holds


def _in_loop(work: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    return lambda: asyncio.run(work())


async def _work(wave: int = WAVE) -> None:
    queue: WorkQueue[ObjectKey] = WorkQueue()
    for start in range(0, COUNT, wave):
        keys = KEYS[start : start + wave]
        for key in keys:
            queue.add(key)
        for _ in keys:
            queue.done(await queue.get())


async def _lease(
    hooks: Hooks | None = HEARING, ready: Callable[[], ReadyKeys[ObjectKey]] | None = None
) -> None:
    queue: WorkQueue[ObjectKey] = WorkQueue(hooks=hooks, ready=None if ready is None else ready())
    for start in range(0, COUNT, WAVE):
        for key in KEYS[start : start + WAVE]:
            queue.add(key)
        left = WAVE
        async for lease in queue:
            with lease:
                left -= 1
            if not left:
                break


async def _again() -> None:
    queue: WorkQueue[ObjectKey] = WorkQueue()
    queue.add(KEYS[0])
    for _ in KEYS:
        queue.add(KEYS[0])


async def _workers(count: int) -> None:
    queue: WorkQueue[ObjectKey] = WorkQueue()

    async def work() -> None:
        async for lease in queue:
            with lease:
                await checkpoint()

    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(work)
        for key in KEYS:
            queue.add(key)
        queue.shut_down()


def _delay() -> None:
    delayed: Delayed[int] = Delayed()
    for key, moment in enumerate(MOMENTS):
        delayed.add(key, moment)
    while delayed.take_due(600.0, 512):
        pass


def _heap() -> None:
    heap: list[tuple[float, int]] = []
    for key, moment in enumerate(MOMENTS):
        heappush(heap, (moment, key))
    while heap:
        heappop(heap)


async def _fill_and_drain(keys: Sequence[int]) -> tuple[int, int]:
    queue: WorkQueue[int] = WorkQueue()
    start = tracemalloc.get_traced_memory()[0]
    for key in keys:
        queue.add(key)
    full = tracemalloc.get_traced_memory()[0] - start
    for _ in keys:
        queue.done(await queue.get())
    return full, tracemalloc.get_traced_memory()[0] - start


async def _stdlib(wave: int = WAVE) -> None:
    queue: asyncio.Queue[ObjectKey] = asyncio.Queue()
    for start in range(0, COUNT, wave):
        keys = KEYS[start : start + wave]
        for key in keys:
            await queue.put(key)
        for _ in keys:
            await queue.get()


async def _put() -> None:
    queue: asyncio.Queue[ObjectKey] = asyncio.Queue()
    for _ in KEYS:
        await queue.put(KEYS[0])
