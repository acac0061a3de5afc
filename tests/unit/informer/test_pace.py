"""A source that is read no faster than what it brings can be taken in."""

import anyio
import pytest

from kinformer.errors import ExpiredError
from kinformer.informer._pace import PacedSource
from kinformer.meta import ObjectList
from kinformer.testing import HOLD, FakeClock, ListAnswer, ScriptedSource, WatchAnswer, added, settle
from tests.unit.informer.stage import PODS, pod


class Gate:
    """Room that is there or not."""

    def __init__(self) -> None:
        self.opened = anyio.Event()
        self.opened.set()

    async def wait(self) -> None:
        await self.opened.wait()

    def shut(self) -> None:
        self.opened = anyio.Event()


def source(
    *watches: WatchAnswer, lists: list[ListAnswer] | None = None
) -> tuple[PacedSource, ScriptedSource, Gate]:
    scripted = ScriptedSource(PODS, watches=watches, lists=lists or [], clock=FakeClock())
    gate = Gate()
    return PacedSource(scripted, gate.wait), scripted, gate


async def test_requests_are_passed_on_as_they_are() -> None:
    page = ObjectList((pod("a", 1),), "9")
    paced, scripted, _ = source([], lists=[page])
    assert paced.resource == PODS
    assert await paced.list(version="5", version_match="Exact", limit=3, continue_token="t") == page
    async with paced.watch(version="7", timeout=30, bookmarks=False, initial_events=True) as batches:
        assert [batch async for batch in batches] == []
    listed, watched = scripted.requests
    assert (listed.version, listed.version_match, listed.limit, listed.continue_token) == (
        "5",
        "Exact",
        3,
        "t",
    )
    assert (watched.version, watched.timeout, watched.bookmarks, watched.initial_events) == (
        "7",
        30,
        False,
        True,
    )


async def test_no_batch_is_asked_for_while_there_is_no_room() -> None:
    paced, _, gate = source([added(pod("a", 1)), added(pod("b", 2)), HOLD])
    got: list[object] = []

    async def read() -> None:
        async with paced.watch() as batches:
            async for batch in batches:
                got.append(batch)
                gate.shut()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await settle()
        assert len(got) == 1
        gate.opened.set()
        await settle()
        assert len(got) == 2
        tasks.cancel_scope.cancel()


async def test_cancelled_while_it_waits_for_room_it_closes_the_watch() -> None:
    paced, scripted, gate = source([added(pod("a", 1)), HOLD])
    gate.shut()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(drain, paced)
        await settle()
        assert scripted.pending == 1
        tasks.cancel_scope.cancel()
    assert scripted.pending == 0


async def test_what_breaks_a_watch_comes_through_and_refused_ones_do_not_count() -> None:
    paced, _, _ = source(
        ExpiredError(410, "Expired", "refused"), [ExpiredError(410, "Expired", "broken")], []
    )
    for match in ("refused", "broken"):
        with pytest.raises(ExpiredError, match=match):
            await drain(paced)
    await drain(paced)
    assert paced.watches == 2


async def drain(paced: PacedSource) -> None:
    async with paced.watch() as batches:
        async for _ in batches:
            pass
