import asyncio
import logging
from random import Random
from typing import Any

import anyio
import pytest

from kinformer.controller import Admission, Item, Request, RequeueAfter
from kinformer.controller._worker import result_of
from kinformer.errors import ConflictError, TerminalError
from kinformer.hooks import ReconcileResult
from kinformer.meta import ObjectKey
from kinformer.testing import settle
from tests.unit.controller.worker_stage import A, B, Bench, C, answering, hang, succeed


async def test_keys_are_reconciled_and_forgotten() -> None:
    bench = Bench(succeed)
    bench.queue.add(A)
    bench.queue.add(B)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.workers.run)
        await settle()
        bench.workers.stop(5)
    assert bench.names == ["a", "b"]
    assert bench.results == [ReconcileResult.SUCCESS] * 2
    assert bench.clock.next_timer is None


async def test_no_more_keys_are_in_hands_than_there_are_workers() -> None:
    bench = Bench(hang)
    for item in (A, B, C):
        bench.queue.add(item)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await settle()
        assert set(bench.workers.running) == {A, B}
        tasks.cancel_scope.cancel()
    assert not bench.workers.running


async def test_a_failed_key_comes_back_later_and_later_and_knows_its_attempt() -> None:
    error = ValueError("no")
    bench = Bench(answering(error, error))
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(10)
        bench.workers.stop(0)
    assert bench.moments == [0, 1, 3]
    assert [request.attempt for request in bench.requests] == [1, 2, 3]
    assert bench.results == [ReconcileResult.ERROR, ReconcileResult.ERROR, ReconcileResult.SUCCESS]
    assert bench.hooks.finished[0].error is error
    assert bench.queue.requeues(A) == 0


async def test_a_failure_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(answering(ValueError("no")))
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await settle()
        bench.workers.stop(0)
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert (
        record.getMessage()
        == "site: reconcile of default/a failed, attempt 1; it will be tried again: ValueError('no')"
    )
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1], ValueError)
    assert record.exc_info[2] is not None
    assert vars(record)["controller"] == "site"


async def test_requeue_after_brings_the_key_back_and_clears_its_failures() -> None:
    bench = Bench(answering(ValueError("no"), RequeueAfter(30)))
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(100)
        bench.workers.stop(0)
    assert bench.moments == [0, 1, 31]
    assert [request.attempt for request in bench.requests] == [1, 2, 1]
    assert bench.results[1] is ReconcileResult.REQUEUE_AFTER


@pytest.mark.parametrize(
    "error", [TerminalError("never"), ExceptionGroup("from a task group", [TerminalError("never")])]
)
async def test_a_terminal_error_is_not_tried_again(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(answering(ValueError("no"), error))
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(1000)
        bench.queue.add(A)
        await settle()
        bench.workers.stop(0)
    assert bench.moments == [0, 1, 1000]
    assert bench.results[1] is ReconcileResult.TERMINAL
    assert bench.requests[2].attempt == 1
    assert "site: reconcile of default/a failed for good: TerminalError('never')" in caplog.messages


@pytest.mark.parametrize("answer", [True, 30, "again", (None, 30), RequeueAfter])
async def test_any_other_answer_is_an_error_that_says_what_is_allowed(answer: Any) -> None:
    bench = Bench(answering(answer))
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(1)
        bench.workers.stop(0)
    assert bench.results == [ReconcileResult.ERROR, ReconcileResult.SUCCESS]
    error = bench.hooks.finished[0].error
    assert isinstance(error, TypeError)
    assert str(error) == (
        f"the reconcile of default/a returned a value of type {type(answer).__name__}: return None or RequeueAfter(seconds)"
    )


async def test_a_call_that_takes_too_long_is_cancelled_and_tried_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench(hang, timeout=300)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(299)
        assert bench.results == []
        await bench.clock.advance(1)
        assert bench.results == [ReconcileResult.ERROR]
        await bench.clock.advance(1)
        tasks.cancel_scope.cancel()
    event = bench.hooks.finished[0]
    assert isinstance(event.error, TimeoutError)
    assert str(event.error) == "the reconcile of default/a took longer than 300 s"
    assert event.duration == 300
    assert bench.moments == [0, 301]
    assert "in hang" in caplog.text, "the log shows where the call was"


async def test_a_call_that_takes_long_is_told_of_after_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(hang, timeout=300)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(59)
        assert not caplog.messages
        bench.queue.add(B)
        await bench.clock.advance(59)
        assert caplog.messages == ["site: the reconcile of default/a has been going on for 60 s"]
        await bench.clock.advance(100)
        assert caplog.messages[1:] == ["site: the reconcile of default/b has been going on for 60 s"]
        tasks.cancel_scope.cancel()
    assert bench.clock.next_timer is None


async def test_of_each_call_it_is_told_once_and_of_the_next_call_of_its_key_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    bench = Bench(hang, timeout=100)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(250)
        tasks.cancel_scope.cancel()
    long = [message for message in caplog.messages if "going on" in message]
    assert len(long) == 2


async def test_a_request_tells_the_last_error_and_why_its_key_came_back() -> None:
    bench = Bench(answering(ValueError("no"), RequeueAfter(5), TerminalError("never"), None, None))
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(10)
        bench.queue.add(A)
        await settle()
        bench.queue.add(A)
        await settle()
        bench.workers.stop(0)
    assert [request.last_error for request in bench.requests] == [
        "",
        "ValueError('no')",
        "",
        "TerminalError('never')",
        "",
    ]
    assert [[str(reason) for reason in request.reasons] for request in bench.requests] == [
        [],
        ["retried"],
        ["requeued"],
        [],
        [],
    ]
    assert len(bench.history) == 0


async def test_while_it_runs_a_task_is_named_after_its_key() -> None:
    names: list[str] = []

    async def look(request: Request) -> None:
        task = asyncio.current_task()
        assert task is not None
        names.append(task.get_name())

    bench = Bench(look)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await settle()
        bench.workers.stop(0)
    assert names == ["site: reconcile of default/a"]


async def test_a_cancelled_error_of_the_users_own_does_not_end_the_worker() -> None:
    bench = Bench(answering(asyncio.CancelledError()), count=1, timeout=60)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(1)
        bench.workers.stop(0)
    assert bench.moments == [0, 1]
    assert isinstance(bench.hooks.finished[0].error, RuntimeError)


@pytest.mark.parametrize("waits", [False, True], ids=["and returns", "and waits"])
async def test_a_reconcile_that_cancels_its_own_task_does_not_end_the_worker(waits: bool) -> None:
    async def cancel(request: Request) -> None:
        task = asyncio.current_task()
        assert task is not None
        assert task.cancel()
        if waits:
            await anyio.sleep_forever()

    bench = Bench(cancel, count=1, timeout=60)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(1)
        bench.workers.stop(0)
    assert bench.moments == [0, 1]
    assert [str(event.error) for event in bench.hooks.finished] == [
        "the reconcile of default/a cancelled itself"
    ] * 2


async def test_a_key_that_is_added_while_it_runs_runs_once_more() -> None:
    go_on = anyio.Event()

    async def wait(request: Request) -> None:
        await go_on.wait()

    bench = Bench(wait)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await settle()
        bench.queue.add(A)
        bench.queue.add(A)
        await settle()
        assert bench.names == ["a"]
        go_on.set()
        await settle()
        bench.workers.stop(0)
    assert bench.names == ["a", "a"]


@pytest.mark.parametrize(
    ("outcome", "result"),
    [
        (None, ReconcileResult.SUCCESS),
        (RequeueAfter(1), ReconcileResult.REQUEUE_AFTER),
        (TerminalError(), ReconcileResult.TERMINAL),
        (ConflictError(409), ReconcileResult.ERROR),
    ],
)
def test_each_outcome_has_a_name(outcome: Any, result: ReconcileResult) -> None:
    assert result_of(outcome) is result


def test_items_read_like_keys() -> None:
    assert str(A) == "default/a"
    assert str(Item("east", ObjectKey("", "node"))) == "east:node"


async def test_no_keys_are_lost_or_doubled_over_many_failures() -> None:
    random = Random(7)

    async def sometimes(request: Request) -> RequeueAfter | None:
        await bench.clock.sleep(random.random())
        match random.randrange(4):
            case 0:
                raise ValueError("no")
            case 1:
                return RequeueAfter(random.random())
            case _:
                return None

    bench = Bench(sometimes, count=3)
    items = [Item("", ObjectKey("ns", f"n{number}")) for number in range(20)]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        for item in items:
            bench.queue.add(item)
        await bench.clock.advance(1000)
        bench.workers.stop(0)
    last = {event.key: event.result for event in bench.hooks.finished}
    assert set(last.values()) == {ReconcileResult.SUCCESS}
    assert len(last) == len(items)


class Doors:
    """A gate that a test opens and shuts."""

    def __init__(self, **admissions: Admission) -> None:
        self.admissions = admissions
        self.inside: list[str] = []

    def enter(self, key: ObjectKey, /) -> Admission:
        admission = self.admissions.get(key.name, Admission.NOW)
        if admission is Admission.NOW:
            self.inside.append(key.name)
        return admission

    def leave(self, key: ObjectKey, /) -> None:
        self.inside.remove(key.name)


async def test_a_key_that_is_anothers_is_dropped_with_all_that_is_known_of_it() -> None:
    bench = Bench(answering(ValueError("no")))
    bench.workers.gate = doors = Doors()
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await settle()
        assert bench.history.last_error(A)
        doors.admissions = {"a": Admission.ELSEWHERE}
        await bench.clock.advance(60)
        bench.workers.stop(0)
    assert bench.names == ["a"]
    assert bench.results == [ReconcileResult.ERROR]
    assert len(bench.history) == bench.queue.requeues(A) == 0


async def test_a_key_that_another_one_finishes_is_asked_for_again_each_second() -> None:
    bench = Bench(succeed)
    bench.workers.gate = doors = Doors(a=Admission.LATER)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await bench.clock.advance(2.5)
        assert bench.names == []
        doors.admissions = {}
        await bench.clock.advance(1)
        bench.workers.stop(0)
    assert bench.moments == [3]
    assert bench.results == [ReconcileResult.SUCCESS]


async def test_who_was_let_in_leaves_however_it_ends() -> None:
    bench = Bench(hang, count=1, timeout=5)
    bench.workers.gate = doors = Doors()
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await settle()
        assert doors.inside == ["a"]
        await bench.clock.advance(5)
        assert doors.inside == []
        await bench.clock.advance(2)
        assert doors.inside == ["a"]
        tasks.cancel_scope.cancel()
    assert doors.inside == []
