"""A kind whose CustomResourceDefinition is applied long after everybody began to wait for it."""

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import repeat
from random import Random

import anyio
import pytest

from kinformer.errors import ForbiddenError, InvalidError, NotFoundError
from kinformer.reflector import Reflector
from kinformer.testing import (
    HOLD,
    FakeClock,
    ListAnswer,
    ScriptedRequest,
    ScriptedSource,
    StreamStep,
    WatchAnswer,
    added,
    bookmark,
    deleted,
    modified,
)
from tests.scenario.reflector_stage import Diary, Half, Mirror, busiest_minute, gaps, page
from tests.unit.reflector.definitions import DEFINITIONS, WEBSITES, definition

MISSING = NotFoundError(404, "NotFound", "the server could not find the requested resource")
FORBIDDEN = ForbiddenError(403, "Forbidden", "customresourcedefinitions are not for you")
END = bookmark("30", ends_initial_events=True)
NOTHING = page(version="30")


class Server:
    """Serves the kind from the first of these moments to the second, from the third to the fourth, and so on."""

    def __init__(self, clock: FakeClock, *changes: float, lag: float = 0.0) -> None:
        self._clock = clock
        self._changes = changes
        self._lag = lag

    @property
    def is_serving(self) -> bool:
        now = self._clock.monotonic()
        return len([change for change in self._changes if change + self._lag <= now]) % 2 == 1

    def lists(self) -> Iterator[ListAnswer]:
        """Nothing, where there is the kind."""
        while True:
            yield NOTHING if self.is_serving else MISSING

    def watches(self) -> Iterator[WatchAnswer]:
        """A watch-list of nothing, which ends with the kind."""
        while True:
            now = self._clock.monotonic()
            end = next((change - now for change in self._changes if change > now), HOLD)
            yield [END, end] if self.is_serving else MISSING

    def definitions(self) -> Iterator[WatchAnswer]:
        """What there is, and what becomes of it."""
        while True:
            now = self._clock.monotonic()
            past = [change for change in self._changes if change <= now]
            steps: list[StreamStep] = [added(definition(uid=f"u{len(past)}"))] if len(past) % 2 else []
            for number, change in enumerate(self._changes[len(past) :], len(past) + 1):
                steps += [change - now, (added if number % 2 else deleted)(definition(uid=f"u{number}"))]
                now = change
            yield [*steps, HOLD]


class Stage:
    """A reflector of Websites, and a server that serves them late or never."""

    def __init__(
        self,
        *changes: float,
        lag: float = 0.0,
        lists: Iterable[ListAnswer] | None = None,
        watches: Iterable[WatchAnswer] | None = None,
        definitions: Iterable[WatchAnswer] | None = None,
        watch_list: bool = True,
        random: Random | None = None,
    ) -> None:
        self.clock = FakeClock()
        server = Server(self.clock, *changes, lag=lag)
        lists = server.lists() if lists is None else lists
        watches = server.watches() if watches is None else watches
        definitions = server.definitions() if definitions is None else definitions
        self.source = ScriptedSource(WEBSITES, lists=lists, watches=watches, clock=self.clock)
        self.definitions = ScriptedSource(DEFINITIONS, watches=definitions, clock=self.clock)
        self.sink = Mirror()
        self.hooks = Diary()
        self.reflector = Reflector(
            self.source,
            self.sink,
            definitions=self.definitions,
            watch_list=watch_list,
            clock=self.clock,
            random=random or Half(),
            hooks=self.hooks,
        )

    @asynccontextmanager
    async def running(self, delay: float = 0.0) -> AsyncIterator[None]:
        async with anyio.create_task_group() as group:
            group.start_soon(self.reflector.run)
            await self.clock.advance(delay)
            yield
            group.cancel_scope.cancel()
        assert self.source.pending == self.definitions.pending == 0
        assert self.clock.next_timer is None

    @property
    def requests(self) -> list[ScriptedRequest]:
        """Those for the kind and those for its definition, in order."""
        return sorted([*self.source.requests, *self.definitions.requests], key=lambda request: request.at)

    def is_missing(self) -> bool:
        return self.reflector.conditions["KindMissing"].status


@pytest.mark.parametrize("applied", [0.3, 3.0, 17.0, 100.0, 1234.5])
@pytest.mark.parametrize("chance", range(4))
async def test_a_kind_is_asked_for_at_once_when_it_is_defined(applied: float, chance: int) -> None:
    stage = Stage(applied, random=Random(chance))
    async with stage.running(applied - 0.01):
        assert stage.is_missing()
        assert stage.definitions.pending == 1
        await stage.clock.advance(0.01)
        assert stage.sink.story == ["replace "]
        assert not stage.is_missing()
        assert stage.definitions.pending == 0
    assert stage.source.requests[-1].at == pytest.approx(applied)


@pytest.mark.parametrize("watch_list", [True, False], ids=["refused watch-list", "list"])
async def test_there_are_openings_left_for_a_list_and_a_watch(watch_list: bool) -> None:
    applied = 61.0

    def lists() -> Iterator[ListAnswer]:
        while True:
            yield NOTHING if stage.clock.monotonic() >= applied else MISSING

    def watches() -> Iterator[WatchAnswer]:
        while stage.clock.monotonic() < applied:
            yield MISSING
        if watch_list:
            yield InvalidError(422)
        yield [HOLD]

    for chance in range(20):
        stage = Stage(applied, lists=lists(), watches=watches(), watch_list=watch_list, random=Random(chance))
        async with stage.running(applied):
            assert stage.sink.story == ["replace "]
            assert stage.source.pending == 1  # the watch is open, too


async def test_definitions_are_watched_only_while_the_kind_is_missing() -> None:
    stage = Stage(50.0, 400.0, 500.0)
    async with stage.running():
        for moment, is_missing in [
            (49.0, True),
            (51.0, False),
            (399.0, False),
            (405.0, True),
            (501.0, False),
        ]:
            await stage.clock.advance(moment - stage.clock.monotonic())
            assert stage.is_missing() is is_missing
            assert stage.definitions.pending == is_missing
    assert stage.sink.story == ["replace ", "replace "]
    assert stage.source.requests[-1].at == 500.0


async def test_a_kind_that_is_there_costs_no_watch_of_definitions() -> None:
    stage = Stage(0.0)
    async with stage.running(1000.0):
        assert stage.sink.story[0] == "replace "
    assert stage.definitions.requests == []


@pytest.mark.parametrize("lag", [0.01, 0.3, 0.7])
async def test_a_server_that_promises_the_kind_before_it_serves_it_is_asked_again_soon(lag: float) -> None:
    stage = Stage(300.0, lag=lag)
    async with stage.running(301.0):
        assert stage.sink.story == ["replace "]
    assert stage.source.requests[-1].at <= 300.0 + 2 * lag + 0.25


async def test_a_server_that_breaks_its_promise_is_asked_about_every_ten_seconds() -> None:
    stage = Stage(watches=repeat(MISSING), definitions=repeat([added(definition()), HOLD]))
    async with stage.running(1800.0):
        assert stage.is_missing()
    late = [request for request in stage.source.requests if request.at > 60.0]
    assert 10.0 <= min(gaps(late)) <= max(gaps(late)) <= 20.0
    assert busiest_minute(stage.requests) <= 12


@pytest.mark.parametrize("chance", range(6))
async def test_half_an_hour_without_the_kind_takes_few_tries_and_its_definition_costs_as_few(
    chance: int,
) -> None:
    stage = Stage(random=Random(chance))
    async with stage.running(1800.0):
        assert stage.is_missing()
    assert 15 <= len(stage.source.requests) <= 50
    assert len(stage.definitions.requests) <= 50
    assert busiest_minute(stage.requests) <= 12


UNDONE = modified(definition(established="False"))
COME, GONE = added(definition()), deleted(definition())


async def test_a_flood_of_updates_of_a_definition_makes_nobody_ask() -> None:
    written: list[StreamStep] = [0.1, UNDONE]
    stage = Stage(watches=repeat(MISSING), definitions=repeat(written * 2000))
    async with stage.running(600.0):
        assert stage.is_missing()
    assert len(stage.source.requests) <= 25
    assert busiest_minute(stage.requests) <= 12


async def test_a_definition_that_comes_and_goes_all_the_time_makes_nobody_ask_too_often() -> None:
    flapping: list[StreamStep] = [0.1, COME, 0.1, GONE]
    for chance in range(5):
        stage = Stage(watches=repeat(MISSING), definitions=repeat(flapping * 1000), random=Random(chance))
        async with stage.running(600.0):
            assert stage.is_missing()
        assert busiest_minute(stage.requests) <= 12
        assert len(stage.source.requests) > 20


async def test_who_may_not_watch_definitions_asks_for_the_kind_every_ten_seconds_and_says_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = Stage(definitions=repeat(FORBIDDEN))
    async with stage.running(1800.0):
        assert stage.is_missing()
        assert not stage.reflector.conditions["Forbidden"].status
    tries = len(stage.definitions.requests)
    assert tries <= 7
    assert max(gaps(stage.source.requests)) <= 20.0 + 1e-6
    assert sum(gap > 10.0 + 1e-6 for gap in gaps(stage.source.requests)) <= tries
    assert busiest_minute(stage.requests) <= 12
    assert {type(failure.error) for failure in stage.hooks.failures} == {NotFoundError}
    assert [
        record.message for record in caplog.records if "customresourcedefinitions" in record.message
    ] == []


async def test_cancelling_wherever_it_waits_for_a_definition_leaves_nothing_and_it_goes_on_from_there() -> (
    None
):
    for moment in (0.0, 5.0, 10.0, 12.0, 40.0):
        stage = Stage(100.0)
        async with stage.running(moment):
            assert stage.is_missing()
        async with stage.running(100.0 - moment):
            assert stage.sink.story == ["replace "]
