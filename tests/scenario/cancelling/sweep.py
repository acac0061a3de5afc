"""Cancelling work wherever it waits: at each point, by each way that leads to it, by a scope and by the task itself."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import dropwhile, pairwise
from pathlib import Path
from typing import Any, Final, Literal, get_args

import anyio

from kinformer.system_clock import SystemClock
from kinformer.testing import settle
from tests.scenario.cancelling.observer import Chain, Observer, watcher
from tests.scenario.cancelling.points import Point

How = Literal["scope", "task"]
"""By a scope around the work, as anyio does it; by ``cancel`` of its task, as asyncio does it."""
WAYS: Final[tuple[How, ...]] = get_args(How)
MOST: Final = 500
"""Cuts; what waits in more ways than that would never come to an end."""
PATIENCE: Final = 100.0
"""Seconds of the event loop until a run is said to hang; what ends it then is the limit for a test."""
DESCRIPTORS: Final = Path("/proc/self/fd")

Work = Callable[[], Awaitable[object]]
Held = Callable[[], object]
"""What there is of something; equal before and after work that was cut short."""


async def nothing() -> None:
    """What most need before, and look at after."""


def processes() -> int:
    """How many this one has started, where there is a list of them."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            parent = path.read_text().rpartition(")")[2].split()[1]
            found += parent == str(os.getpid())
    return found


@dataclass(frozen=True, slots=True)
class Remains:
    """What an event loop, and the process, hold at a moment."""

    tasks: frozenset["asyncio.Task[Any]"]
    timers: tuple[str, ...]
    generators: frozenset[int]
    descriptors: int
    of_the_stage: object

    @classmethod
    def now(cls, held: Held) -> "Remains":
        loop: Any = asyncio.get_running_loop()
        return cls(
            frozenset(asyncio.all_tasks()),
            tuple(sorted(named(timer._callback) for timer in loop._scheduled if not timer.cancelled())),
            frozenset(id(one) for one in loop._asyncgens if one.ag_frame is not None),
            len(list(DESCRIPTORS.iterdir())) if DESCRIPTORS.exists() else 0,
            held(),
        )


Step = tuple[Point, ...]
"""Points of which each waits for the next."""

By = Literal["point", "step", "chain"]
"""What is to be cancelled once: each point; each two of which one waits for the other; or each way to wait.

The more, the likelier that a state which is not whole is found, and the longer it takes.
"""


class Tried:
    """Where something was cancelled, as far as it is in some rooms."""

    def __init__(self, rooms: tuple[str, ...], by: By) -> None:
        self._rooms = rooms
        self._by = by
        self._steps: set[Step] = set()

    def take(self, waits_at: Chain) -> bool:
        """Note a chain; whether there was something new in it."""
        steps = {step for step in self._parts(waits_at) if any(map(self._is_own, step))}
        is_new = not steps <= self._steps
        self._steps |= steps
        return is_new

    def _parts(self, waits_at: Chain) -> Iterable[Step]:
        match self._by:
            case "point":
                return ((point,) for point in waits_at)
            case "step":
                return (*pairwise(waits_at), waits_at[:1], waits_at[-1:])
            case "chain":
                return (tuple(dropwhile(lambda point: not self._is_own(point), waits_at)),)

    def _is_own(self, point: Point) -> bool:
        return point.file.startswith(self._rooms)


def named(callback: Any) -> str:
    """By name, since what goes on around the work sets other timers of the same kind now and then."""
    return str(getattr(callback, "__qualname__", type(callback)))


class Sweep:
    """Cuts work short until there is nothing new at which it was not.

    Works that share a sweep share what was tried, so each needs to reach only what is its own.

    Args:
        rooms: How the paths of the files begin that it is about.
        by: How thorough to be.
    """

    def __init__(self, *rooms: str, by: By = "step") -> None:
        self.rooms = rooms
        self.observer = Observer()
        self._tried = {how: Tried(rooms, by) for how in WAYS}
        self._cleanups = Tried(rooms, by)
        self.cuts = 0

    async def of(
        self,
        work: Work,
        *,
        prepare: Work = nothing,
        held: Held = lambda: None,
        whole: Work = nothing,
        ways: Sequence[How] = WAYS,
    ) -> None:
        """Cut ``work`` short in all ways; each time nothing may be left. In the end it comes to its own end.

        Args:
            work: What is cut short, again and again.
            prepare: Comes before each time, and is let be.
            held: What else must be as it was before.
            whole: Looks whether what is there afterwards is whole.
            ways: How to cancel; one of them only where a run takes long.
        """
        for how in ways:
            where: Chain = ()
            for _ in range(MOST):
                await prepare()
                await settle()
                before = Remains.now(held)
                cut = _Cut(self._tried[how], self._cleanups, how, where)
                await cut.run(work)
                await _expect(before, held, cut)
                await whole()
                if not cut.where:
                    break
                where = cut.where if cut.again else ()  # there may be more to clean up
                self.cuts += 1
            else:
                raise AssertionError("it never comes to its end")


async def _expect(before: Remains, held: Held, cut: "_Cut") -> None:
    after = before
    for _ in range(200):
        await settle()
        after = Remains.now(held)
        # Some that earlier tests had may be closed meanwhile: gRPC closes its sockets when it likes.
        if replace(after, descriptors=max(after.descriptors, before.descriptors)) == before:
            return
        await SystemClock().sleep(0.005)  # sockets take their time
    raise AssertionError(f"{cut}\nbefore: {before}\nafter:  {after}")


class _Cut:
    """One run of some work, cancelled where it first waits at something new, or where it is wanted.

    While it cleans up after the cancellation of a scope, it is struck again by its task, where that is new.
    """

    def __init__(self, tried: Tried, cleanups: Tried, how: How, wanted: Chain) -> None:
        self.how = how
        self.where: Chain = ()
        self.again: Chain = ()
        self._tried = tried
        self._cleanups = cleanups
        self._wanted = wanted
        self._scope = anyio.CancelScope()
        self._task: asyncio.Task[Any] | None = None
        self._has_ended = False

    async def run(self, work: Work) -> None:
        token = watcher.set(self._hear)
        clock = SystemClock()
        alarm = clock.call_at(clock.monotonic() + PATIENCE, self._complain)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(self._run, work))
        except Exception as error:
            error.add_note(str(self))
            raise
        finally:
            watcher.reset(token)
            alarm.cancel()
        assert self.where or self._has_ended
        if self.how == "task":  # a scope is heard at the next wait only, and a shielded one may be the last
            assert not (self.where and self._has_ended), f"it swallowed its cancellation: {self}"

    def _complain(self) -> None:
        sys.stderr.write(f"it hangs, {self}\n")

    async def _run(self, work: Work) -> None:
        self._task = asyncio.current_task()
        with self._scope:
            await work()
            self._has_ended = True

    def _hear(self, waits_at: Chain) -> None:
        if not waits_at or self._task is None or self._task.done() or self._has_ended:
            return
        if not self.where:
            if waits_at == self._wanted or self._tried.take(waits_at):
                self.where = waits_at
                if self.how == "task":
                    self._task.cancel()
                else:
                    self._scope.cancel()
        elif (
            self.how == "scope"
            and not self.again
            and asyncio.current_task()
            is self._task  # the others are behind its scope, or behind their shields
            and self._cleanups.take(waits_at)
        ):
            self.again = waits_at
            self._task.cancel()

    def __str__(self) -> str:
        lines = [f"cancelled by its {self.how} at", *map(str, self.where)]
        if self.again:
            lines += ["and again at", *map(str, self.again)]
        return "\n  ".join(lines)
