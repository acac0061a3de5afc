"""Waiting until the cache is as far as somebody needs it to be."""

from dataclasses import dataclass, field

import anyio
import pytest

from kinformer.apiserver.cacher import Freshness
from kinformer.apiserver.storage import FutureRevisionError
from kinformer.testing import FakeClock, settle


@dataclass
class Stage:
    """A cache at some revision, and when it was asked to find out how far it is."""

    clock: FakeClock = field(default_factory=FakeClock)
    revision: int = 5
    asked: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.freshness = Freshness(
            lambda: self.revision, lambda: self.asked.append(self.clock.monotonic()), clock=self.clock
        )

    def advance(self, revision: int) -> None:
        self.revision = revision
        self.freshness.advance()


@pytest.mark.parametrize("revision", [0, 4, 5])
async def test_what_is_there_needs_no_wait_and_no_request(revision: int) -> None:
    stage = Stage()
    assert await stage.freshness.wait_for(revision) == 0.0
    assert stage.asked == []


async def test_progress_is_requested_at_once_and_every_100_ms_while_somebody_waits() -> None:
    stage = Stage()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.freshness.wait_for, 7)
        await settle()
        assert stage.asked == [0.0]
        await stage.clock.advance(0.25)
        assert stage.asked == pytest.approx([0.0, 0.1, 0.2])
        stage.advance(6)
        await settle()
        stage.advance(7)
    await stage.clock.advance(1.0)
    assert len(stage.asked) == 3
    assert stage.clock.next_timer is None


async def test_who_comes_later_requests_for_itself() -> None:
    """What is under way may have been said before what it needs has happened."""
    stage = Stage()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.freshness.wait_for, 6)
        await settle()
        tasks.start_soon(stage.freshness.wait_for, 7)
        await settle()
        assert stage.asked == [0.0, 0.0]
        stage.advance(7)


async def test_it_says_how_long_it_took() -> None:
    stage = Stage()
    seconds: list[float] = []

    async def wait() -> None:
        seconds.append(await stage.freshness.wait_for(7))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await stage.clock.advance(1.5)
        stage.advance(8)
    assert seconds == [1.5]


@pytest.mark.parametrize("with_progress", [True, False])
async def test_after_three_seconds_it_is_too_large(with_progress: bool) -> None:
    stage = Stage()
    caught: list[FutureRevisionError] = []

    async def wait() -> None:
        with pytest.raises(FutureRevisionError) as error:
            await stage.freshness.wait_for(7, with_progress=with_progress)
        caught.append(error.value)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await stage.clock.advance(2.99)
        assert caught == []
        stage.advance(6)
        await stage.clock.advance(0.02)
    assert [(error.revision, error.current) for error in caught] == [(7, 6)]
    assert bool(stage.asked) == with_progress


async def test_nobody_waits_for_what_was_closed() -> None:
    stage = Stage()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.freshness.wait_for, 7)
        await settle()
        stage.freshness.close()
    await stage.freshness.wait_for(99)


async def test_a_cancelled_wait_leaves_no_timer() -> None:
    stage = Stage()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.freshness.wait_for, 7)
        await settle()
        tasks.cancel_scope.cancel()
    assert stage.clock.next_timer is None
