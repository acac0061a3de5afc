"""An informer runs once; what is left of it after its end, and after a cancellation."""

from random import Random
from typing import Any

import anyio
import pytest

from kinformer.errors import ClosedError
from kinformer.informer import Notification
from kinformer.meta import Object
from kinformer.testing import (
    HOLD,
    modified,
    settle,
)
from tests.unit.informer.stage import Bench, MakeBench, pod, snapshot


async def test_it_runs_once(make: MakeBench) -> None:
    bench = make([*snapshot(5), HOLD])
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        with pytest.raises(RuntimeError, match="informer pods ran before"):
            await bench.informer.run()
        bench.informer.close()
    with pytest.raises(RuntimeError, match="informer pods ran before"):
        await bench.informer.run()
    assert len(bench.source.requests) == 1


async def test_after_its_end_it_can_be_read_and_nothing_else(make: MakeBench) -> None:
    bench = make([*snapshot(5, pod("a", 1)), HOLD])
    registration = bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.close()
    assert bench.content == {"a(1)"}
    assert bench.informer.is_synced
    await bench.informer.wait_synced()
    bench.informer.remove_handler(registration)
    with pytest.raises(ClosedError, match="handlers can be added before that"):
        bench.informer.add_handler(bench.log)
    with pytest.raises(ClosedError, match="ended before it was at version 6"):
        await bench.informer.wait_for("6")


async def test_one_that_was_closed_does_not_run(make: MakeBench) -> None:
    bench = make()
    bench.informer.close()
    with pytest.raises(ClosedError, match="closed before it ran"):
        await bench.informer.run()
    with pytest.raises(ClosedError, match="ended before it was synced"):
        await bench.informer.wait_synced()


async def test_waits_end_with_the_informer(make: MakeBench) -> None:
    bench = make([HOLD])
    registration = bench.informer.add_handler(bench.log)
    ended: list[str] = []

    async def wait(what: Any) -> None:
        with pytest.raises(ClosedError):
            await what.wait_synced()
        ended.append(type(what).__name__)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait, bench.informer)
        tasks.start_soon(wait, registration)
        tasks.start_soon(bench.informer.run)
        await settle()
        bench.informer.close()
    assert sorted(ended) == ["Registration", "SharedInformer"]


@pytest.mark.parametrize("pause", [0.0, 0.5, 1.0, 2.0], ids=["opening", "listing", "synced", "watching"])
async def test_cancelled_at_any_time_it_leaves_nothing_behind(make: MakeBench, pause: float) -> None:
    async def stuck(told: Notification[Object]) -> None:
        await anyio.sleep_forever()

    bench = make([1.0, *snapshot(5, pod("a", 1)), 1.0, modified(pod("a", 10)), HOLD], resync=1.0)
    registration = bench.informer.add_handler(stuck)
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        await bench.clock.advance(pause)
        tasks.cancel_scope.cancel()
    assert bench.source.pending == 0
    assert bench.clock.next_timer is None
    assert len(anyio.get_running_tasks()) == 1
    assert registration.backlog == 0
    with pytest.raises(ClosedError):
        bench.informer.add_handler(bench.log)


async def test_a_cancelled_wait_leaves_the_informer_as_it_was(make: MakeBench) -> None:
    bench = make([1.0, *snapshot(5), HOLD])
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(bench.informer.run)
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(bench.informer.wait_synced)
            waiting.start_soon(bench.informer.wait_for, "9")
            await settle()
            waiting.cancel_scope.cancel()
        await bench.clock.advance(1)
        assert bench.informer.is_synced
        bench.informer.close()


async def test_what_is_no_error_of_the_source_comes_out_as_it_is(make: MakeBench) -> None:
    class Faulty(Random):
        def random(self) -> float:
            raise ZeroDivisionError("no chance")

    bench = make([*snapshot(5), HOLD], random=Faulty())
    with pytest.raises(ZeroDivisionError):
        await bench.informer.run()


def test_an_unknown_queue_is_refused_by_its_name() -> None:
    with pytest.raises(ValueError, match="queue='fast' must be 'delta' or 'in-order'"):
        Bench(queue="fast")
