"""Observation: what a manager with an address runs before all else, so that others can see how it is doing."""

import socket
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kinformer.clock import Clock
from kinformer.hooks import Hooks, together
from kinformer.observe._answers import Answer, Routes
from kinformer.observe._debug import Debug, activities, page, told
from kinformer.observe._failures import Failures
from kinformer.observe._metrics import Metrics
from kinformer.observe._readiness import readiness
from kinformer.observe._report import Report
from kinformer.observe._server import Address, HttpServer
from kinformer.observe._tally import Tally
from kinformer.observe._trends import Load, Trends
from kinformer.tasks import open_task_group

__all__ = ["Observation"]

_PERIOD: Final = 1.0
"""Seconds between two looks at the queues and the event loop."""

_FAILURES: Final = 50
"""Different ones that are remembered."""


class Observation:
    """Serves ``/healthz``, ``/readyz``, ``/metrics``, ``/debug`` and ``/debug.json`` of one manager.

    Args:
        address: Where.
        report: Gives the present state; it must be quick.
        load: Gives how much each controller has to do; it is asked each second.
        metrics: What ``/metrics`` shows; None: some of its own, where prometheus-client is installed.
        clock: The time.
    """

    name: Final = "observation"

    def __init__(
        self,
        address: Address,
        report: Callable[[], Report],
        *,
        load: Callable[[], Mapping[str, Load]],
        metrics: Metrics | None = None,
        clock: Clock,
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
        self._report = report
        self._load = load
        self._failures = Failures(_FAILURES, clock=clock)
        self._trends = Trends(_PERIOD)
        self.hooks: Final[Hooks] = together(self._tally, self._failures)
        """To be told of all that happens."""
        self._clock = clock
        self._began = clock.monotonic()
        self.routes: Final[Routes] = {
            "/healthz": lambda: Answer("ok\n"),  # the event loop lives, or nobody would say so
            "/readyz": lambda: readiness(report()),
            "/metrics": self._exposed,
            "/debug": page,
            "/debug.json": lambda: told(self.debug()),
        }
        """What it serves, by path."""
        self._server = HttpServer(address, self.routes, clock=clock)

    @property
    def url(self) -> str:
        """Where it is reached; ``""`` while it does not listen."""
        return self._server.url

    def debug(self) -> Debug:
        """What ``/debug.json`` says, as data."""
        report = self._report()
        return Debug(
            version=_version(),
            host=socket.gethostname(),
            now=self._clock.now(),
            uptime=self._clock.monotonic() - self._began,
            report=report,
            activity=activities(self._tally, report),
            requests=self._tally.codes(),
            holders=dict(self._failures.holders),
            failures=self._failures.shown(),
            history=self._trends.shown(),
        )

    def close(self) -> None:
        """Let ``run`` return."""
        self._server.close()

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Serve until closed; ``started()`` once it listens.

        Raises:
            OSError: The address is in use, or cannot be listened on.
        """
        self._began = self._clock.monotonic()
        async with open_task_group() as tasks:
            tasks.start_soon(self._look)
            await self._server.run(task_status=task_status)
            tasks.cancel_scope.cancel()

    async def _look(self) -> None:
        while True:
            due = self._clock.monotonic() + _PERIOD
            await self._clock.sleep(_PERIOD)
            lag = max(0.0, self._clock.monotonic() - due)
            self._tally.loop_lagged(lag)
            self._trends.add(self._load(), self._tally, lag)

    def _exposed(self) -> Answer:
        if self._metrics is None:
            return Answer(f"{self._advice}\n", status=HTTPStatus.NOT_IMPLEMENTED)
        return self._metrics.exposed()


@cache
def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version  # a tenth of what importing kinformer costs

    try:
        return version("kinformer")
    except PackageNotFoundError:
        return "source"
