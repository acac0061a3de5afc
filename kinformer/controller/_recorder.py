"""EventRecorder: tell people what a controller does, by Events that ``kubectl describe`` shows."""

import logging
import re
import socket
from random import Random
from typing import Final, get_args

import anyio
from anyio.abc import TaskStatus

from kinformer.client import Client
from kinformer.clock import Clock, Timer
from kinformer.controller._event_series import EventSeries, EventType, EventWrite, Told, regarding_of
from kinformer.controller._permissions import EVENTS
from kinformer.errors import (
    AlreadyExistsError,
    ApiError,
    NotFoundError,
    RequestError,
    ServerError,
    ThrottledError,
)
from kinformer.hooks import EventDropped, Hooks, guarded
from kinformer.meta import Object

__all__ = ["EventRecorder"]

logger = logging.getLogger("kinformer.controller")

_TRIES: Final = 5
_LONGEST: Final = 30.0
"""How often one event is tried, and the longest pause between two tries in seconds."""

_FLUSH: Final = 5.0
"""Seconds in which, at the end, everything has to be written that still waits."""

_REASON: Final = re.compile(r"[A-Z][A-Za-z0-9]{0,127}")


class EventRecorder:
    """Writes Events of ``events.k8s.io/v1``, beside the work that they tell of, and never in its way.

    The same again counts up one Event; much about one object is told rarely; what does not fit is dropped, counted, and
    told to the hook ``event_dropped`` (the limits are client-go's, see ``EventSeries``). It runs as a task of whoever owns
    it; a manager has one for each controller and cluster, which ``request.event`` speaks to.

    Args:
        client: Writes them.
        controller: Who reports, such as ``"website"``.
        instance: Which instance of it; by default the host's name, which is the pod's.
        clock: The time; by default the client's.
        random: Makes names that nobody else uses.
        hooks: Hear of what is dropped.
    """

    def __init__(
        self,
        client: Client,
        controller: str,
        *,
        instance: str = "",
        clock: Clock | None = None,
        random: Random | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.name: Final = f"events of {controller}"
        self._controller = controller
        self._events = client.resource(EVENTS).without_retries()
        self._clock = clock or client.clock
        self._random = random or Random()  # noqa: S311 -- names, no secret
        self._hooks = guarded(hooks)
        self._series = EventSeries(controller, instance or socket.gethostname())
        self._told = anyio.Event()
        self._is_closed = False
        self._writing: anyio.CancelScope | None = None
        self._deadline: Timer | None = None
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """How many events were not written: over the limit, no room, or refused by the server."""
        return self._dropped

    def event(
        self,
        regarding: Object,
        reason: str,
        note: str = "",
        *,
        type: EventType = "Normal",  # noqa: A002 -- the field's word, and a keyword
        action: str = "Reconcile",
        related: Object | None = None,
    ) -> None:
        """Tell something about an object; never waits, and never fails because of the server.

        Args:
            regarding: What it is about; its namespace is the Event's.
            reason: One word in CamelCase, for programs.
            note: A sentence for people.
            type: ``"Warning"`` for what somebody should see to.
            action: What was being done, in one word.
            related: Another object that has to do with it.

        Raises:
            ValueError: The reason or the action is not one word in CamelCase, or there is no such type.
        """
        for field, word in (("reason", reason), ("action", action)):
            if not _REASON.fullmatch(word):
                raise ValueError(f"{field}={word!r} must be one word in CamelCase, such as 'Created'")
        if type not in get_args(EventType):
            raise ValueError(f"type={type!r} must be 'Normal' or 'Warning'")
        told = Told(
            regarding_of(regarding),
            () if related is None else regarding_of(related),
            type,
            action,
            reason,
            note,
        )
        suffix = f"{self._random.getrandbits(64):016x}"
        if self._is_closed or not self._series.tell(told, suffix, self._clock.monotonic(), self._clock.now()):
            self._drop(reason)
        self._told.set()

    def close(self) -> None:
        """Take in no more; ``run`` writes what waits, for five seconds at most, and returns."""
        if not self._is_closed:
            self._is_closed = True
            self._series.flush()
            self._told.set()
            if self._writing is not None:
                self._hurry(self._writing)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Write until closed; cancellation drops what waits."""
        task_status.started()
        try:
            with anyio.CancelScope() as self._writing:
                if self._is_closed:
                    self._hurry(self._writing)
                await self._write_all()
        finally:
            self._writing = None
            if self._deadline is not None:
                self._deadline.cancel()
            self._drop_the_rest()

    def _hurry(self, writing: anyio.CancelScope) -> None:
        self._deadline = self._clock.call_at(self._clock.monotonic() + _FLUSH, writing.cancel)

    def _drop_the_rest(self) -> None:
        while (write := self._series.next()) is not None:
            self._series.failed(write)
            self._drop(write.told.reason)

    async def _write_all(self) -> None:
        while True:
            while (write := self._series.next()) is not None:
                await self._write(write)
            if self._is_closed:
                return
            self._told = anyio.Event()
            await self._told.wait()

    async def _write(self, write: EventWrite) -> None:
        for number in range(1, _TRIES + 1):
            try:
                if write.is_new:
                    await self._events.create(write.content)
                else:
                    await self._events.patch(write.key, write.content)
            except AlreadyExistsError:  # a try before was stored, though its answer was lost
                self._series.succeeded(write._replace(counted=1))
                return
            except NotFoundError as error:
                if write.is_new:  # the namespace is gone
                    self._give_up(write, error)
                else:
                    self._series.vanished(write)
                return
            except RequestError as error:
                is_final = isinstance(error, ApiError) and not isinstance(error, ThrottledError | ServerError)
                if is_final or number == _TRIES:
                    self._give_up(write, error)
                    return
                asked = error.retry_after if isinstance(error, ApiError) else None
                await self._clock.sleep(asked or min(2.0**number, _LONGEST) * (0.5 + self._random.random()))
                continue
            self._series.succeeded(write)
            return

    def _give_up(self, write: EventWrite, error: RequestError) -> None:
        self._series.failed(write)
        self._drop(write.told.reason)
        logger.warning("%s: an event %r is not written: %s", self._controller, write.told.reason, error)

    def _drop(self, reason: str) -> None:
        self._dropped += 1
        self._hooks.event_dropped(EventDropped(self._controller, reason))
