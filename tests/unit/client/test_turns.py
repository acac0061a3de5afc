from collections.abc import Iterator

import anyio
import pytest

from kinformer.client import RateLimit
from kinformer.client._turns import Turns
from kinformer.testing import FakeClock, settle


class Line:
    """People who take a turn each; ``served`` is who got one, and when."""

    def __init__(self, rate: float = 1.0, burst: int = 1) -> None:
        self.clock = FakeClock()
        self.turns = Turns(RateLimit(rate, burst), self.clock)
        self.served: list[tuple[str, float]] = []

    async def come(self, name: str) -> None:
        await self.turns.take()
        self.served.append((name, self.clock.monotonic()))


@pytest.fixture
def line() -> Iterator[Line]:
    line = Line()
    yield line
    assert len(line.turns) == 0
    assert line.clock.next_timer is None


async def test_who_comes_first_is_served_first(line: Line) -> None:
    async with anyio.create_task_group() as tasks:
        for name in "abcd":
            tasks.start_soon(line.come, name)
        await line.clock.advance(10.0)
    assert line.served == [("a", 0.0), ("b", 1.0), ("c", 2.0), ("d", 3.0)]


async def test_who_comes_while_somebody_waits_does_not_overtake(line: Line) -> None:
    async with anyio.create_task_group() as tasks:
        for name in "ab":
            tasks.start_soon(line.come, name)
        await line.clock.advance(0.9)
        tasks.start_soon(line.come, "c")
        await line.clock.advance(10.0)
    assert line.served == [("a", 0.0), ("b", 1.0), ("c", 2.0)]


async def test_who_comes_at_the_moment_of_a_token_leaves_it_to_who_waits(line: Line) -> None:
    async with anyio.create_task_group() as tasks:

        async def come_later() -> None:
            await line.clock.sleep(1.0)  # it began before the other wait did, and so ends before that
            await line.come("c")

        tasks.start_soon(come_later)
        await settle()
        for name in "ab":
            tasks.start_soon(line.come, name)
        await line.clock.advance(10.0)
    assert line.served == [("a", 0.0), ("b", 1.0), ("c", 2.0)]


@pytest.mark.parametrize("leaves", ["b", "c", "d"])
async def test_who_gives_up_takes_no_token_and_holds_nobody_up(line: Line, leaves: str) -> None:
    async with anyio.create_task_group() as tasks:
        scopes = {}

        async def come(name: str) -> None:
            with anyio.CancelScope() as scopes[name]:
                await line.come(name)

        for name in "abcd":
            tasks.start_soon(come, name)
        await line.clock.advance(0.5)
        scopes[leaves].cancel()
        await line.clock.advance(10.0)
    rest = [name for name in "abcd" if name != leaves]
    assert line.served == [(name, float(moment)) for moment, name in enumerate(rest)]


async def test_who_gives_up_at_the_moment_of_the_turn_leaves_it_to_the_next(line: Line) -> None:
    async with anyio.create_task_group() as tasks:
        await line.come("a")

        async def come() -> None:
            with anyio.CancelScope() as scope:
                line.clock.call_at(1.0, scope.cancel)
                await line.come("b")

        tasks.start_soon(come)
        tasks.start_soon(line.come, "c")
        await line.clock.advance(1.0)
        assert line.served == [("a", 0.0), ("c", 1.0)]


async def test_a_token_that_is_there_is_had_without_waiting(line: Line) -> None:
    task = line.turns.take()
    with pytest.raises(StopIteration):
        task.send(None)
    await settle()
