"""Task groups from which a single error leaves as itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

__all__ = ["open_task_group", "sole"]


@asynccontextmanager
async def open_task_group() -> AsyncIterator[TaskGroup]:
    """Open an anyio task group that raises one error as that error, and several as a group.

    A task group wraps even a single failure; callers of a ``run`` method want to catch what went wrong. The error
    keeps its own cause and context.
    """
    try:
        async with anyio.create_task_group() as tasks:
            yield tasks
            return
    except BaseExceptionGroup as group:
        error = sole(group)
        if error is group:
            raise
    raise error


def sole(error: BaseException) -> BaseException:
    """The one error inside a group of one, at any depth; else ``error`` itself."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error
