"""A stream ends its iteration whatever happens, and says why."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
import pytest

from kinformer.errors import ForbiddenError, TransportError
from kinformer.meta import Resource, WatchEvent
from kinformer.reflector._stream import Stream
from kinformer.testing import HOLD, FakeClock, ScriptedSource, WatchAnswer, bookmark, settle

PODS = Resource.builtin("Pod")
MARK = bookmark("7")


async def read(answer: WatchAnswer) -> tuple[list[WatchEvent], bool, Exception | None]:
    source = ScriptedSource(PODS, watches=[answer], clock=FakeClock())
    events: list[WatchEvent] = []
    async with Stream(source.watch()) as stream:
        async for batch in stream:
            events.extend(batch)
    assert source.pending == 0
    return events, stream.is_open, stream.failure


async def test_an_orderly_end_is_no_failure() -> None:
    assert await read([MARK, [MARK, MARK]]) == ([MARK] * 3, True, None)


async def test_a_refusal_is_a_failure_without_events() -> None:
    error = ForbiddenError(403)
    assert await read(error) == ([], False, error)


@pytest.mark.parametrize(
    "error", [TransportError("reset"), OSError("reset"), RuntimeError("a bug")], ids=repr
)
async def test_a_break_is_a_failure_after_what_came_before(error: Exception) -> None:
    assert await read([MARK, error]) == ([MARK], True, error)


async def test_what_the_reader_raises_passes_through() -> None:
    source = ScriptedSource(PODS, watches=[[MARK, HOLD]], clock=FakeClock())

    async def follow() -> None:
        async with Stream(source.watch()) as stream:
            async for _ in stream:
                raise TransportError("the sink's own")

    with pytest.raises(TransportError, match="the sink's own"):
        await follow()
    assert source.pending == 0


async def test_closing_badly_is_a_failure() -> None:
    @asynccontextmanager
    async def watch() -> AsyncIterator[AsyncIterator[Sequence[WatchEvent]]]:
        source = ScriptedSource(PODS, watches=[[MARK]], clock=FakeClock())
        async with source.watch() as batches:
            yield batches
        raise TransportError("the connection could not be closed")

    async with Stream(watch()) as stream:
        assert [list(batch) async for batch in stream] == [[MARK]]
    assert isinstance(stream.failure, TransportError)


async def test_cancellation_passes_through() -> None:
    source = ScriptedSource(PODS, watches=[[HOLD]], clock=FakeClock())
    ended: list[bool] = []

    async def follow() -> None:
        async with Stream(source.watch()) as stream:
            await anext(stream)
        ended.append(True)

    async with anyio.create_task_group() as group:
        group.start_soon(follow)
        await settle()
        group.cancel_scope.cancel()
    assert ended == []
    assert source.pending == 0
