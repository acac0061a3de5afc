"""Waiting for a kind to be defined: what ends the wait, and when it is not worth while."""

import logging
from collections.abc import Iterable

import anyio
import pytest

from kinformer.errors import ForbiddenError, TransportError
from kinformer.reflector._definition import Definition
from kinformer.testing import (
    HOLD,
    FakeClock,
    ScriptedSource,
    StreamStep,
    WatchAnswer,
    added,
    error_event,
    modified,
)
from tests.unit.reflector.definitions import DEFINITIONS, WEBSITES, definition

FORBIDDEN = ForbiddenError(403, "Forbidden", "no")


class Bench:
    """The definition of Websites, as a scripted server shows it."""

    def __init__(self, watches: Iterable[WatchAnswer], *, queue: float = 0.0) -> None:
        self.clock = FakeClock()
        self.source = ScriptedSource(DEFINITIONS, watches=watches, clock=self.clock)
        self.queue = queue
        self.definition = Definition(self.source, WEBSITES, admit=self.admit, clock=self.clock)
        self.arrivals: list[float] = []

    async def admit(self) -> None:
        await self.clock.sleep(self.queue)

    async def wait(self, times: int = 1, *, within: float = 60.0) -> list[float]:
        """Wait again and again, and give the moments at which the waits were over."""

        async def run() -> None:
            for _ in range(times):
                await self.definition.arrive()
                self.arrivals.append(self.clock.monotonic())

        async with anyio.create_task_group() as group:
            group.start_soon(run)
            await self.clock.advance(within)
            group.cancel_scope.cancel()
        assert self.source.pending == 0
        assert self.clock.next_timer is None
        return self.arrivals

    def is_visible(self) -> bool:
        return self.definition.is_visible

    @property
    def opened(self) -> list[float]:
        return [request.at for request in self.source.watches]


async def test_a_definition_that_is_there_ends_the_wait_at_once() -> None:
    bench = Bench([[added(definition()), HOLD]])
    assert await bench.wait() == [0.0]
    (request,) = bench.source.requests
    assert (request.version, request.timeout, request.bookmarks, request.initial_events) == (
        "",
        60,
        False,
        False,
    )


async def test_a_definition_that_comes_ends_the_wait_when_it_is_established() -> None:
    steps: list[StreamStep] = [3.0, added(definition(established="False")), 2.0, modified(definition()), HOLD]
    assert await Bench([steps]).wait() == [5.0]


async def test_other_things_that_are_written_do_not_end_it() -> None:
    other = modified(definition(name="gadgets.example.dev"))
    steps: list[StreamStep] = [1.0, [other, other], 1.0, added(definition(established="False"))] * 9
    bench = Bench([[*steps, modified(definition()), HOLD]])
    assert await bench.wait() == [18.0]
    assert bench.opened == [0.0]


async def test_while_the_server_lags_behind_its_word_it_is_asked_a_few_times_and_then_seldom() -> None:
    known: WatchAnswer = [added(definition()), HOLD]
    bench = Bench([known, known, known])
    assert await bench.wait(7) == [0.0, 0.25, 0.5, 1.0, 2.0, 12.0, 22.0]
    assert bench.opened == [0.0, 2.0, 12.0]


async def test_a_definition_that_went_and_comes_back_is_heard_of_again() -> None:
    bench = Bench([[added(definition()), HOLD], [5.0, added(definition(uid="u2")), HOLD]])
    assert await bench.wait() == [0.0]
    assert await bench.wait() == [0.0, 65.0]


@pytest.mark.parametrize(
    "answer",
    [FORBIDDEN, [1.0, TransportError("reset")], RuntimeError("a bug of the source")],
    ids=["403", "reset", "bug"],
)
async def test_a_watch_that_fails_is_not_worth_while_for_five_minutes(
    answer: WatchAnswer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="kinformer")
    bench = Bench([answer])
    assert bench.is_visible()
    (end,) = await bench.wait(within=20.0)
    failed = end - 10.0
    assert not bench.is_visible()
    await bench.clock.advance(failed + 299.9 - 20.0)
    assert not bench.is_visible()
    await bench.clock.advance(0.1)
    assert bench.is_visible()
    assert [record.levelname for record in caplog.records] == ["DEBUG"]


@pytest.mark.parametrize("steps", [[], [4.0], [error_event(FORBIDDEN)]], ids=["at once", "later", "an error"])
async def test_a_watch_that_ends_leaves_ten_seconds_and_may_be_opened_again(steps: list[StreamStep]) -> None:
    bench = Bench([steps, [added(definition()), HOLD]])
    first, second = await bench.wait(2)
    assert first == second == 10.0 + sum(step for step in steps if isinstance(step, float))
    assert bench.is_visible()


async def test_it_queues_up_before_it_opens_a_watch() -> None:
    bench = Bench([[added(definition()), HOLD]], queue=7.0)
    assert await bench.wait() == [7.0]
    assert bench.opened == [7.0]


@pytest.mark.parametrize(
    ("within", "end"), [(3.0, 23.0), (8.0, 15.0), (15.0, 22.0)], ids=["queue", "stream", "patience"]
)
async def test_cancelling_closes_the_watch_and_another_wait_begins_with_what_there_is(
    within: float, end: float
) -> None:
    bench = Bench([[3.0], [added(definition()), HOLD]], queue=7.0)
    assert await bench.wait(within=within) == []
    assert await bench.wait() == [end]


async def test_cancelling_while_the_server_lags_loses_nothing() -> None:
    bench = Bench([[added(definition()), HOLD]])
    assert await bench.wait(2, within=0.1) == [0.0]
    assert await bench.wait() == [0.0, pytest.approx(0.35)]
