"""What a key costs on its way through the work queue, against an item on its way through ``asyncio.Queue``."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kinformer.meta import ObjectKey
from kinformer.workqueue import WorkQueue
from tests.bench.measure import Comparison

KEYS = [ObjectKey("default", f"web-{index}") for index in range(20_000)]


def comparisons() -> list[Comparison]:
    """One worker over a full queue, with and without leases; and adding what is there already."""
    count = len(KEYS)
    return [
        Comparison(
            "add, get and done : asyncio.Queue put and get", _in_loop(_work), _in_loop(_stdlib), count, 2.0
        ),
        Comparison(
            "add and a lease : asyncio.Queue put and get", _in_loop(_lease), _in_loop(_stdlib), count, 3.0
        ),
        Comparison("add of a waiting key : asyncio.Queue put", _in_loop(_again), _in_loop(_put), count, 0.6),
    ]


def _in_loop(work: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    return lambda: asyncio.run(work())


async def _work() -> None:
    queue: WorkQueue[ObjectKey] = WorkQueue()
    for key in KEYS:
        queue.add(key)
    for _ in KEYS:
        queue.done(await queue.get())


async def _lease() -> None:
    queue: WorkQueue[ObjectKey] = WorkQueue()
    for key in KEYS:
        queue.add(key)
    queue.shut_down()
    async for lease in queue:
        with lease:
            pass


async def _again() -> None:
    queue: WorkQueue[ObjectKey] = WorkQueue()
    queue.add(KEYS[0])
    for _ in KEYS:
        queue.add(KEYS[0])


async def _stdlib() -> None:
    queue: asyncio.Queue[ObjectKey] = asyncio.Queue()
    for key in KEYS:
        await queue.put(key)
    for _ in KEYS:
        await queue.get()


async def _put() -> None:
    queue: asyncio.Queue[ObjectKey] = asyncio.Queue()
    for _ in KEYS:
        await queue.put(KEYS[0])
