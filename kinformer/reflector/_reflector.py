"""Reflector: keep a sink equal to a source for as long as it runs. The shell around ``_machine``."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Final, assert_never

import anyio
from anyio.abc import TaskStatus

from kinformer.clock import Clock
from kinformer.errors import DecodeError, TransportError
from kinformer.hooks import Hooks, guarded
from kinformer.meta import ANY, ObjectKey, WatchEvent
from kinformer.reflector._backoff import Backoff, Openings
from kinformer.reflector._conditions import Condition
from kinformer.reflector._consistency import ConsistencyDetector
from kinformer.reflector._contracts import Sink, Source
from kinformer.reflector._definition import Definition
from kinformer.reflector._listing import Pages, fetch
from kinformer.reflector._machine import (
    Closed,
    Failed,
    Listed,
    Listing,
    Outcome,
    Progressed,
    Rested,
    Silent,
    State,
    Streamed,
    Streaming,
    Terms,
    Waiting,
    Watching,
    advance,
)
from kinformer.reflector._pulse import Ages, Pulse
from kinformer.reflector._reception import Broken, Changes, Reception, Rejected
from kinformer.reflector._report import Report
from kinformer.reflector._silence import Silence
from kinformer.reflector._snapshot import Snapshot
from kinformer.reflector._stream import Stream
from kinformer.system_clock import SystemClock
from kinformer.tasks import open_task_group

__all__ = ["Reflector"]

_TIMEOUTS: Final = (300, 600)
"""``timeoutSeconds`` is drawn from here, so that the watches of many clients do not end together."""

_GRACE: Final = 30.0
"""How much longer than that we wait for the server to end the stream."""

_SILENCE: Final = 75.0
"""Silence after which a stream is taken for dead, once this one or any before it has shown a bookmark, since servers
send one about every minute; or while it is a watch-list that is not complete, since then the server has something to
send."""

_LATE: Final = 10.0
"""Silence in an incomplete watch-list that is worth a word, each time it has lasted so long (as in client-go)."""

_SHORT: Final = 1.0
"""A watch that ends sooner than this without an event was not worth its opening."""


class Reflector:
    """Keep ``sink`` equal to ``source``: a snapshot, then the changes, then a snapshot again where the window is lost.

    Nothing but cancellation ends ``run``: a missing permission, a missing CRD or an outage is reported in
    ``conditions``, logged, given to the hooks, and tried again until it is over. Only an exception out of the sink or
    a hook, which is a programming error, passes through, and where snapshots are checked, the news that one is wrong.

    Invariant: state is whole at every await, so that ``run`` may be called again after a cancelled one and goes on
    from the last version.

    Args:
        source: What to read.
        sink: What to write; called from ``run`` only, never by two tasks at once.
        name: For logs and hooks; by default the resource's ``plural.group``.
        resync: Seconds between calls of ``sink.resync()``, counted from the first snapshot; ``0`` is never. Relists
            do not disturb the rhythm.
        watch_list: Whether to try a watch-list at the start of each cycle, before a LIST.
        page_size: The ``limit`` of each LIST; ``0`` leaves the choice to client-go's rules.
        check_snapshots: Whether to compare what each snapshot put into the sink with an exact LIST of its version, which costs
            one more request; for tests and canaries.
        definitions: The CustomResourceDefinitions, or only that of this kind. Where they are given, and may be watched,
            a kind that is missing is asked for as soon as it is defined, and otherwise less often. They are watched
            only while the kind is missing; where that is refused, it is asked for every ten seconds, as without them.
        clock: The time.
        random: Chance, for jitter and watch timeouts.
        hooks: Who hears about lists, watches, failures and objects that cannot be read. What is answered at once by
            another kind of request (a refused watch-list, a 410 to a LIST) is no failure.

    Raises:
        ValueError: ``resync`` is negative, infinite or not a number, or ``page_size`` is negative.
    """

    def __init__(
        self,
        source: Source,
        sink: Sink,
        *,
        name: str = "",
        resync: float = 0.0,
        watch_list: bool = True,
        page_size: int = 0,
        check_snapshots: bool = False,
        definitions: Source | None = None,
        clock: Clock | None = None,
        random: Random | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        if not 0 <= resync < math.inf:
            raise ValueError(f"resync is {resync} s; give a positive number of seconds, or 0 for never")
        if page_size < 0:
            raise ValueError(f"page_size is {page_size}; give a positive number, or 0 for the default")
        resource = source.resource
        self.name: Final = name or (
            f"{resource.plural}.{resource.group}" if resource.group else resource.plural
        )
        self._source = source
        self._sink = sink
        self._resync = resync
        self._clock = clock or SystemClock()
        self._random = random or Random()  # noqa: S311 -- jitter is no secret
        self._state: State = Terms(watch_list, page_size).begin(ANY)
        self._version = ""
        self._backoff = Backoff(self._random)
        self._openings = Openings()
        self._definition = (
            Definition(definitions, resource, admit=self._queue_up, clock=self._clock)
            if definitions is not None
            else None
        )
        self._detector = (
            ConsistencyDetector(source, admit=self._queue_up, clock=self._clock) if check_snapshots else None
        )
        self._pulse = Pulse()
        self._report = Report(self.name, self._clock, guarded(hooks))
        self._synced = anyio.Event()
        self._is_running = False
        self._sends_bookmarks = False

    @property
    def state(self) -> State:
        """What the reflector is doing."""
        return self._state

    @property
    def version(self) -> str:
        """The resource version that was last given to the sink; ``""`` before the first."""
        return self._version

    @property
    def conditions(self) -> Mapping[str, Condition]:
        """The present health, by name (see ``ConditionType``); a live view, read-only."""
        return self._report.conditions.view

    @property
    def ages(self) -> Ages:
        """How long ago an object and a bookmark last arrived."""
        return self._pulse.ages(self._clock.monotonic())

    async def run(self, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED) -> None:
        """Reflect until cancelled. ``task_status`` reports the start once the first snapshot is in the sink.

        Raises:
            RuntimeError: It is running already.
            InconsistencyError: Snapshots are to be checked, and one is wrong.
        """
        if self._is_running:
            raise RuntimeError(f"reflector {self.name} is running already")
        self._is_running = True
        try:
            async with open_task_group() as group:
                group.start_soon(self._announce, task_status)
                if self._resync:
                    group.start_soon(self._resync_for_ever)
                if self._detector is not None:
                    group.start_soon(self._detector.run)
                await self._reflect()
        finally:
            self._is_running = False

    async def _announce(self, task_status: TaskStatus[None]) -> None:
        await self._synced.wait()
        task_status.started()

    async def _resync_for_ever(self) -> None:
        await self._synced.wait()
        while True:
            await self._clock.sleep(self._resync)
            self._sink.resync()

    async def _reflect(self) -> None:
        while True:
            self._advance(await self._perform(self._state))

    def _advance(self, outcome: Outcome) -> None:
        before, after = self._state, advance(self._state, outcome)
        self._state = after
        if isinstance(outcome, Progressed):
            return
        self._report.moved(before, outcome, after)
        if (
            isinstance(before, Watching)
            and isinstance(outcome, Failed | Silent)
            and not isinstance(after, Waiting)
        ):
            self._report.failed(before, after, outcome.error, 0.0)  # it goes on at once, but not in silence

    async def _perform(self, state: State) -> Outcome:
        """Do what a state is about, and say how it came out."""
        match state:
            case Waiting():
                return await self._wait(state)
            case Listing():
                await self._queue_up()
                return await self._list(state)
            case Streaming() | Watching():
                await self._queue_up()
                return await self._watch(state)
            case _:
                assert_never(state)

    async def _queue_up(self) -> None:
        """Wait until the server may be asked to open something."""
        if delay := self._openings.take(self._clock.monotonic()):
            try:
                await self._clock.sleep(delay)
            except BaseException:
                self._openings.give_back()
                raise

    async def _wait(self, state: Waiting) -> Outcome:
        now = self._clock.monotonic()
        delay = self._backoff.fail(now, at_least=state.at_least)
        definition = self._definition
        if definition is None or not state.is_for_kind or not definition.is_visible:
            delay = min(delay, state.at_most)
            self._report.failed(state.failed, state.then, state.error, delay)
            await self._clock.sleep(delay)
        else:
            # Whoever hears of an arrival need not guess it, and keeps what openings there are for the arrival.
            delay = max(delay, self._openings.fills_in(now))
            self._report.failed(state.failed, state.then, state.error, delay)
            with self._clock.move_on_after(delay):
                await definition.arrive()
        return Rested()

    async def _list(self, state: Listing) -> Outcome:
        """Fetch all pages, then replace the sink's content; on any failure the sink stays as it was."""
        began = self._clock.monotonic()
        pages = await fetch(self._source, state)
        if not isinstance(pages, Pages):
            return pages
        self._beat(pages.snapshot.count, 0)
        self._replace(pages.snapshot, began)
        return Listed(pages.snapshot.version, pages.is_paginated)

    async def _watch(self, state: Streaming | Watching) -> Outcome:
        """Follow one stream from its opening to its end; the state moves on with what it brings."""
        began = self._clock.monotonic()
        timeout = self._random.randrange(*_TIMEOUTS)
        initial_events = isinstance(state, Streaming)
        version = state.request_version if isinstance(state, Streaming) else state.version
        reception = Reception(state.version, initial_events=initial_events)
        failure: Exception | None = None
        with (
            self._clock.move_on_after(timeout + _GRACE) as scope,
            Silence(self._clock, _SILENCE, scope.cancel) as silence,
            Silence(
                self._clock, _LATE, lambda: self._report.delayed(reception.count, delay.duration)
            ) as delay,
        ):
            if initial_events or self._sends_bookmarks:
                silence.listen()
            if initial_events:
                delay.listen()
            async with Stream(
                self._source.watch(version=version, timeout=timeout, initial_events=initial_events)
            ) as stream:
                if stream.is_open and not initial_events:
                    self._thrive()
                async for batch in stream:
                    silence.hear()
                    delay.hear()
                    count, bookmarks = reception.count, reception.bookmarks
                    failure = self._take(reception, batch, began)
                    self._beat(reception.count - count, reception.bookmarks - bookmarks)
                    if failure is not None:
                        break
                    if reception.has_bookmarks:
                        self._sends_bookmarks = True
                        silence.listen()
                    if isinstance(self._state, Watching):
                        delay.ignore()
            failure = failure or stream.failure
        if scope.cancelled_caught:
            return Silent(TransportError("the watch went silent, so its connection is taken for dead"))
        if failure is not None:
            return Failed(failure)
        if reception.count == 0 and self._clock.monotonic() - began < _SHORT:
            return Closed(is_short=True)
        if isinstance(self._state, Watching):  # a watch-list that ends before its snapshot is a failure
            self._report.watched(reception.count, self._version, began=began)
        return Closed()

    def _take(self, reception: Reception, batch: Sequence[WatchEvent], began: float) -> Exception | None:
        """Do what a batch asks for, and say what has broken the stream.

        No effect outlives this call: a snapshot of a large kind must be gone before the next batch comes.
        """
        for effect in reception.take(batch):
            if isinstance(effect, Broken):
                return effect.error
            self._carry_out(effect, began)
        return None

    def _carry_out(self, effect: Snapshot | Changes | Rejected, began: float) -> None:
        """Do what an effect asks for. Synchronous, so that no cancellation finds it half done."""
        match effect:
            case Snapshot():
                self._replace(effect, began)
                self._advance(Streamed(effect.version))
                self._thrive()
            case Changes(events, version):
                is_moved = version != self._version
                self._sink.apply(events, version if is_moved else "")
                self._report.applied(events)
                if is_moved:
                    self._version = version
                    self._advance(Progressed(version))
            case Rejected(error):
                self._report.quarantined(error)
            case _:
                assert_never(effect)

    def _replace(self, snapshot: Snapshot, began: float) -> None:
        records = snapshot.records
        if self._detector is not None:
            noted = tuple(records)
            self._detector.note(noted, snapshot.version)
            records = iter(noted)
        self._sink.replace(records, snapshot.version, kept=_keys_of(snapshot.rejected))
        self._version = snapshot.version
        self._report.listed(snapshot.count, snapshot.version, snapshot.rejected, began=began)
        self._synced.set()

    def _beat(self, count: int, bookmarks: int) -> None:
        """So many events have come, so many bookmarks among them."""
        self._pulse.beat(self._clock.monotonic(), events=count - bookmarks, bookmarks=bookmarks)

    def _thrive(self) -> None:
        """All is well: changes are arriving."""
        self._backoff.succeed(self._clock.monotonic())
        self._report.recovered()


def _keys_of(rejected: Iterable[DecodeError]) -> Collection[ObjectKey]:
    """Which objects cannot be read, where that can be told: they exist, and must not pass for deleted."""
    keys = set()
    for error in rejected:
        with suppress(ValueError):  # no key, or one that no server lets anybody have
            keys.add(ObjectKey.parse(error.key))
    return keys
