"""Tenure: a block that runs only while something goes on being renewed."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Protocol

import anyio

from kinformer.clock import Clock
from kinformer.controller._moment import Moment
from kinformer.errors import RequestError
from kinformer.meta import ObjectKey
from kinformer.tasks import open_task_group

__all__ = ["Right", "Tenure"]

logger = logging.getLogger("kinformer.controller")


class Right(Protocol):
    """What says how long the block may go on; a pure machine."""

    def left(self, now: Moment, /) -> float:
        """Seconds until it is over unless it is renewed; 0 where it is."""


class Tenure:
    """Renews a right while a block runs, and cancels the block when the right is over. Good for one block.

    Args:
        key: The Lease that is renewed, for the log.
        right: How long there is.
        renew: Tries once; a ``RequestError`` is trouble, and no more than that.
        period: Seconds between two renewals.
        patience: Seconds that one may take.
        clock: The time.
    """

    def __init__(
        self,
        key: ObjectKey,
        right: Right,
        renew: Callable[[], Awaitable[None]],
        *,
        period: float,
        patience: float,
        clock: Clock,
    ) -> None:
        self._key = key
        self._right = right
        self._renew = renew
        self._period = period
        self._patience = patience
        self._clock = clock
        self._work = anyio.CancelScope()
        self._renewals = anyio.CancelScope(shield=True)
        self._trouble = ""
        self._is_lost = False

    @property
    def is_lost(self) -> bool:
        """Whether the block was cancelled."""
        return self._is_lost

    @property
    def trouble(self) -> str:
        """What the last renewal failed with; ``""`` where it did not."""
        return self._trouble

    async def attempt(self) -> None:
        """Renew, or find out why that cannot be; failing is no error."""
        trouble = f"no answer within {self._patience:g} s"
        with self._clock.move_on_after(self._patience):
            try:
                await self._renew()
                trouble = ""
            except RequestError as error:
                trouble = str(error)
        if trouble not in {"", self._trouble}:
            logger.warning("%s: cannot renew or take the lease: %s", self._key, trouble)
        self._trouble = trouble

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Renew during a block, and until it has ended, however long that takes after it was cancelled."""
        async with open_task_group() as tasks:
            tasks.start_soon(self._keep)
            try:
                with self._work:
                    yield
            finally:
                self._renewals.cancel()

    async def _keep(self) -> None:
        with self._renewals:
            while True:
                now = Moment.now(self._clock)
                timer = self._clock.call_at(now.monotonic + self._right.left(now), self._check)
                try:
                    await self._clock.sleep(self._period)
                    self._check()  # the timer is late where the machine was suspended since
                    await self.attempt()
                    self._check()
                finally:
                    timer.cancel()

    def _check(self) -> None:
        if not self._is_lost and not self._right.left(Moment.now(self._clock)) > 0:
            self._is_lost = True
            self._work.cancel()
