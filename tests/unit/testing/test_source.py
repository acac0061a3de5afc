"""A scripted source plays its script and writes down what it was asked."""

import anyio
import pytest

from kinformer.errors import ForbiddenError, TransportError
from kinformer.meta import Object, ObjectList, Resource, WatchEvent
from kinformer.reflector import Source
from kinformer.testing import (
    HOLD,
    After,
    FakeClock,
    ScriptedRequest,
    ScriptedSource,
    added,
    bookmark,
    settle,
)

PODS = Resource.builtin("Pod")


def pod(name: str, version: str) -> Object:
    metadata = {"namespace": "default", "name": name, "resourceVersion": version}
    return Object.from_mapping({"metadata": metadata}, PODS)


def test_it_fits_the_reflectors_source() -> None:
    source: Source = ScriptedSource(PODS, clock=FakeClock())
    assert source.resource == PODS


async def test_lists_are_answered_in_the_order_of_the_script() -> None:
    clock = FakeClock()
    first, refusal = ObjectList((pod("a", "1"),), "10", continue_token="t"), ForbiddenError(403)
    source = ScriptedSource(PODS, lists=[first, refusal], clock=clock)
    assert await source.list(version="0", limit=500) is first
    await clock.advance(3.0)
    with pytest.raises(ForbiddenError):
        await source.list(limit=500, continue_token="t")
    assert source.requests == [
        ScriptedRequest("list", 0.0, version="0", limit=500),
        ScriptedRequest("list", 3.0, limit=500, continue_token="t"),
    ]


async def test_a_stream_plays_events_batches_and_pauses_and_then_closes() -> None:
    clock = FakeClock()
    a, b = added(pod("a", "1")), added(pod("b", "2"))
    source = ScriptedSource(PODS, watches=[[a, 2.0, [b, bookmark("5")]]], clock=clock)
    heard: list[tuple[float, list[WatchEvent]]] = []

    async def read() -> None:
        async with source.watch(version="1", timeout=300) as batches:
            heard.extend([(clock.monotonic(), list(batch)) async for batch in batches])

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await clock.advance(2.0)
    assert heard == [(0.0, [a]), (2.0, [b, bookmark("5")])]
    assert source.watches == [ScriptedRequest("watch", 0.0, version="1", timeout=300, bookmarks=True)]


async def test_an_exception_among_the_steps_breaks_the_stream() -> None:
    source = ScriptedSource(PODS, watches=[[TransportError("reset")]], clock=FakeClock())
    async with source.watch() as batches:
        with pytest.raises(TransportError, match="reset"):
            await anext(batches)
    assert source.pending == 0


async def test_an_exception_as_an_answer_refuses_the_watch() -> None:
    source = ScriptedSource(PODS, watches=[ForbiddenError(403)], clock=FakeClock())
    with pytest.raises(ForbiddenError):
        async with source.watch():
            pytest.fail("the watch was opened")
    assert source.pending == 0


async def test_an_answer_can_be_late() -> None:
    clock = FakeClock()
    source = ScriptedSource(PODS, lists=[After(30.0, TransportError("timed out"))], clock=clock)
    failed_at: list[float] = []

    async def read() -> None:
        with pytest.raises(TransportError):
            await source.list()
        failed_at.append(clock.monotonic())

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await clock.advance(30.0)
    assert failed_at == [30.0]


@pytest.mark.parametrize("lists", [[HOLD], []], ids=["held", "beyond the script"])
async def test_a_request_without_an_answer_waits_until_it_is_given_up(
    lists: list[ObjectList[Object]],
) -> None:
    source = ScriptedSource(PODS, lists=lists, clock=FakeClock())
    async with anyio.create_task_group() as group:
        group.start_soon(source.list)
        await settle()
        assert source.pending == 1
        group.cancel_scope.cancel()
    assert source.pending == 0


async def test_an_error_that_is_raised_again_and_again_remembers_only_the_last_time() -> None:
    refusal = ForbiddenError(403)
    source = ScriptedSource(PODS, lists=[refusal] * 3, clock=FakeClock())
    lengths = []
    for _ in range(3):
        with pytest.raises(ForbiddenError) as caught:
            await source.list()
        lengths.append(len(caught.traceback))
    assert lengths == [lengths[0]] * 3
