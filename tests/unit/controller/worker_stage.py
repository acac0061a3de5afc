"""Workers on a bench: with a queue, a clock, and a reconciler that does what a test says."""

import math
from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio

from kinformer.client import Client
from kinformer.controller import Item, Request, RequeueAfter
from kinformer.controller._history import History
from kinformer.controller._worker import Workers
from kinformer.hooks import NoHooks, ReconcileFinished, ReconcileResult
from kinformer.meta import ObjectKey
from kinformer.testing import FakeClock
from kinformer.workqueue import ExponentialLimiter, WorkQueue

A, B, C = (Item("", ObjectKey("default", name)) for name in "abc")
NO_CLIENT = cast("Client", None)  # the workers only pass it on


class Memory(NoHooks):
    """Remembers the calls that finished."""

    def __init__(self) -> None:
        self.finished: list[ReconcileFinished] = []

    def reconcile_finished(self, event: ReconcileFinished, /) -> None:
        self.finished.append(event)


class Bench:
    """Workers with a queue, a clock and a reconciler that does what a test says."""

    def __init__(
        self,
        behaviour: Callable[[Request], Awaitable[Any]],
        *,
        count: int = 2,
        timeout: float = math.inf,
    ) -> None:
        self.clock = FakeClock()
        self.hooks = Memory()
        self.requests: list[Request] = []
        self.moments: list[float] = []
        self.behaviour = behaviour
        self.queue: WorkQueue[Item] = WorkQueue(
            "site", limiter=ExponentialLimiter(1.0, 60.0), clock=self.clock
        )
        self.history = History[Item]()
        self.workers = Workers(
            "site",
            self.reconcile,
            self.queue,
            lambda item, attempt: Request(
                item.cluster,
                item.key,
                NO_CLIENT,
                attempt,
                self.history.last_error(item),
                self.history.take(item),
            ),
            self.history,
            count=count,
            timeout=timeout,
            clock=self.clock,
            hooks=self.hooks,
        )

    async def reconcile(self, request: Request) -> RequeueAfter | None:
        self.requests.append(request)
        self.moments.append(self.clock.monotonic())
        return cast("RequeueAfter | None", await self.behaviour(request))

    @property
    def names(self) -> list[str]:
        return [request.key.name for request in self.requests]

    @property
    def results(self) -> list[ReconcileResult]:
        return [event.result for event in self.hooks.finished]


async def succeed(request: Request) -> None: ...


async def hang(request: Request) -> None:
    await anyio.sleep_forever()


def answering(*answers: Any) -> Callable[[Request], Awaitable[Any]]:
    """Give or raise one after the other, and then succeed."""
    left = list(answers)

    async def behaviour(request: Request) -> Any:
        answer = left.pop(0) if left else None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return behaviour
