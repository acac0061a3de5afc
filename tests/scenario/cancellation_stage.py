"""Cutting work short at every turn of the loop, whatever it waits for; see ``cancelling`` for cutting it at every await."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
from anyio.lowlevel import checkpoint

from kinformer.client import Client
from kinformer.testing import settle
from tests.scenario.cancelling import world as slow

MOST = 500
"""Turns or waits; what takes more would never end."""


async def after_turns(work: Callable[[], Awaitable[None]], turns: int) -> bool:
    """Cut short after so many turns of the event loop, wherever all tasks are by then; whether it had come to its end."""
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
    work: Callable[[int], Awaitable[None]], *, prepare: Callable[[int], Awaitable[None]] = nothing
) -> None:
    """Cut ``work`` short ever later until it comes to its end; each time no task may be left."""
    await settle()
    before = asyncio.all_tasks()
    for number in range(1, MOST):
        await prepare(number)
        is_done = await after_turns(partial(work, number), number)
        await settle()
        assert asyncio.all_tasks() == before, f"cut short the {number}th time it left a task"
        if is_done:
            assert number > 1, "it never waited"
            return
    raise AssertionError("it does not end")


@asynccontextmanager
async def world() -> AsyncIterator[Client]:
    """A server on slow storage, with its client."""
    async with slow.world() as made:
        yield made.client
