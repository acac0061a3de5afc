"""Waiting for a revision; how a cache does it is in ``test_cache``."""

import anyio
import pytest

from kinformer.apiserver.storage import CacheTimeoutError
from kinformer.apiserver.storage._freshness import Freshness
from kinformer.testing import FakeClock, settle


class Stage:
    def __init__(self) -> None:
        self.clock = FakeClock()
        self.revision = 5
        self.asked: list[float] = []
        self.freshness = Freshness(lambda: self.revision, timeout=3.0, period=0.1, clock=self.clock)

    def ask(self) -> None:
        self.asked.append(round(self.clock.monotonic(), 3))


async def test_nobody_waits_for_what_is_there() -> None:
    await Stage().freshness.wait_for(5)


async def test_progress_is_asked_for_at_once_and_then_while_anybody_waits() -> None:
    stage = Stage()
    begun = stage.clock.monotonic()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.freshness.run, stage.ask)
        await stage.clock.advance(1.0)
        assert stage.asked == []
        for revision in (6, 7):
            tasks.start_soon(stage.freshness.wait_for, revision)
        await stage.clock.advance(0.25)
        assert [round(when - begun, 3) for when in stage.asked] == [1.0, 1.1, 1.2]
        stage.revision = 7
        stage.freshness.advance()
        await stage.clock.advance(1.0)
        assert len(stage.asked) == 3
        tasks.start_soon(stage.freshness.wait_for, 8)
        await settle()
        assert len(stage.asked) == 4
        tasks.cancel_scope.cancel()


async def test_a_wait_in_vain_says_where_the_cache_is() -> None:
    stage = Stage()
    failures: list[CacheTimeoutError] = []

    async def wait() -> None:
        with pytest.raises(CacheTimeoutError) as caught:
            await stage.freshness.wait_for(9)
        failures.append(caught.value)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await stage.clock.advance(2.9)
        stage.revision = 8
        stage.freshness.advance()
        await settle()
        assert failures == []
        await stage.clock.advance(0.2)
    assert [(error.revision, error.current) for error in failures] == [(9, 8)]


async def test_closing_it_ends_all_waits() -> None:
    stage = Stage()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.freshness.wait_for, 9)
        await settle()
        stage.freshness.close()
    await stage.freshness.wait_for(9)
