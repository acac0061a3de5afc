"""How workers end."""

import anyio
import pytest

from kinformer.controller import Request
from kinformer.hooks import ReconcileResult
from kinformer.testing import settle
from tests.unit.controller.worker_stage import A, B, Bench, answering, hang, succeed


async def test_stopping_waits_for_the_running_and_drops_the_waiting() -> None:
    go_on = anyio.Event()

    async def wait(request: Request) -> None:
        await go_on.wait()

    bench = Bench(wait, count=1)
    bench.queue.add(A)
    bench.queue.add(B)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await settle()
        bench.workers.stop(30)
        bench.workers.stop(0)
        await bench.clock.advance(29)
        assert set(bench.workers.running) == {A}
        go_on.set()
    assert bench.names == ["a"]
    assert bench.results == [ReconcileResult.SUCCESS]
    assert bench.clock.next_timer is None


async def test_who_does_not_finish_within_the_grace_is_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(hang)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await settle()
        bench.workers.stop(30)
        await bench.clock.advance(29)
        assert bench.workers.running
        await bench.clock.advance(1)
        assert not bench.workers.running
    assert "site: the grace is over, cancelling the reconciles of default/a" in caplog.messages
    assert bench.results == [ReconcileResult.CANCELLED]


async def test_stopped_before_they_run_the_workers_do_nothing() -> None:
    bench = Bench(succeed)
    bench.queue.add(A)
    bench.workers.stop(30)
    await bench.workers.run()
    assert bench.names == []
    assert bench.clock.next_timer is None


async def test_cancelling_leaves_no_key_in_hands_and_no_timer() -> None:
    bench = Bench(hang, timeout=60)
    bench.queue.add(A)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.workers.run)
        await settle()
        tasks.cancel_scope.cancel()
    assert not bench.workers.running
    assert bench.clock.next_timer is None
    bench.queue.add(A)
    assert await bench.queue.get() == A, "nobody holds the key any more, or this would wait"


async def test_an_error_that_is_no_exception_ends_the_workers() -> None:
    class Stop(BaseException): ...

    bench = Bench(answering(Stop()))
    bench.queue.add(A)
    with pytest.raises(BaseExceptionGroup) as caught:
        await bench.workers.run()
    assert caught.group_contains(Stop)
    assert not bench.workers.running
