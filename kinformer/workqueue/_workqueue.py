"""WorkQueue: each key in at most one pair of hands."""

import math
from collections import deque
from collections.abc import Hashable
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypeVar

import anyio
from anyio.lowlevel import checkpoint

from kinformer.clock import Clock, Timer
from kinformer.errors import ClosedError
from kinformer.hooks import Hooks, NoHooks
from kinformer.system_clock import SystemClock
from kinformer.workqueue._defaults import client_go_default
from kinformer.workqueue._delayed import Delayed
from kinformer.workqueue._limits import Limiter
from kinformer.workqueue._meter import Meter
from kinformer.workqueue._ready import Ready

__all__ = ["Lease", "ReadyKeys", "WorkQueue"]

K = TypeVar("K", bound=Hashable)

_TURN: Final = 64
"""How many keys may be taken in a row before the event loop gets a turn."""

_SLICE: Final = 512
"""How many keys that are due are let in at once before the event loop gets a turn: some 0.5 ms of work."""


class ReadyKeys(Protocol[K]):
    """What a ``WorkQueue`` needs from the structure that decides which key is next; ``Ready`` is the usual one.

    Another one may choose another order, and nothing else: what was asked for and is not running can be taken, and a
    key asked for while it runs can be taken when that run ends. It is called from one thread and never waits.
    """

    def add(self, key: K, /) -> bool:
        """Ask for a run of ``key``; gives whether that is news."""

    def take(self) -> K:
        """Hand out the next key; called only where ``len()`` is not 0."""

    def done(self, key: K, /) -> None:
        """End the run of ``key``; raises ``ValueError`` where it has none."""

    def __len__(self) -> int:
        """How many keys can be taken now."""

    @property
    def depth(self) -> int:
        """How many keys want a run, whether they can be taken now or not."""

    @property
    def is_idle(self) -> bool:
        """Whether no key wants a run and none has one."""


class Lease(Generic[K]):
    """A key in a worker's hands: ``with lease as key:``. Leaving the block puts it down, whatever happened inside.

    The key was taken when the lease was made, so enter it at once, and once.
    """

    __slots__ = ("_key", "_queue")

    def __init__(self, queue: "WorkQueue[K]", key: K) -> None:
        self._queue = queue
        self._key = key

    def __enter__(self) -> K:
        return self._key

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._queue.done(self._key)


class WorkQueue(Generic[K]):
    """Keys that want work, handed to workers one at a time; client-go's rate-limiting queue.

    ```python
    async for lease in queue:          # in each worker; ends after shut_down()
        with lease as key:
            await work(key)
    ```

    - A key is never in two hands. Adding it again before it is taken changes nothing; adding it while it is held
      means exactly one more run, after ``done`` and behind what was waiting by then.
    - A key may also wait for its moment (``add_after``). It has one moment, the earliest asked for; that is apart
      from its place in the queue, so a key added meanwhile runs now, and again at its moment. ``forget`` and ``done``
      do not cancel it.
    - Keys are told apart by equality. The queue has no bound but the number of different keys.

    It needs no task: one timer, for the earliest moment, is all that it holds of the event loop. All calls belong to
    the thread of that loop.

    Args:
        name: How hooks call the queue.
        ready: What decides the order; ``None`` means first come, first served.
        limiter: What ``add_rate_limited`` asks; ``None`` means ``client_go_default``.
        clock: The time.
        hooks: Hears of keys added, taken, done and retried.
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
        self._ready: ReadyKeys[K] = Ready() if ready is None else ready
        self._limiter: Limiter[K] = client_go_default(self._clock) if limiter is None else limiter
        self._meter = None if hooks is None or type(hooks) is NoHooks else Meter[K](name, self._clock, hooks)
        self._delayed = Delayed[K]()
        self._timer: Timer | None = None
        self._timer_due = math.inf
        self._getters: deque[anyio.Event] = deque()  # one for each get() that waits and was not woken
        self._idle: anyio.Event | None = None  # all drain() calls wait for this one
        self._woken = 0  # how many get() calls were woken and have not gone on yet
        self._taken_in_a_row = 0
        self._is_shut_down = False

    def add(self, key: K) -> None:
        """Ask for a run of ``key`` now. Ignored after ``shut_down``."""
        if not self._is_shut_down:
            self._put(key)

    def add_after(self, key: K, delay: float) -> None:
        """Ask for a run of ``key`` in ``delay`` seconds, at once for 0 or less. Ignored after ``shut_down``.

        Raises:
            ValueError: ``delay`` is infinite or not a number.
        """
        if not delay < math.inf:
            raise ValueError(f"the delay of {key!r} must be a finite number of seconds, not {delay}")
        if self._is_shut_down:
            return
        if delay > 0:
            when = self._clock.monotonic() + delay
            if when < self._timer_due:
                self._set_timer(when)  # before the key is kept: it raises where no event loop runs
            self._delayed.add(key, when)
        else:
            self._put(key)
        if self._meter is not None:
            self._meter.retried(max(0.0, delay))

    def add_rate_limited(self, key: K) -> None:
        """Ask for a run of ``key`` when the limiter says so, and count a failure. Ignored after ``shut_down``."""
        if not self._is_shut_down:
            self.add_after(key, self._limiter.delay(key))

    def forget(self, key: K) -> None:
        """Tell the limiter that ``key`` is fine, so that its next failure is its first.

        This neither takes ``key`` out of the queue nor replaces ``done``.
        """
        self._limiter.forget(key)

    def requeues(self, key: K) -> int:
        """How often ``key`` was added rate-limited since it was last forgotten, as the limiter counts."""
        return self._limiter.requeues(key)

    async def get(self) -> K:
        """Wait for a key and take it; ``done`` must follow. Cancelling the wait takes nothing.

        Where keys are ready it returns without waiting, but for one time in 64, which gives the event loop a turn.

        Raises:
            ClosedError: The queue was shut down and has nothing left.
        """
        if self._taken_in_a_row >= _TURN:
            self._taken_in_a_row = 0
            await checkpoint()
        while not self._ready:
            if self._is_shut_down:
                raise ClosedError(f"work queue {self.name!r} was shut down and has nothing left")
            self._taken_in_a_row = 0
            await self._wait_for_key()
        key = self._ready.take()  # no await since the test
        self._taken_in_a_row += 1
        if self._meter is not None:
            self._meter.taken(key, self._ready.depth)
        return key

    def done(self, key: K) -> None:
        """Put down ``key``; where it was added while it was held, it is ready again.

        Raises:
            ValueError: Nobody holds ``key``.
        """
        self._ready.done(key)
        if self._meter is not None:
            self._meter.done(key)
        if self._getters:
            self._wake_one()
        if self._idle is not None and self._ready.is_idle:
            self._idle.set()
            self._idle = None

    def __aiter__(self) -> Self:
        """Give the queue itself: any number of workers may iterate over it at once."""
        return self

    async def __anext__(self) -> Lease[K]:
        """Wait for a key as ``get`` does; the end of the iteration is what ``ClosedError`` is there."""
        try:
            return Lease(self, await self.get())
        except ClosedError:
            raise StopAsyncIteration from None

    def shut_down(self) -> None:
        """Take in nothing more. What is ready is still handed out; what waits for its moment is dropped.

        A key that was added while it is held is handed out once more. May be called again.
        """
        self._is_shut_down = True
        self._delayed.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._woken += len(self._getters)
        while self._getters:
            self._getters.popleft().set()

    async def drain(self) -> None:
        """Wait until no key is ready and none is held. What waits for its moment is not waited for.

        Somebody must go on taking keys, else this waits for ever. It closes nothing: after ``shut_down`` it is
        client-go's ``ShutDownWithDrain``; before it, it waits for what is added meanwhile too. Any number of tasks
        may wait, and each may be cancelled.
        """
        while not self._ready.is_idle:
            if self._idle is None:
                self._idle = anyio.Event()
            await self._idle.wait()

    def __len__(self) -> int:
        """How many keys can be taken now; neither those that are held nor those that wait for their moment."""
        return len(self._ready)

    @property
    def delayed(self) -> int:
        """How many keys wait for their moment."""
        return len(self._delayed)

    @property
    def is_shut_down(self) -> bool:
        """Whether ``shut_down`` was called."""
        return self._is_shut_down

    def _put(self, key: K) -> None:
        if not self._ready.add(key):
            return
        if self._meter is not None:
            self._meter.added(key, self._ready.depth)
        if self._getters:
            self._wake_one()

    async def _wait_for_key(self) -> None:
        """Wait until woken, which is a hint: another worker may have been quicker."""
        woken = anyio.Event()
        self._getters.append(woken)
        try:
            await woken.wait()
        except BaseException:
            if woken.is_set():  # woken and cancelled at once: the hint goes to the next
                self._woken -= 1
                self._wake_one()
            else:
                self._getters.remove(woken)
            raise
        self._woken -= 1

    def _wake_one(self) -> None:
        """Wake the longest waiting getter, if there is a key that no woken getter is on its way to."""
        if self._getters and len(self._ready) > self._woken:
            self._woken += 1
            self._getters.popleft().set()

    def _set_timer(self, when: float) -> None:
        timer = self._clock.call_at(when, self._let_in)
        if self._timer is not None:
            self._timer.cancel()
        self._timer = timer
        self._timer_due = when

    def _let_in(self) -> None:
        self._timer = None
        self._timer_due = math.inf
        for key in self._delayed.take_due(self._clock.monotonic(), _SLICE):
            self._put(key)
        when = self._delayed.next_due
        if when is not None:
            self._set_timer(when)
