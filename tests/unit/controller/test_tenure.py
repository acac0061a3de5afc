import logging
from collections.abc import Awaitable, Callable

import anyio
import pytest

from kinformer.controller._moment import Moment
from kinformer.controller._tenure import Tenure
from kinformer.errors import TransportError
from kinformer.meta import ObjectKey
from kinformer.testing import FakeClock, settle


class Stage:
    """A right for 10 s after each renewal; a test says what becomes of the renewals."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.until = 10.0
        self.tries: list[float] = []
        self.act: Callable[[], Awaitable[None]] = self.succeed
        self.tenure = Tenure(
            ObjectKey("ops", "lease"), self, self.renew, period=2.0, patience=5.0, clock=clock
        )
        self.ends: list[str] = []

    def left(self, now: Moment, /) -> float:
        return max(0.0, self.until - now.monotonic)

    async def renew(self) -> None:
        self.tries.append(self.clock.monotonic())
        await self.act()

    async def succeed(self) -> None:
        self.until = self.clock.monotonic() + 10.0

    async def fail(self) -> None:
        raise TransportError("no way")

    async def work(self, *, cleans_up_for: float = 0.0) -> None:
        async with self.tenure.held():
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await self.clock.sleep(cleans_up_for)
        self.ends.append(f"after {self.clock.monotonic():g} s")


async def test_it_renews_each_period_while_the_block_runs() -> None:
    stage = Stage(FakeClock())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.work)
        await stage.clock.advance(7)
        tasks.cancel_scope.cancel()
    await stage.clock.advance(10)
    assert stage.tries == [2, 4, 6]
    assert not stage.tenure.is_lost
    assert stage.clock.next_timer is None


async def test_a_right_that_is_over_cancels_the_block_at_that_moment_and_only_the_block() -> None:
    stage = Stage(FakeClock())
    stage.act, stage.until = stage.fail, 9.3
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.work)
        await stage.clock.advance(9.2)
        assert not stage.ends
        await stage.clock.advance(0.2)
    assert stage.ends == ["after 9.3 s"], "between two tries"
    assert stage.tenure.is_lost
    assert stage.tenure.trouble == "no way"


async def test_it_goes_on_renewing_until_the_block_has_ended() -> None:
    stage = Stage(FakeClock())
    stage.act = stage.fail
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: stage.work(cleans_up_for=5.0))
        await stage.clock.advance(20)
    assert stage.tries == [2, 4, 6, 8, 10, 12, 14]
    assert stage.ends == ["after 15 s"]


async def test_a_try_takes_no_longer_than_the_patience(caplog: pytest.LogCaptureFixture) -> None:
    stage = Stage(FakeClock())
    stage.act = anyio.sleep_forever
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.tenure.attempt)
        await stage.clock.advance(5)
    assert stage.tenure.trouble == "no answer within 5 s"
    assert caplog.messages == ["ops/lease: cannot renew or take the lease: no answer within 5 s"]


async def test_the_same_trouble_is_told_once_and_is_over_after_a_success(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    stage = Stage(FakeClock())
    for act in (stage.fail, stage.fail, stage.succeed):
        stage.act = act
        await stage.tenure.attempt()
    assert len(caplog.messages) == 1
    assert stage.tenure.trouble == ""


async def test_what_is_no_trouble_of_a_request_comes_out_and_ends_the_block() -> None:
    async def break_down() -> None:
        raise ZeroDivisionError

    stage = Stage(FakeClock())
    stage.act = break_down
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stage.clock.advance, 3.0)
        with pytest.raises(ZeroDivisionError):
            await stage.work()


async def test_a_block_that_ends_leaves_no_timer() -> None:
    stage = Stage(FakeClock())
    async with stage.tenure.held():
        await settle()
    assert stage.clock.next_timer is None
