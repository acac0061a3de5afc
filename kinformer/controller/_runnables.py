"""Runnables: what a manager runs besides controllers, in groups that start in order and stop in reverse."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Final, Protocol

import anyio
from anyio.abc import TaskStatus

from kinformer.clock import Clock
from kinformer.tasks import open_task_group

__all__ = ["Group", "Runnable", "Shutdown"]


class Runnable(Protocol):
    """Something that runs as long as the manager does; most of what has a ``run`` in kinformer fits.

    An error from ``run`` ends the manager with it. It may return before it is closed.
    """

    async def run(self, *, task_status: TaskStatus[None]) -> None:
        """Run until closed or cancelled; ``task_status.started()`` says that what comes after it may start."""

    def close(self) -> None:
        """Ask ``run`` to return soon; harmless when it has."""


class Shutdown:
    """How a run is ending: when that began, how long it may take, and what had to be cut short. Pure.

    Args:
        grace: Seconds for all of it.
    """

    def __init__(self, grace: float) -> None:
        self._grace: Final = grace
        self._began: float | None = None
        self._cut: list[str] = []

    def begin(self, now: float) -> None:
        """It has been asked for; again is harmless."""
        if self._began is None:
            self._began = now

    def left(self, now: float) -> float:
        """Seconds that are left; all of them where it was not asked for."""
        return self._grace if self._began is None else max(0.0, self._began + self._grace - now)

    def spent(self, now: float) -> float:
        """Seconds since it was asked for; 0 where it was not."""
        return 0.0 if self._began is None else now - self._began

    def cut(self, names: Iterable[str]) -> None:
        """These did not end in time, so they were cancelled."""
        self._cut.extend(names)

    @property
    def was_cut(self) -> tuple[str, ...]:
        """What did not end in time."""
        return tuple(self._cut)


class Group:
    """Runnables that start one after the other, and are closed together, in time or else cancelled.

    Args:
        runnables: In the order in which they start.
        clock: Measures the grace.
    """

    def __init__(self, runnables: Iterable[Runnable], *, clock: Clock) -> None:
        self._runnables = tuple(runnables)
        self._clock = clock
        self._running: dict[int, Runnable] = {}
        self._ended = anyio.Event()
        self._starting: anyio.CancelScope | None = None
        self._is_stopping = False

    def stop(self) -> None:
        """Start no more of them; those that run are closed when the block ends."""
        self._is_stopping = True
        if self._starting is not None:
            self._starting.cancel()

    @asynccontextmanager
    async def running(self, shutdown: Shutdown) -> AsyncIterator[None]:
        """Run them around a block: entered when each has started, or none is to start any more; left when each has ended.

        Raises:
            Exception: What one of them failed with; the block is cancelled then.
        """
        async with open_task_group() as tasks:
            with anyio.CancelScope() as self._starting:
                for runnable in () if self._is_stopping else self._runnables:
                    await tasks.start(partial(self._run, runnable))
            self._starting = None
            yield
            for runnable in reversed(self._runnables):
                runnable.close()
            with self._clock.move_on_after(shutdown.left(self._clock.monotonic())):
                while self._running:
                    await self._ended.wait()
            shutdown.cut(_name_of(runnable) for runnable in self._running.values())
            tasks.cancel_scope.cancel()

    async def _run(self, runnable: Runnable, *, task_status: TaskStatus[None]) -> None:
        self._running[id(runnable)] = runnable
        try:
            await runnable.run(task_status=task_status)
        finally:
            del self._running[id(runnable)]
            self._ended.set()
            self._ended = anyio.Event()


def _name_of(runnable: Runnable) -> str:
    name = getattr(runnable, "name", None)
    return name if isinstance(name, str) and name else type(runnable).__name__
