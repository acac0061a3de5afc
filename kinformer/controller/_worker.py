"""Workers: take keys from a queue, call the reconciler, and do what its answer means."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol, TypeAlias

import anyio
from anyio.abc import TaskStatus

from kinformer.clock import Clock, Timer
from kinformer.controller._history import History, Reason
from kinformer.controller._membership import Admission
from kinformer.controller._reconcile import Reconciler, Request, RequeueAfter
from kinformer.errors import TerminalError
from kinformer.hooks import Hooks, ReconcileFinished, ReconcileResult, ReconcileStarted
from kinformer.meta import ObjectKey
from kinformer.observe import Reconciling, reconciling
from kinformer.tasks import has_cancellation, shed_cancellation, sole
from kinformer.workqueue import WorkQueue

__all__ = ["Gate", "Item", "Outcome", "Workers", "result_of"]

logger = logging.getLogger("kinformer.controller")


_RETRIED: Final = Reason("retried")
_REQUEUED: Final = Reason("requeued")

_LATER: Final = 1.0
"""Seconds until a key is asked for again that another member of a group is finishing."""

_LONG: Final = 60.0
"""Seconds after which the log tells of a call that is still going on."""


class Item(NamedTuple):
    """What a controller's queue holds: an object of a cluster."""

    cluster: str
    key: ObjectKey

    def __str__(self) -> str:
        return f"{self.cluster}:{self.key}" if self.cluster else str(self.key)


Outcome: TypeAlias = RequeueAfter | Exception | None
"""How a call of a reconciler ended: with one of the two answers, or with an error. A user's bug is data here."""


def result_of(outcome: Outcome) -> ReconcileResult:
    """The name of an outcome, for metrics."""
    match outcome:
        case None:
            return ReconcileResult.SUCCESS
        case RequeueAfter():
            return ReconcileResult.REQUEUE_AFTER
        case TerminalError():
            return ReconcileResult.TERMINAL
        case Exception():
            return ReconcileResult.ERROR


class Gate(Protocol):
    """Says which keys may be worked on; a ``Shard`` fits."""

    def enter(self, key: ObjectKey, /) -> Admission:
        """Begin, if that may be."""

    def leave(self, key: ObjectKey, /) -> None:
        """It has ended, where it has begun."""


class Workers:
    """Some tasks that reconcile the keys of one queue, each one key at a time.

    What an outcome does to its key: an answer clears its failures (``RequeueAfter`` also brings it back), a
    ``TerminalError`` too, and any other error brings it back after the limiter's delay, or parks it where the limiter
    gives it up. A key that comes back has the priority that it was taken with. A call that takes longer than
    ``timeout`` is cancelled and counts as an error.

    Args:
        name: The controller's name, for the log and for hooks.
        reconcile: The user's function.
        queue: Where keys come from and go back to; the workers end when it is shut down and empty.
        request: Makes the request for a key, given the number of the attempt.
        history: Remembers how keys fail, and why they come back.
        count: How many tasks.
        timeout: Seconds for one call; infinity for no limit.
        clock: Measures the timeout and the grace.
        hooks: Hears of each finished call.
    """

    def __init__(
        self,
        name: str,
        reconcile: Reconciler,
        queue: WorkQueue[Item],
        request: Callable[[Item, int], Request],
        history: History[Item],
        *,
        count: int,
        timeout: float,
        clock: Clock,
        hooks: Hooks,
    ) -> None:
        self.name: Final = name
        self._reconcile = reconcile
        self._queue = queue
        self._request = request
        self._history = history
        self.count: Final = count
        self._timeout = timeout
        self._clock = clock
        self._hooks = hooks
        self._running: dict[Item, float] = {}
        self._is_stopping = False
        self._scope: anyio.CancelScope | None = None
        self._deadline: Timer | None = None
        self._warning: Timer | None = None
        self._told_of: set[Item] = set()  # those that run for so long that the log has told of them
        self.gate: Gate | None = None
        """Asked for each key that is taken; ``None`` lets all in. A key that is another's is dropped here."""
        self.was_cut: tuple[Item, ...] = ()
        """The keys whose reconciles were cancelled when the grace was over."""

    @property
    def running(self) -> Mapping[Item, float]:
        """The keys that are being reconciled, with the moment at which each call began."""
        return MappingProxyType(self._running)

    def stop(self, grace: float) -> None:
        """Take no more keys, and cancel what still runs after ``grace`` seconds; then ``run`` returns."""
        if self._is_stopping:
            return
        self._is_stopping = True
        self._queue.shut_down()
        if self._scope is not None:
            end = partial(self._give_up, self._scope)
            self._deadline = self._clock.call_at(self._clock.monotonic() + grace, end)

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Work until the queue is shut down; cancellation cancels the calls that run."""
        try:
            async with anyio.create_task_group() as tasks:
                self._scope = tasks.cancel_scope
                for _ in range(self.count):
                    tasks.start_soon(self._work)
                task_status.started()
        finally:
            for timer in (self._deadline, self._warning):
                if timer is not None:
                    timer.cancel()

    def _give_up(self, scope: anyio.CancelScope) -> None:
        self.was_cut = tuple(self._running)
        if self._running:
            logger.warning(
                "%s: the grace is over, cancelling the reconciles of %s",
                self.name,
                ", ".join(map(str, self._running)),
            )
        scope.cancel()

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 -- this is a coroutine
        async for lease in self._queue:
            with lease as item:
                task.set_name(f"{self.name}: reconcile of {item}")  # what the watchdog tells
                if self._is_stopping:  # a queue that is shut down still hands out what it holds
                    continue
                if self.gate is None:
                    await self._perform(item)
                elif self._admits(self.gate, item):
                    try:
                        await self._perform(item)
                    finally:
                        self.gate.leave(item.key)

    def _admits(self, gate: Gate, item: Item) -> bool:
        match gate.enter(item.key):
            case Admission.NOW:
                return True
            case Admission.LATER:
                self._queue.add_after(item, _LATER)
            case Admission.ELSEWHERE:
                self._queue.forget(item)
                self._history.succeeded(item)
                self._history.take(item)
        return False

    async def _perform(self, item: Item) -> None:
        attempt = self._queue.requeues(item) + 1
        request = self._request(item, attempt)
        began = self._running[item] = self._clock.monotonic()
        if self._warning is None:  # one timer for all calls: one for each would cost a tenth of a short call
            self._warning = self._clock.call_at(began + _LONG, self._warn)
        token = reconciling.set(
            Reconciling(self.name, item.cluster, str(item.key), request.reconcile_id, attempt)
        )
        self._hooks.reconcile_started(
            ReconcileStarted(
                self.name,
                item.cluster,
                item.key,
                attempt,
                request.reconcile_id,
                tuple(map(str, request.reasons)),
            )
        )
        try:
            outcome = await self._call(request)
        except anyio.get_cancelled_exc_class():
            self._tell(request, ReconcileResult.CANCELLED, began)
            raise
        finally:
            reconciling.reset(token)
            del self._running[item]
            self._told_of.discard(item)
        error = outcome if isinstance(outcome, Exception) else None
        self._tell(request, result_of(outcome), began, error)
        self._settle(item, outcome)
        self._log(item, request, outcome)

    def _tell(
        self, request: Request, result: ReconcileResult, began: float, error: Exception | None = None
    ) -> None:
        duration = self._clock.monotonic() - began
        self._hooks.reconcile_finished(
            ReconcileFinished(
                self.name, request.key, result, duration, error, request.cluster, request.reconcile_id
            )
        )

    def _settle(self, item: Item, outcome: Outcome) -> None:
        match outcome:
            case RequeueAfter(seconds):
                self._queue.forget(item)
                self._history.succeeded(item)
                self._history.add(item, _REQUEUED)
                self._queue.add_after(item, seconds)
            case None:
                self._queue.forget(item)
                self._history.succeeded(item)
            case TerminalError():
                self._queue.forget(item)
                self._history.failed(item, outcome)
            case _:
                self._history.failed(item, outcome)
                self._queue.add_rate_limited(item, error=outcome)
                if not self._queue.is_parked(item):
                    self._history.add(item, _RETRIED)

    def _warn(self) -> None:
        """Tell of each call that has been going on for long, once, and look again when the next will have been."""
        self._warning = None
        now = self._clock.monotonic()
        untold = {item: began for item, began in self._running.items() if item not in self._told_of}
        for item, began in untold.items():
            if began + _LONG <= now:
                self._told_of.add(item)
                logger.warning(
                    "%s: the reconcile of %s has been going on for %g s",
                    self.name,
                    item,
                    _LONG,
                    extra=self._facts(item),
                )
        moments = [began + _LONG for began in untold.values() if began + _LONG > now]
        if moments:
            self._warning = self._clock.call_at(min(moments), self._warn)

    def _facts(self, item: Item) -> dict[str, object]:
        return {"controller": self.name, "cluster": item.cluster, "key": str(item.key)}

    async def _call(self, request: Request) -> Outcome:
        stuck: BaseException | None = None
        with self._clock.move_on_after(self._timeout):
            try:
                answer = await self._reconcile(request)
            except Exception as error:  # noqa: BLE001 -- a user's bug is data here; cancellation passes through
                found = sole(error)
                return found if isinstance(found, Exception) else error
            except anyio.get_cancelled_exc_class() as error:
                stuck = error
                await shed_cancellation()  # that of a scope, such as the timeout's, goes on from here
                return _cancelled(request, error)
            if has_cancellation():
                await shed_cancellation()
                return _cancelled(request)
            if answer is None or isinstance(answer, RequeueAfter):
                return answer
            return TypeError(  # type: ignore[unreachable]  # users need not check types
                f"the reconcile of {request.key} returned a value of type {type(answer).__name__}: "
                "return None or RequeueAfter(seconds)"
            )
        return _caused(
            TimeoutError(f"the reconcile of {request.key} took longer than {self._timeout:g} s"), stuck
        )

    def _log(self, item: Item, request: Request, outcome: Outcome) -> None:
        if not (isinstance(outcome, Exception) or logger.isEnabledFor(logging.DEBUG)):
            return
        attempt = request.attempt
        facts = self._facts(item) | {
            "attempt": attempt,
            "reconcile_id": request.reconcile_id,
            "reasons": [str(reason) for reason in request.reasons],
        }
        match outcome:
            case TerminalError():
                logger.error(
                    "%s: reconcile of %s failed for good: %r",
                    self.name,
                    item,
                    outcome,
                    exc_info=outcome,
                    extra=facts,
                )
            case Exception():
                logger.error(
                    "%s: reconcile of %s failed, attempt %d; %s: %r",
                    self.name,
                    item,
                    attempt,
                    "it is parked" if self._queue.is_parked(item) else "it will be tried again",
                    outcome,
                    exc_info=outcome,
                    extra=facts,
                )
            case _:
                logger.debug("%s: reconciled %s: %s", self.name, item, result_of(outcome), extra=facts)


def _cancelled(request: Request, cause: BaseException | None = None) -> Exception:
    return _caused(RuntimeError(f"the reconcile of {request.key} cancelled itself"), cause)


def _caused(error: Exception, cause: BaseException | None) -> Exception:
    error.__cause__ = cause  # its traceback shows where the call was
    return error
