"""Observation: what a manager with an address runs before all else, so that others can see how it is doing."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kinformer.clock import Clock
from kinformer.hooks import Hooks
from kinformer.observe._answers import Answer, Routes
from kinformer.observe._metrics import Metrics
from kinformer.observe._readiness import readiness
from kinformer.observe._report import Report
from kinformer.observe._server import Address, HttpServer
from kinformer.observe._tally import Tally
from kinformer.tasks import open_task_group

__all__ = ["Observation"]

_PERIOD: Final = 1.0
"""Seconds between two looks at the event loop."""


class Observation:
    """Serves ``/healthz``, ``/readyz`` and ``/metrics`` of one manager.

    Args:
        address: Where.
        report: Gives the present state; it must be quick.
        metrics: What ``/metrics`` shows; None: some of its own, where prometheus-client is installed.
        clock: The time.
    """

    name: Final = "observation"

    def __init__(
        self, address: Address, report: Callable[[], Report], *, metrics: Metrics | None = None, clock: Clock
    ) -> None:
        self._metrics, self._advice = metrics, ""
        if metrics is None:
            try:
                self._metrics = Metrics()
            except ImportError as error:
                self._advice = str(error)
        self._tally = Tally() if self._metrics is None else self._metrics.tally
        if self._metrics is not None:
            self._metrics.show(report)
        self.hooks: Final[Hooks] = self._tally
        """To be told of all that happens."""
        self._clock = clock
        self.routes: Final[Routes] = {
            "/healthz": lambda: Answer("ok\n"),  # the event loop lives, or nobody would say so
            "/readyz": lambda: readiness(report()),
            "/metrics": self._exposed,
        }
        """What it serves, by path."""
        self._server = HttpServer(address, self.routes, clock=clock)

    @property
    def url(self) -> str:
        """Where it is reached; ``""`` while it does not listen."""
        return self._server.url

    def close(self) -> None:
        """Let ``run`` return."""
        self._server.close()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until closed; ``started()`` once it listens.

        Raises:
            OSError: The address is in use, or cannot be listened on.
        """
        async with open_task_group() as tasks:
            tasks.start_soon(self._watch_loop)
            await self._server.run(task_status=task_status)
            tasks.cancel_scope.cancel()

    async def _watch_loop(self) -> None:
        while True:
            due = self._clock.monotonic() + _PERIOD
            await self._clock.sleep(_PERIOD)
            self._tally.loop_lagged(max(0.0, self._clock.monotonic() - due))

    def _exposed(self) -> Answer:
        if self._metrics is None:
            return Answer(f"{self._advice}\n", status=HTTPStatus.NOT_IMPLEMENTED)
        return self._metrics.exposed()
