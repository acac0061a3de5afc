"""Failures: counted, parked, resumed, and forgotten for keys that are gone."""

import logging

import pytest

from kinformer.hooks import KeyAdded, KeyDone, KeyParked, KeyResumed, KeyTaken
from kinformer.testing import FakeClock
from kinformer.workqueue import (
    ExponentialLimiter,
    FastSlow,
    MaxAttempts,
    ParkedKey,
    PriorityReady,
    ReadyKeys,
    WorkQueue,
)
from tests.unit.workqueue.stage import Heard


def parking(
    attempts: int = 1, hooks: Heard | None = None, ready: ReadyKeys[str] | None = None
) -> tuple[WorkQueue[str], FakeClock]:
    clock = FakeClock()
    limiter = MaxAttempts[str](FastSlow(1.0, 1.0, 1), attempts)
    return WorkQueue[str]("pods", limiter=limiter, clock=clock, hooks=hooks, ready=ready), clock


async def test_a_key_that_the_limiter_gives_up_is_parked_and_shown_with_its_last_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    queue, clock = parking(attempts=2)
    queue.add_rate_limited("x", error=ValueError("first"))
    await clock.advance(1.0)
    assert await queue.get() == "x"
    queue.add_rate_limited("x", error=ValueError("second"))
    queue.done("x")
    assert queue.parked == 1
    assert queue.is_parked("x")
    assert queue.snapshot().parked == (ParkedKey("x", 1.0, 2, "ValueError: second"),)
    assert caplog.messages == [
        "pods: x failed 2 times and is parked until something happens to it: ValueError: second"
    ]
    (record,) = caplog.records
    assert (record.levelno, record.name) == (logging.WARNING, "kinformer.workqueue")
    assert len(queue) == queue.delayed == queue.requeues("x") == 0
    assert clock.next_timer is None


@pytest.mark.parametrize("way", ["add", "later", "now", "low priority"])
async def test_a_parked_key_is_resumed_by_whatever_adds_it_and_has_all_its_attempts_again(way: str) -> None:
    queue, clock = parking(attempts=2, ready=PriorityReady() if way == "low priority" else None)
    for _ in range(2):
        queue.add_rate_limited("x")
    await clock.advance(1.0)
    queue.done(await queue.get())  # what the first failure had asked for
    queue.add_rate_limited("x")
    queue.add_rate_limited("x")
    await clock.advance(0.0)
    assert queue.parked == 1
    match way:
        case "add":
            queue.add("x")
        case "later":
            queue.add_after("x", 0.5)
            assert queue.parked == 1
            await clock.advance(0.5)
        case "now":
            queue.add_after("x", 0.0)
        case _:
            queue.add("x", priority=-100)
    assert queue.parked == 0
    assert await queue.get() == "x"
    queue.add_rate_limited("x")
    queue.done("x")
    assert queue.parked == 0
    assert queue.requeues("x") == 1


async def test_a_key_that_was_added_while_it_failed_for_the_last_time_is_not_parked() -> None:
    queue, _ = parking()
    queue.add("x")
    await queue.get()
    queue.add("x")
    queue.add_rate_limited("x")
    queue.done("x")
    assert queue.parked == 0
    assert len(queue) == 1
    assert queue.requeues("x") == 0


async def test_forget_lets_go_of_a_parked_key_without_a_run() -> None:
    queue, _ = parking()
    queue.add_rate_limited("x")
    assert queue.snapshot().parked[0].error == ""
    queue.forget("x")
    assert queue.parked == 0
    assert len(queue) == 0


async def test_a_parked_key_holds_up_neither_drain_nor_shut_down_and_stays_visible() -> None:
    queue, _ = parking()
    queue.add_rate_limited("x")
    await queue.drain()
    queue.shut_down()
    queue.add("x")
    queue.add_rate_limited("y")
    assert [parked.key for parked in queue.snapshot().parked] == ["x"]


async def test_parking_keeps_no_exception_alive() -> None:
    queue, _ = parking()
    queue.add_rate_limited("x", error=ValueError("no"))
    assert type(queue.snapshot().parked[0].error) is str


async def test_hooks_hear_of_parking_and_resuming() -> None:
    heard = Heard()
    queue, _ = parking(hooks=heard)
    queue.add("x")
    await queue.get()
    queue.add_rate_limited("x", error=OSError("no"))
    queue.done("x")
    queue.add("x")
    assert heard.events == [
        KeyAdded("pods", 1),
        KeyTaken("pods", 0, 0.0),
        KeyParked("pods", 1, 1, "OSError: no"),
        KeyDone("pods", 0.0),
        KeyResumed("pods", 0),
        KeyAdded("pods", 1),
    ]


async def test_a_hundred_thousand_keys_that_failed_once_and_are_gone_are_forgotten() -> None:
    limiter = FastSlow(0.0, 0.0, 1)
    queue = WorkQueue[int](limiter=limiter)
    for wave in range(0, 100_000, 100):
        for key in range(wave, wave + 100):
            queue.add_rate_limited(key)
        for _ in range(100):
            queue.done(await queue.get())  # and nobody says that it may be forgotten
        assert len(limiter._failures) <= 2 * 100 + 2
    assert len(limiter._failures) == len(queue._failing)


async def test_keys_that_still_fail_are_remembered_even_if_that_is_told_after_done() -> None:
    clock = FakeClock()
    queue = WorkQueue[str](limiter=ExponentialLimiter(1.0, 1000.0), clock=clock)
    queue.add("x")
    for wave in range(5):
        for number in range(100):
            queue.add_rate_limited(f"other {wave} {number}")
        await clock.advance(1000.0)
        while len(queue):
            key = await queue.get()
            queue.done(key)
            if key == "x":
                queue.add_rate_limited(key)
    assert queue.requeues("x") == 5


async def test_the_queue_takes_the_short_way_again_when_nothing_fails_any_more() -> None:
    queue, _ = parking()
    ways = [queue._marks is not None]
    queue.add_rate_limited("x")
    ways.append(queue._marks is not None)
    queue.add("x")
    ways.append(queue._marks is not None)
    assert ways == [True, False, True]
