"""Listener: one handler, what it has not been told yet, and the task that tells it."""

import logging
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Generic, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from kinformer.clock import Clock
from kinformer.errors import ClosedError, DecodeError
from kinformer.hooks import HandlerFailed, HandlerLagging, Hooks, ObjectQuarantined
from kinformer.informer._backlog import Backlog, Waiting
from kinformer.informer._filter import Filter
from kinformer.informer._fitting import Fitting
from kinformer.informer._handlers import Call
from kinformer.informer._notifications import Notification, key_of
from kinformer.informer._views import Views
from kinformer.meta import Object, ObjectKey, Record
from kinformer.tasks import has_cancellation, shed_cancellation

__all__ = ["Listener"]

T_co = TypeVar("T_co", covariant=True)

_log: Final = logging.getLogger("kinformer.informer")

_LAGGING: Final = 1024
"""A backlog above this is worth a warning, if calls are slow as well (``processorListener`` in client-go)."""

_SLOW: Final = 0.1
"""A call of this many seconds is slow."""

_TURN: Final = 64
"""How many notifications are told before other tasks get their turn, whatever the handler does."""

_TURN_TIME: Final = 0.005
"""How many seconds of calls end a turn as well."""


class Listener(Generic[T_co]):
    """One handler and its backlog.

    ``begin`` and ``offer`` never wait, so a slow handler delays only itself. ``run`` tells the handler one notification
    after the other, from one task. A call that raises is logged and counted, and that notification is over.

    Invariant: ``is_synced`` is true only once every source is synced and every initial add has been told.
    """

    def __init__(
        self,
        name: str,
        calls: Mapping[type, Call],
        backlog: Backlog,
        views: Views[T_co],
        *,
        passes: Filter[T_co] | None = None,
        informer: str,
        sources: int = 1,
        clock: Clock,
        hooks: Hooks,
    ) -> None:
        self.name: Final = name
        self._calls = calls
        self._backlog = backlog
        self._fitting = Fitting(views)
        self._filter = passes
        # Otherwise what is told depends on what was told before, of whatever kind.
        self._is_as_happened = views.model is Object and passes is None
        self._informer = informer
        self._clock = clock
        self._hooks = hooks
        self._unsynced_sources = sources
        self._is_telling = False
        self._called_at = 0.0
        self._is_closed = False
        self._is_lagging = False
        self._woken = anyio.Event()
        self._settled = anyio.Event()
        self._ended = anyio.Event()
        self._task: int | None = None
        self.is_synced = False
        self.high_water = 0
        self.delivered = 0
        self.failures = 0

    @property
    def backlog(self) -> int:
        """How many notifications wait."""
        return len(self._backlog)

    @property
    def oldest_age(self) -> float:
        """For how many seconds the next notification has waited; 0 when none waits."""
        oldest = self._backlog.oldest
        return 0.0 if oldest is None else self._clock.monotonic() - oldest

    def begin(self, content: MappingProxyType[ObjectKey, Record], since: float) -> None:
        """Take an initial add for each of these records, before anything else is offered of their source."""
        if not self._is_closed:
            self._backlog.begin(content, since)
            self._grown()

    def offer(self, waiting: Sequence[Waiting]) -> None:
        """Take some more notifications; after ``close`` they are dropped."""
        if not self._is_closed:
            self._backlog.offer(waiting)
            self._grown()
            self._settle()  # merging may have taken the last initial add away

    def source_synced(self) -> None:
        """Learn that all initial adds of one more source have been offered."""
        self._unsynced_sources -= 1
        self._settle()

    def close(self) -> None:
        """Drop what waits and let ``run`` return; a call that is going on comes to its end."""
        self._is_closed = True
        self._backlog.clear()
        self._fitting.clear()
        self._woken.set()
        self._settled.set()
        if self._task is None:
            self._ended.set()

    async def wait_synced(self) -> None:
        """Wait until every initial add has been told.

        Raises:
            ClosedError: The handler was removed, or the informer ended, before that.
        """
        await self._settled.wait()
        if not self.is_synced:
            raise ClosedError(f"handler {self.name!r} of {self._informer} was removed before it was synced")

    async def wait_ended(self) -> None:
        """Wait until it is closed, and the call that was going on has come to its end.

        Raises:
            RuntimeError: The handler itself asks; it would wait for its own call.
        """
        if self._is_telling and anyio.get_current_task().id == self._task:
            raise RuntimeError(f"handler {self.name!r} of {self._informer} cannot wait for its own end")
        await self._ended.wait()

    async def run(self) -> None:
        """Tell the handler until closed. Cancelled in a call, it leaves that call's notification behind."""
        self._task = anyio.get_current_task().id
        try:
            while not self._is_closed:
                if self._backlog:
                    await self._turn()
                    await checkpoint()
                else:
                    self._woken = anyio.Event()
                    await self._woken.wait()
        finally:
            self._ended.set()

    async def _turn(self) -> None:
        end = self._clock.monotonic() + _TURN_TIME
        for _ in range(_TURN):
            if not self._backlog:  # the handler may have removed itself, which empties it
                return
            self._is_telling = True
            self._called_at = self._clock.monotonic()
            await self._tell(self._backlog.pop())
            ended = self._clock.monotonic()
            self._is_telling = False
            self._settle()
            self._watch_lag("its last call took", ended - self._called_at)
            if ended >= end:
                return

    async def _tell(self, happened: Notification[Record]) -> None:
        if self._is_as_happened and type(happened) not in self._calls:
            return
        try:
            told = self._fitted(happened)
            if told is not None and self._filter is not None:
                told = self._filter(key_of(happened), told)
            call = self._calls.get(type(told))
            if call is not None:
                await call(told)
                self.delivered += 1
        except anyio.get_cancelled_exc_class() as error:
            await shed_cancellation()  # ours goes on from here
            self._fail(RuntimeError(f"the handler let out a cancellation that nobody asked for: {error!r}"))
        except Exception as error:  # noqa: BLE001 -- a user's bug costs the handler this one notification
            self._fail(error)
        if has_cancellation():
            await shed_cancellation()

    def _fitted(self, happened: Notification[Record]) -> Notification[T_co] | None:
        try:
            return self._fitting(happened)
        except DecodeError as error:
            self._misfit(error)
        try:
            return self._fitting.instead(happened)
        except DecodeError as error:
            self._misfit(error)
            return None

    def _misfit(self, error: DecodeError) -> None:
        self.failures += 1
        self._hooks.object_quarantined(ObjectQuarantined(self._informer, error.key, error))
        _log.warning("%s: handler %s is not told of an object: %s", self._informer, self.name, error)

    def _fail(self, error: Exception) -> None:
        self.failures += 1
        _log.error("%s: handler %s failed", self._informer, self.name, exc_info=error)
        self._hooks.handler_failed(HandlerFailed(self._informer, self.name, error))

    def _grown(self) -> None:
        self.high_water = max(self.high_water, len(self._backlog))
        self._woken.set()
        if self._is_telling:  # a call that never ends is to be heard of as well
            self._watch_lag("its present call has taken", self._clock.monotonic() - self._called_at)

    def _settle(self) -> None:
        if (
            not self._unsynced_sources
            and not self._backlog.initial
            and not self._is_telling
            and not self._is_closed
        ):
            self.is_synced = True
            self._settled.set()

    def _watch_lag(self, what: str, duration: float) -> None:
        """Warn once for each time that the backlog grows out of hand; it must halve before the next warning."""
        backlog = len(self._backlog)
        if backlog <= _LAGGING // 2:
            self._is_lagging = False
        elif backlog > _LAGGING and duration >= _SLOW and not self._is_lagging:
            self._is_lagging = True
            _log.warning(
                "%s: handler %s is slow: %d notifications wait, %s %.3f s",
                self._informer,
                self.name,
                backlog,
                what,
                duration,
            )
            self._hooks.handler_lagging(HandlerLagging(self._informer, self.name, backlog, duration))
