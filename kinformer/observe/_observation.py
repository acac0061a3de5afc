"""Observation: what a manager with an address runs before all else, so that others can see how it is doing."""

from collections.abc import Callable
from typing import Final

import anyio
from anyio.abc import TaskStatus

from kinformer.clock import Clock
from kinformer.observe._answers import Answer
from kinformer.observe._readiness import readiness
from kinformer.observe._report import Report
from kinformer.observe._server import Address, HttpServer

__all__ = ["Observation"]


class Observation:
    """Serves ``/healthz`` and ``/readyz`` of one manager.

    Args:
        address: Where.
        survey: Gives the present state; it must be quick.
        clock: The time.
    """

    name: Final = "observation"

    def __init__(self, address: Address, survey: Callable[[], Report], *, clock: Clock) -> None:
        routes = {
            "/healthz": lambda: Answer("ok\n"),  # the event loop lives, or nobody would say so
            "/readyz": lambda: readiness(survey()),
        }
        self._server = HttpServer(address, routes, clock=clock)

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
        await self._server.run(task_status=task_status)
