"""Watchdog: tells of an event loop that stands still while it does, and of what holds it up."""

import asyncio
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Final, Self

from kinformer.hooks import Hooks, LoopBlocked
from kinformer.system_clock import SystemClock

__all__ = ["Watchdog"]

logger = logging.getLogger("kinformer.controller")

_FRAMES: Final = 8
"""How much of the stack is told: what is innermost."""


class Watchdog:
    """A context manager that watches the running event loop from a thread, which goes on where the loop does not.

    It asks the loop for an answer twice in each ``limit``. Where none comes within ``limit`` seconds of real time, the log
    has a warning with the name of the task that runs, which for a reconcile has its key, and with the place in the
    code where it is; and once more when the loop goes on, with the time it took. While nothing can be reconciled, no
    lease can be renewed either.

    Args:
        limit: Seconds that are too long.
        hooks: Hear of it when the loop goes on again, from the loop.
    """

    def __init__(self, *, limit: float, hooks: Hooks) -> None:
        self._limit = limit
        self._hooks = hooks
        self._loop: Final = asyncio.get_running_loop()
        self._loop_thread: Final = threading.get_ident()
        self._now = SystemClock().monotonic
        self._has_ended = threading.Event()
        self._thread: Final = threading.Thread(target=self._watch, name="kinformer watchdog", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._has_ended.set()  # the thread sees it within the limit, and is not waited for: that would hold up the loop

    def _watch(self) -> None:
        while not self._has_ended.wait(self._limit / 2):
            answered = threading.Event()
            asked = self._now()
            if not self._ask(answered.set):
                return
            if answered.wait(self._limit) or self._has_ended.is_set():
                continue
            task, place = self._culprit()
            logger.warning(
                "the event loop has been standing still for %g s, held up by %s at\n%s",
                self._limit,
                task,
                place,
                extra={"task": task},
            )
            while not answered.wait(self._limit) and not self._has_ended.is_set():
                pass
            duration = self._now() - asked
            logger.warning("the event loop goes on, after %.1f s held up by %s", duration, task)
            self._ask(partial(self._hooks.loop_blocked, LoopBlocked(task, duration)))

    def _ask(self, callback: Callable[[], object]) -> bool:
        try:
            self._loop.call_soon_threadsafe(callback)
        except RuntimeError:  # the loop is closed
            return False
        return True

    def _culprit(self) -> tuple[str, str]:
        task = asyncio.current_task(self._loop)
        frame: FrameType | None = sys._current_frames().get(self._loop_thread)
        lines = traceback.format_stack(frame)[-_FRAMES:] if frame is not None else []
        return "no task" if task is None else f"the task {task.get_name()!r}", "".join(lines).rstrip()
