import math
from collections.abc import Awaitable, Callable
from socket import AF_INET, AF_INET6

import anyio
import pytest

from kinformer.client._stream._race import Race, interleave
from kinformer.testing import FakeClock, settle


class Track:
    """Attempts that take their time, and what became of them."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.begun: list[tuple[str, float]] = []
        self.cancelled: list[str] = []
        self.discarded: list[str] = []

    def attempt(self, name: str, takes: float, failure: str = "") -> Callable[[], Awaitable[str]]:
        async def run() -> str:
            self.begun.append((name, self.clock.monotonic()))
            try:
                await self.clock.sleep(takes)
            except anyio.get_cancelled_exc_class():
                self.cancelled.append(name)
                raise
            if failure:
                raise OSError(failure)
            return name

        return run

    async def race(self, *attempts: Callable[[], Awaitable[str]], until: float = 100.0) -> str:
        """What wins, or the text of the error; ``""`` where it is cancelled before."""
        outcome = ""

        async def run() -> None:
            nonlocal outcome
            try:
                outcome = await Race(attempts, discard=self.discarded.append, clock=self.clock).run()
            except OSError as error:
                outcome = str(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await self.clock.advance(until)
            tasks.cancel_scope.cancel()
        assert self.clock.next_timer is None
        return outcome


async def test_one_way_is_gone_without_ado() -> None:
    track = Track()
    assert await track.race(track.attempt("a", 7.0)) == "a"
    assert await track.race(track.attempt("b", 1.0, "refused")) == "refused"


async def test_the_next_begins_when_the_first_takes_too_long_and_the_first_may_still_win() -> None:
    track = Track()
    assert await track.race(track.attempt("a", 0.4), track.attempt("b", 0.3), track.attempt("c", 9.0)) == "a"
    assert track.begun == [("a", 0.0), ("b", 0.25)]
    assert track.cancelled == ["b"]


async def test_the_next_begins_at_once_when_the_first_fails() -> None:
    track = Track()
    assert await track.race(track.attempt("a", 0.1, "refused"), track.attempt("b", 0.1)) == "b"
    assert track.begun == [("a", 0.0), ("b", 0.1)]


async def test_a_way_that_leads_nowhere_does_not_hold_up_the_others() -> None:
    track = Track()
    assert await track.race(track.attempt("a", math.inf), track.attempt("b", 1.0)) == "b"
    assert track.cancelled == ["a"]


async def test_when_all_fail_each_reason_is_told_once() -> None:
    track = Track()
    attempts = [track.attempt(name, 0.1, reason) for name, reason in (("a", "x"), ("b", "y"), ("c", "x"))]
    assert await track.race(*attempts) == "x; y"


async def test_of_two_that_come_in_together_one_is_discarded() -> None:
    track = Track()
    assert await track.race(track.attempt("a", 0.75), track.attempt("b", 0.5)) in {"a", "b"}
    assert len(track.discarded) <= 1
    assert len(track.discarded) + len(track.cancelled) == 1


async def test_a_race_that_is_cancelled_cancels_all() -> None:
    track = Track()
    assert await track.race(track.attempt("a", 9.0), track.attempt("b", 9.0), until=1.0) == ""
    assert sorted(track.cancelled) == ["a", "b"]
    assert track.discarded == []


async def test_what_was_won_in_the_moment_of_cancellation_is_discarded() -> None:
    track = Track()
    scope = anyio.CancelScope()

    async def win() -> str:
        scope.cancel()
        return "a"

    with scope:
        race = Race([win, track.attempt("b", 9.0)], discard=track.discarded.append, clock=track.clock)
        await race.run()
    await settle()
    assert scope.cancelled_caught
    assert track.discarded == ["a"]


async def test_an_error_that_is_none_of_the_network_ends_the_race() -> None:
    track = Track()

    async def bug() -> str:
        raise ZeroDivisionError

    for attempts in ([bug], [bug, track.attempt("b", 9.0)]):
        with pytest.raises(ZeroDivisionError):
            await Race(attempts, discard=track.discarded.append, clock=track.clock).run()


def test_families_take_turns_and_no_address_comes_twice() -> None:
    found = [
        (AF_INET6, "::1"),
        (AF_INET6, "::2"),
        (AF_INET6, "::3"),
        (AF_INET, "1.1.1.1"),
        (AF_INET, "2.2.2.2"),
    ]
    assert interleave([*found, found[0]]) == ["::1", "1.1.1.1", "::2", "2.2.2.2", "::3"]
    assert interleave(found[3:]) == ["1.1.1.1", "2.2.2.2"]
    assert interleave([]) == []
