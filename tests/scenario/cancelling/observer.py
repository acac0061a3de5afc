"""Observer: sees at which points tasks wait, and at which of them a cancellation strikes."""

import asyncio
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType, FrameType, TracebackType
from typing import Any, Final

from tests.scenario.cancelling.points import Point, chain

Chain = tuple[Point, ...]
"""The points at which one task waits, from the outermost call to the innermost."""

watcher: Final[ContextVar[Callable[[Chain], None] | None]] = ContextVar("watcher", default=None)
"""Hears of each wait of a task that was begun where it is set, and of those that are begun by such tasks."""


class Observer:
    """A task factory whose tasks tell where they wait.

    Attributes:
        waited: The points at which some task has been suspended.
        struck: Those of them at which a cancellation was thrown into a task.
    """

    def __init__(self) -> None:
        self.waited: set[Point] = set()
        self.struck: set[Point] = set()

    def __call__(
        self,
        loop: asyncio.AbstractEventLoop,
        coro: Coroutine[Any, Any, Any] | Generator[Any, Any, Any],
        **options: Any,
    ) -> "asyncio.Task[Any]":
        return asyncio.Task(_Observed(coro, self, watcher.get()), loop=loop, **options)

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Make the running loop's tasks while the block runs; the task of the block itself is none of them."""
        loop = asyncio.get_running_loop()
        before = loop.get_task_factory()
        loop.set_task_factory(self)
        try:
            yield
        finally:
            loop.set_task_factory(before)


class _Observed(Coroutine[Any, Any, Any]):
    """Drives a coroutine, and looks at it each time that it is suspended."""

    def __init__(self, driven: Any, observer: Observer, heard: Callable[[Chain], None] | None) -> None:
        self._driven = driven
        self._observer = observer
        self._heard = heard

    def send(self, value: Any) -> Any:
        waits_for = self._driven.send(value)
        self._look()
        return waits_for

    def throw(self, kind: Any, value: Any = None, traceback: TracebackType | None = None, /) -> Any:
        error = kind if value is None else value
        if isinstance(error, asyncio.CancelledError) or error is asyncio.CancelledError:
            self._observer.struck.update(chain(self._driven))
        waits_for = self._driven.throw(error)
        self._look()
        return waits_for

    def close(self) -> None:
        self._driven.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return (yield from self._driven.__await__())

    def _look(self) -> None:
        waits_at = chain(self._driven)
        self._observer.waited.update(waits_at)
        if self._heard is not None:
            self._heard(waits_at)

    @property
    def cr_running(self) -> bool:
        return bool(self._driven.cr_running)

    @property
    def cr_suspended(self) -> bool:
        return bool(self._driven.cr_suspended)

    @property
    def cr_frame(self) -> FrameType | None:
        frame: FrameType | None = self._driven.cr_frame
        return frame

    @property
    def cr_code(self) -> CodeType:
        code: CodeType = self._driven.cr_code
        return code

    @property
    def cr_await(self) -> Any:
        return self._driven.cr_await

    def __getattr__(self, name: str) -> Any:
        return getattr(self._driven, name)  # its name, for repr
