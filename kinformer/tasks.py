"""Task groups from which a single error leaves as itself, and tasks that user code cannot cancel by mistake."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import anyio
from anyio.abc import TaskGroup
from anyio.lowlevel import cancel_shielded_checkpoint, checkpoint_if_cancelled

__all__ = ["has_cancellation", "open_task_group", "shed_cancellation", "sole"]


@asynccontextmanager
async def open_task_group() -> AsyncIterator[TaskGroup]:
    """Open an anyio task group that raises one error as that error, and several as a group.

    A task group wraps even a single failure; callers of a ``run`` method want to catch what went wrong. The error
    keeps its own cause and context.
    """
    error: BaseException | None = None
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
    except BaseExceptionGroup as group:
        error = sole(group)
        if error is group:
            raise
    if error is not None:
        raise error


def has_cancellation() -> bool:
    """Whether somebody asked this task to end, be it a scope around it or ``asyncio.current_task().cancel()``."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def shed_cancellation() -> None:
    """Take back a cancellation of this very task; that of a scope around it goes on.

    To be called after user code. A task that ended by such a cancellation would end its whole group, as if all were
    well, and without a word.
    """
    await checkpoint_if_cancelled()
    with suppress(asyncio.CancelledError):
        await cancel_shielded_checkpoint()  # one that was asked for is still to come, and cannot be unasked
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()


def sole(error: BaseException) -> BaseException:
    """The one error inside a group of one, at any depth; else ``error`` itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
