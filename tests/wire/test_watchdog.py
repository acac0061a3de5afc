import asyncio
import logging
import threading
import time
from collections.abc import Callable

import anyio
import pytest

from kinformer.controller import Controller, Manager, Request
from kinformer.controller._watchdog import Watchdog
from kinformer.hooks import LoopBlocked, NoHooks
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock
from kinformer.testing import Cluster, config_map

pytestmark = pytest.mark.wire

CONFIG_MAPS = Resource.builtin("ConfigMap")


class Memory(NoHooks):
    def __init__(self) -> None:
        self.blocked: list[LoopBlocked] = []
        self.threads: set[int] = set()

    def loop_blocked(self, event: LoopBlocked, /) -> None:
        self.blocked.append(event)
        self.threads.add(threading.get_ident())


async def wait(claim: Callable[[], bool]) -> None:
    while not claim():
        await SystemClock().sleep(0.005)


async def test_a_reconcile_that_blocks_the_event_loop_is_named_with_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hooks = Memory()

    async def reconcile(request: Request) -> None:
        time.sleep(0.5)  # noqa: ASYNC251, TID251 -- the mistake that is to be noticed

    controller = Controller("sleepy", reconcile).watches(CONFIG_MAPS)
    async with Cluster(config_map("a"), clock=SystemClock()) as cluster:
        manager = Manager(controller, clients=cluster.client, loop_limit=0.2, hooks=hooks)
        async with anyio.create_task_group() as tasks:
            await tasks.start(manager.run)
            await wait(lambda: bool(hooks.blocked))
            manager.stop()
    assert "sleepy: reconcile of default/a" in hooks.blocked[0].task
    assert hooks.blocked[0].duration >= 0.2
    assert hooks.threads == {threading.get_ident()}, "hooks are called on the event loop"
    told = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert told[0].startswith(
        "the event loop has been standing still for 0.2 s, held up by the task 'sleepy: reconcile of default/a' at\n"
    )
    assert "time.sleep(0.5)" in told[0]


async def test_it_ends_with_its_block_and_says_nothing_of_a_loop_that_is_well(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Watchdog(limit=0.2, hooks=NoHooks()):
        await wait(lambda: "kinformer watchdog" in names())
        await SystemClock().sleep(0.3)
    await wait(lambda: "kinformer watchdog" not in names())
    assert not caplog.records


def test_its_thread_ends_with_the_loop_even_where_nobody_leaves_its_block() -> None:
    async def begin() -> None:
        Watchdog(limit=0.02, hooks=NoHooks()).__enter__()

    asyncio.run(begin())
    while "kinformer watchdog" in names():
        time.sleep(0.005)  # noqa: TID251 -- a thread is waited for


def names() -> set[str]:
    return {thread.name for thread in threading.enumerate()}
