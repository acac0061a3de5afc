"""Running a manager around a block, on a clock that may need somebody to move it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from kinformer.clock import Clock
from kinformer.controller import Manager
from kinformer.tasks import open_task_group
from kinformer.testing._waiting import wait_until

__all__ = ["running"]


@asynccontextmanager
async def running(manager: Manager, *, clock: Clock, timeout: float, grace: float) -> AsyncIterator[None]:
    """Run a manager: the block begins when its caches are synced, and ends at once when it fails.

    Args:
        manager: What to run.
        clock: The one that it goes by; a ``FakeClock`` is moved while we wait for the start and for the end.
        timeout: Seconds for the start.
        grace: Seconds for the end, after which it is cancelled.

    Raises:
        TimeoutError: The caches did not sync.
        Exception: What the manager failed with.
    """
    run = _Run(manager)
    async with open_task_group() as tasks:
        tasks.start_soon(run.run)
        try:
            await _start(run, manager, clock, timeout)
            yield
            manager.stop()
            await _end(run, clock, grace)
        finally:
            run.scope.cancel()
            tasks.start_soon(_see_out, run, clock, grace)


class _Run:
    """A manager's one run, and how far it is."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._is_started = False
        self._has_ended = False
        self.scope = anyio.CancelScope()

    async def run(self) -> None:
        try:
            with self.scope:
                await self._manager.run(task_status=self)
        finally:
            self._has_ended = True

    def started(self, value: None = None) -> None:  # noqa: ARG002 -- the signature is anyio's TaskStatus
        self._is_started = True

    def caches_are_synced(self) -> bool:
        return self._is_started

    def has_ended(self) -> bool:
        return self._has_ended


async def _start(run: _Run, manager: Manager, clock: Clock, timeout: float) -> None:
    try:
        await wait_until(run.caches_are_synced, timeout=timeout, clock=clock)
    except TimeoutError:
        waits = [f"{name} waits for {what}" for name, causes in manager.waits.items() for what in causes]
        raise TimeoutError(f"not started within {timeout:g} s: {'; '.join(waits)}") from None


async def _see_out(run: _Run, clock: Clock, grace: float) -> None:
    """Move the time while a cancelled run cleans up, which may wait for it; whatever happens to the block meanwhile."""
    with anyio.CancelScope(shield=True):
        await _end(run, clock, grace)


async def _end(run: _Run, clock: Clock, grace: float) -> None:
    try:
        await wait_until(run.has_ended, timeout=grace, clock=clock)
    except TimeoutError:
        return  # whoever called us cancels it next, or has done so
