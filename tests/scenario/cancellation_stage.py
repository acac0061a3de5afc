"""Cutting work short, ever later, on a server whose storage gives way around each step, as one elsewhere would."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from functools import partial
from random import Random
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from kinformer.apiserver import ApiServer
from kinformer.apiserver.storage import Change, KeyValue, MemoryKV, RangeResult, Watch
from kinformer.client import Client
from kinformer.meta import Resource
from kinformer.testing import AppTransport, FakeClock, custom_resource_definition, settle

DEFINITIONS = Resource.builtin("CustomResourceDefinition")
GADGETS = Resource("example.dev", "v1", "gadgets", "Gadget")
"""A kind of ours that the server knows."""
MOST = 500
"""Turns or waits; what takes more would never end."""


class YieldingKV:
    """Memory that takes its time."""

    def __init__(self) -> None:
        self.kv = MemoryKV()

    async def revision(self) -> int:
        await checkpoint()
        return await self.kv.revision()

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        await checkpoint()
        return await self.kv.get(key, revision=revision)

    async def range(self, prefix: str, *, start: str = "", revision: int = 0, limit: int = 0) -> RangeResult:
        await checkpoint()
        return await self.kv.range(prefix, start=start, revision=revision, limit=limit)

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> KeyValue:
        await checkpoint()
        result = await self.kv.put(key, value, expected=expected)
        await checkpoint()
        return result

    async def delete(self, key: str, *, expected: int | None = None) -> Change | None:
        await checkpoint()
        result = await self.kv.delete(key, expected=expected)
        await checkpoint()
        return result

    @asynccontextmanager
    async def watch(self, prefix: str, from_revision: int) -> AsyncIterator[Watch]:
        await checkpoint()
        async with self.kv.watch(prefix, from_revision) as watch:
            yield watch

    async def compact(self, revision: int) -> None:
        await self.kv.compact(revision)


Cut = Callable[[Callable[[], Awaitable[None]], int], Awaitable[bool]]
"""Begins some work and cuts it short; gives whether it had come to its end by then."""


async def after_turns(work: Callable[[], Awaitable[None]], turns: int) -> bool:
    """Cut short after so many turns of the event loop, wherever all tasks of the work are by then."""
    ends: list[None] = []

    async def run() -> None:
        await work()
        ends.append(None)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        for _ in range(turns):
            await checkpoint()
        tasks.cancel_scope.cancel()
    return bool(ends)


async def at_wait(work: Callable[[], Awaitable[None]], number: int) -> bool:
    """Cut short while the task of the work itself waits for the ``number``-th time; for what calls ``settle``."""
    with anyio.CancelScope() as scope:
        await Waits(work(), number, scope)
    return not scope.cancel_called


class Waits:
    """Awaits something, and cancels a scope while that waits for the ``number``-th time."""

    def __init__(self, work: Awaitable[None], number: int, scope: anyio.CancelScope) -> None:
        self.work, self.left, self.scope = work, number, scope

    def __await__(self) -> Generator[Any, Any, None]:
        steps = self.work.__await__()
        go_on: Callable[[], Any] = partial(next, steps)
        while True:
            try:
                waits_for = go_on()
            except StopIteration:
                return
            self.left -= 1
            if self.left == 0:
                self.scope.cancel()
            try:
                yield waits_for
            except BaseException as error:  # noqa: BLE001 -- it belongs to the work
                go_on = partial(steps.throw, error)
            else:
                go_on = partial(next, steps)


async def nothing(number: int) -> None:
    """What most need before they are cut short."""


async def sweep(
    work: Callable[[int], Awaitable[None]],
    *,
    cut: Cut = after_turns,
    prepare: Callable[[int], Awaitable[None]] = nothing,
    is_shielded: bool = False,
) -> None:
    """Cut ``work`` short ever later until it comes to its end; each time no task may be left.

    What is shielded comes to its end however early it is cut.
    """
    await settle()
    before = asyncio.all_tasks()
    for number in range(1, MOST):
        await prepare(number)
        is_done = await cut(partial(work, number), number)
        await settle()
        assert asyncio.all_tasks() == before, f"cut short the {number}th time it left a task"
        if is_done:
            assert is_shielded or number > 1, "it never waited"
            return
    raise AssertionError("it does not end")


@asynccontextmanager
async def world() -> AsyncIterator[Client]:
    """A server on slow storage, with its client."""
    clock = FakeClock()
    async with (
        ApiServer(storage=YieldingKV(), clock=clock, random=Random(1)) as server,
        Client("http://test", transport=AppTransport(server.app, clock=clock), clock=clock) as client,
    ):
        await client.resource(DEFINITIONS).create(custom_resource_definition(GADGETS))
        yield client
