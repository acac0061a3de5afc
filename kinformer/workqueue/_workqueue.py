"""WorkQueue: each key in at most one pair of hands."""

import math
from asyncio import Event
from collections import deque
from collections.abc import Hashable, Iterable, Sized
from typing import Final, Generic, Self, TypeVar

from kinformer.clock import Clock
from kinformer.errors import ClosedError
from kinformer.hooks import Hooks, NoHooks, guarded
from kinformer.system_clock import SystemClock
from kinformer.workqueue._alarm import Alarm
from kinformer.workqueue._contracts import ReadyKeys
from kinformer.workqueue._defaults import client_go_default
from kinformer.workqueue._failing import Failing
from kinformer.workqueue._lease import Lease
from kinformer.workqueue._limits import Limiter
from kinformer.workqueue._meter import Meter
from kinformer.workqueue._parking import Parking
from kinformer.workqueue._ready import Ready
from kinformer.workqueue._snapshot import Gauges, Snapshot, gauges_of, snapshot_of
from kinformer.workqueue._waiters import Waiters, give_way

__all__ = ["WorkQueue"]

K = TypeVar("K", bound=Hashable)

_TURN: Final = 64
"""How many keys may be taken in a row before the event loop gets a turn."""

_ALWAYS: Final = (None,)
"""Something that is there, for where a collection that is empty means that there is nothing to do."""


class WorkQueue(Generic[K]):
    """Keys that want work, handed to workers one at a time; client-go's rate-limiting queue.

    ```python
    async for lease in queue:          # in each worker; ends after shut_down()
        with lease as key:
            await work(key)
    ```

    - A key is never in two hands. Adding it again before it is taken changes nothing, but that it may raise its
      priority; adding it while it is held means exactly one more run, after ``done`` and behind what was waiting by
      then.
    - A key may also wait for its moment (``add_after``). It has one moment, the earliest asked for; that is apart
      from its place in the queue, so a key added meanwhile runs now, and again at its moment. ``forget`` and ``done``
      do not cancel it.
    - A key whose limiter gives it up (``MaxAttempts``) is *parked*: kept aside until it is added again, and shown by
      ``snapshot``.
    - Keys are told apart by equality; neither that nor their hash may change or raise. The queue has no bound but the number of different keys.

    It needs no task: one timer, for the earliest moment, is all that it holds of the event loop. All calls belong to
    the thread of that loop.

    The limiter is told to forget the keys that are gone: those that have failed, and that are neither ready, nor held,
    nor waiting for their moment. Each failure looks at two of them, so its memory follows the keys that are there.

    Args:
        name: How hooks and the log call the queue.
        ready: What decides the order; ``None`` means first come, first served, whatever the priority.
        limiter: What ``add_rate_limited`` asks; ``None`` means ``client_go_default``.
        clock: The time.
        hooks: Hears of keys added, taken, done, retried, parked and resumed.
    """

    def __init__(
        self,
        name: str = "",
        *,
        ready: ReadyKeys[K] | None = None,
        limiter: Limiter[K] | None = None,
        clock: Clock | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self.name: Final = name
        self._clock: Clock = SystemClock() if clock is None else clock
        self._now = self._clock.monotonic
        self._ready: ReadyKeys[K] = Ready() if ready is None else ready
        self._limiter: Limiter[K] = client_go_default(self._clock) if limiter is None else limiter
        self._meter = None if hooks is None or type(hooks) is NoHooks else Meter[K](name, guarded(hooks))
        self._alarm = Alarm[K](name, self._clock, self._put)
        self._failing = Failing[K]()
        self._parking = Parking[K](name, self._meter)
        self._parked = self._parking.keys
        self._waiters = Waiters(self._ready)
        self._sleeping = self._waiters.sleeping
        self._idle: Event | None = None  # all drain() calls wait for this one
        self._turns = _TURN  # how many keys may be taken before the event loop gets one
        self._is_shut_down = False
        # What the short way (see _choose_way) reaches for: the insides of a plain Ready, and nothing of any other order,
        # not even of a subclass, which may do things otherwise.
        self._fifo = self._ready if isinstance(self._ready, Ready) and type(self._ready) is Ready else None
        self._order: deque[K] = deque() if self._fifo is None else self._fifo.order
        self._table: dict[K, float | None] = {} if self._fifo is None else self._fifo.marks
        self._again: set[K] = set() if self._fifo is None else self._fifo.again
        # The switches that _choose_way sets, so that each call asks for one of them.
        self._marks: dict[K, float | None] | None = None  # _table where add() may take the short way
        self._quick: deque[K] = deque()  # _order where get() may
        self._heed: Sized = ()  # whether anybody must hear of a key that add() took in
        self._heed_done: Sized = _ALWAYS  # empty where done() may
        self._choose_way()

    def add(self, key: K, priority: int = 0) -> None:  # no keyword-only parameter: CPython calls this faster
        """Ask for a run of ``key`` now; a parked key is resumed. Ignored after ``shut_down``."""
        marks = self._marks
        if marks is not None:  # the short way: what _put and Ready.add do
            known = len(marks)
            mark = marks.setdefault(key)
            if len(marks) != known:
                self._order.append(key)
                if self._heed:
                    self._heed_added(key)
            elif mark is not None:
                self._put(key, priority)
        elif not self._is_shut_down:
            self._put(key, priority)

    def add_after(self, key: K, delay: float, *, priority: int | None = None) -> None:
        """Ask for a run of ``key`` in ``delay`` seconds, at once for 0 or less. Ignored after ``shut_down``.

        Args:
            key: What to run.
            delay: Seconds from now; of two moments the earlier one holds.
            priority: ``None`` means the one that the key is held with, or waits with; the higher one holds.

        Raises:
            ValueError: ``delay`` is infinite or not a number.
        """
        if not delay < math.inf:
            raise ValueError(f"the delay of {key!r} must be a finite number of seconds, not {delay}")
        if self._is_shut_down:
            return
        if priority is None:
            priority = self._ready.priority(key)
        if delay > 0:
            self._alarm.add(key, self._now() + delay, priority)
        else:
            self._put(key, priority)
        if self._meter is not None:
            self._meter.retried(max(0.0, delay))

    def add_rate_limited(
        self, key: K, *, priority: int | None = None, error: Exception | None = None
    ) -> None:
        """Ask for a run of ``key`` when the limiter says so, and count a failure. Ignored after ``shut_down``.

        Where the limiter gives the key up, it is parked, unless it was added while it was held: that counts as the
        event which resumes it.

        Args:
            key: What has failed.
            priority: See ``add_after``.
            error: Why, for ``snapshot``, the hooks and the log, should the key be parked.
        """
        if self._is_shut_down:
            return
        delay = self._limiter.delay(key)
        if delay == math.inf:
            self._park(key, error)
        else:
            self._failing.add(key)
            self.add_after(key, delay, priority=priority)
            self._drop(self._failing.sweep(2, self._is_gone))

    def forget(self, key: K) -> None:
        """Tell the limiter that ``key`` is fine, so that its next failure is its first; a parked key is let go of.

        This neither takes ``key`` out of the queue nor replaces ``done``.
        """
        self._limiter.forget(key)
        if self._failing.ring or self._parked:
            self._failing.discard(key)
            self._resume(key)

    def requeues(self, key: K) -> int:
        """How often ``key`` has failed since it was last forgotten, as the limiter counts; 0 for a parked key."""
        return self._limiter.requeues(key)

    async def get(self) -> K:
        """Wait for a key and take it; ``done`` must follow. Cancelling the wait takes nothing.

        Where keys are ready it returns without waiting, but for one time in 64, which gives the event loop a turn.

        Raises:
            ClosedError: The queue was shut down and has nothing left.
        """
        if self._turns <= 0:  # below, where several workers were woken at once
            self._turns = _TURN
            await give_way()
        quick = self._quick
        if quick:  # the short way: what Ready.take does
            self._turns -= 1
            key = quick.popleft()
            self._table[key] = self._now()
            return key
        while not self._ready:
            if self._is_shut_down:
                raise ClosedError(f"work queue {self.name!r} was shut down and has nothing left")
            self._turns = _TURN
            await self._waiters.wait()  # until woken, which is a hint: another worker may have been quicker
        return self._take()  # no await since the test

    def done(self, key: K) -> None:
        """Put down ``key``; where it was added while it was held, it is ready again.

        Raises:
            ValueError: Nobody holds ``key``.
        """
        if not self._heed_done:  # the short way: what Ready.done does
            marks = self._table
            try:
                since = marks.pop(key)
            except KeyError:
                pass
            else:
                if since is not None:
                    if not marks:
                        marks.clear()
                    if self._meter is not None:
                        self._meter.done(self._now() - since)
                    return
                marks[key] = since  # it was not held: the long way complains
        # While key is still held, since its user may be about to call add_rate_limited.
        gone = self._failing.sweep(1, self._is_gone) if self._failing.ring else ()
        began = self._ready.done(key)
        if self._meter is not None:
            self._meter.done(self._now() - began)
        if self._sleeping:
            self._waiters.wake_one()
        if self._idle is not None and self._ready.is_idle:
            self._idle.set()
            self._idle = None
            self._choose_way()
        if gone:
            self._drop(gone)

    def __aiter__(self) -> Self:
        """Give the queue itself: any number of workers may iterate over it at once."""
        return self

    async def __anext__(self) -> Lease[K]:
        """Wait for a key as ``get`` does; the end of the iteration is what ``ClosedError`` is there."""
        if self._turns > 0:  # the short ways of get(), without a second coroutine
            if self._quick:
                self._turns -= 1
                key = self._quick.popleft()
                self._table[key] = self._now()
                return Lease(self, key)
            if self._order:
                return Lease(self, self._take())
        try:
            return Lease(self, await self.get())
        except ClosedError:
            raise StopAsyncIteration from None

    def shut_down(self) -> None:
        """Take in nothing more. What is ready is still handed out; what waits for its moment is dropped.

        A key that was added while it is held is handed out once more. May be called again.
        """
        self._is_shut_down = True
        self._alarm.clear()
        self._waiters.wake_all()
        self._choose_way()

    async def drain(self) -> None:
        """Wait until no key is ready and none is held. What waits for its moment, or is parked, is not waited for.

        Somebody must go on taking keys, else this waits for ever. It closes nothing: after ``shut_down`` it is
        client-go's ``ShutDownWithDrain``; before it, it waits for what is added meanwhile too. Any number of tasks
        may wait, and each may be cancelled, which is also how to give up on a worker that does not end.
        """
        while not self._ready.is_idle:
            if self._idle is None:
                self._idle = Event()
                self._choose_way()
            await self._idle.wait()

    def __len__(self) -> int:
        """How many keys can be taken now; neither those that are held nor those that wait for their moment."""
        return len(self._ready)

    @property
    def delayed(self) -> int:
        """How many keys wait for their moment."""
        return len(self._alarm.keys)

    @property
    def parked(self) -> int:
        """How many keys have failed too often and wait for something to happen."""
        return len(self._parked)

    @property
    def is_shut_down(self) -> bool:
        """Whether ``shut_down`` was called."""
        return self._is_shut_down

    def is_parked(self, key: K) -> bool:
        """Whether ``key`` has failed too often and waits for something to happen."""
        return key in self._parked

    def snapshot(self, most: int | None = None) -> Snapshot[K]:
        """Everything that the queue holds, and why, as of now; it costs time for each key.

        Args:
            most: Only the first so many that are ready, delayed, running and parked, each in their order.
        """
        return snapshot_of(self._now(), self._ready, self._alarm.keys, self._parked.values(), most)

    def gauges(self) -> Gauges:
        """The numbers that change by themselves, as of now: for a metrics exporter, each time it is asked."""
        now = self._now()
        oldest = {} if self._meter is None else self._meter.oldest(self._ready.heads(), now)
        return gauges_of(now, self._ready, oldest, delayed=len(self._alarm.keys), parked=len(self._parked))

    def _choose_way(self) -> None:
        """Take the short way through ``add``, ``get`` and ``done`` while nobody but ``Ready`` need hear of a key.

        The short way does by hand what ``Ready`` does, since the calls alone cost a third as much as the work: it is
        what makes a key no dearer than an item of ``asyncio.Queue``. Tests hold both ways against one model.
        """
        if self._fifo is None:
            return
        is_open = not (self._is_shut_down or self._parked or self._failing.ring)
        is_short = is_open and self._idle is None
        self._marks = self._table if is_open else None
        self._heed = self._sleeping if self._meter is None else _ALWAYS
        self._quick = self._order if is_short and self._meter is None else deque()
        self._heed_done = self._again if is_short else _ALWAYS

    def _heed_added(self, key: K) -> None:
        if self._meter is not None:
            self._meter.added(key, self._now())
        if self._sleeping:
            self._waiters.wake_one()

    def _take(self) -> K:
        self._turns -= 1
        now = self._now()
        if self._order:
            key = self._order.popleft()
            self._table[key] = now
        else:
            key = self._ready.take(now)
        if self._meter is not None:
            self._meter.taken(key, now)
        return key

    def _put(self, key: K, priority: int) -> None:
        if self._parked:
            self._resume(key)
        if self._ready.add(key, priority):
            self._heed_added(key)

    def _park(self, key: K, error: Exception | None) -> None:
        attempts = self._limiter.requeues(key)
        self.forget(key)
        if not self._ready.wants(key):
            self._parking.park(key, self._now(), attempts, error)
            self._choose_way()

    def _resume(self, key: K) -> None:
        self._parking.resume(key)
        self._choose_way()

    def _drop(self, gone: Iterable[K]) -> None:
        """Let the limiter forget the keys that are gone. It is the user's and may raise, so all else comes first."""
        self._choose_way()
        for key in gone:
            self._limiter.forget(key)

    def _is_gone(self, key: K) -> bool:
        return key not in self._ready and key not in self._alarm.keys
