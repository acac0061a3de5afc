"""The reflector as a task: its start, its end, its timers, and what it tells."""

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import repeat

import anyio
import pytest

from kinformer.errors import DecodeError, InvalidError, TransportError
from kinformer.hooks import ReflectorFailed, ReflectorListed, ReflectorWatched
from kinformer.meta import ObjectKey, ObjectList, Record, Resource, WatchEvent
from kinformer.reflector import Listing, Reflector, Streaming, Waiting, Watching
from kinformer.testing import (
    HOLD,
    After,
    FakeClock,
    ListAnswer,
    ScriptedSource,
    WatchAnswer,
    bookmark,
    error_event,
    settle,
)
from tests.unit.reflector.stage import BROKEN, EMPTY, END, PAGE, PODS, A, Stage, Story, pod

REFUSAL = InvalidError(422)


@pytest.mark.parametrize(
    ("lists", "watches", "watch_list", "delay", "state", "calls"),
    [
        ([HOLD], [], False, 0.0, Listing, []),
        ([PAGE, HOLD], [], False, 0.0, Listing, []),
        ([], [HOLD], True, 0.0, Streaming, []),
        ([], [[A, HOLD]], True, 0.0, Streaming, []),
        ([HOLD], [REFUSAL], True, 0.0, Listing, []),
        ([], [[END, A, HOLD]], True, 0.0, Watching, ["replace 0 @30", "apply 1 @101"]),
        ([EMPTY], [HOLD], False, 0.0, Watching, ["replace 0 @100"]),
        ([EMPTY], [[A, HOLD]], False, 0.0, Watching, ["replace 0 @100", "apply 1 @101"]),
        ([EMPTY], [[bookmark("101"), HOLD]], False, 70.0, Watching, ["replace 0 @100", "apply 0 @101"]),
        ([BROKEN], [], False, 1.0, Waiting, []),
        ([EMPTY], [[2.0, error_event(BROKEN)]], False, 3.0, Waiting, ["replace 0 @100"]),
        ([EMPTY], [[A]] * 9, False, 5.0, Watching, ["replace 0 @100", "apply 1 @101", *["apply 1 @"] * 4]),
    ],
    ids=[
        "list",
        "later page",
        "opening of a watch-list",
        "watch-list",
        "list after a refused watch-list",
        "watch after a watch-list",
        "opening of a watch",
        "watch",
        "watch with a bookmark",
        "wait after a list",
        "wait after a watch",
        "wait for an opening",
    ],
)
async def test_cancelling_leaves_nothing_and_another_run_goes_on_from_there(
    lists: list[ListAnswer],
    watches: list[WatchAnswer],
    watch_list: bool,
    delay: float,
    state: type,
    calls: list[str],
) -> None:
    stage = Stage(lists=lists, watches=watches, watch_list=watch_list)
    async with stage.running(delay):
        assert isinstance(stage.reflector.state, state)
    assert stage.story.calls == calls
    before, requests = stage.reflector.state, len(stage.source.requests)
    assert isinstance(before, state)
    async with stage.running():
        assert stage.reflector.state == before
        await stage.clock.advance(60.0)
        assert len(stage.source.requests) > requests
    assert stage.story.calls[: len(calls)] == calls


async def test_runs_that_are_cancelled_in_line_leave_their_places_to_the_next() -> None:
    stage = Stage(lists=[EMPTY], watches=repeat([HOLD]))
    for _ in range(30):
        async with stage.running():
            pass
    assert len(stage.source.requests) == 6
    async with stage.running(10.0):
        assert len(stage.source.requests) == 7


async def test_another_run_watches_from_the_last_version_that_was_applied() -> None:
    stage = Stage(lists=[EMPTY], watches=[[A, HOLD], [HOLD]])
    async with stage.running():
        assert stage.reflector.state == Watching("101", stage.reflector.state.terms)  # type: ignore[union-attr] # it watches
    async with anyio.create_task_group() as group:
        await group.start(stage.reflector.run)
        await settle()
        group.cancel_scope.cancel()
    assert stage.asked == ["list 0", "watch 100", "watch 101"]


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
async def test_it_has_started_once_the_first_snapshot_is_in_the_sink(watch_list: bool) -> None:
    stage = Stage(
        lists=[After(5.0, EMPTY)],
        watches=[[5.0, END, HOLD]] if watch_list else [[HOLD]],
        watch_list=watch_list,
    )
    started: list[float] = []

    async def start(group: anyio.abc.TaskGroup) -> None:
        await group.start(stage.reflector.run)
        started.append(stage.clock.monotonic())
        assert len(stage.story.calls) == 1

    async with anyio.create_task_group() as group:
        group.start_soon(start, group)
        await stage.clock.advance(20.0)
        group.cancel_scope.cancel()
    assert started == [5.0]


async def test_running_it_twice_at_once_is_a_mistake() -> None:
    stage = Stage(lists=[EMPTY])
    async with stage.running():
        with pytest.raises(RuntimeError, match="reflector pods is running already"):
            await stage.reflector.run()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resync": -1.0}, "resync"),
        ({"resync": math.nan}, "resync"),
        ({"resync": math.inf}, "resync"),
        ({"page_size": -1}, "page_size"),
    ],
)
def test_numbers_that_are_of_no_use_are_refused(options: dict[str, int], message: str) -> None:
    source = ScriptedSource(PODS, clock=FakeClock())
    with pytest.raises(ValueError, match=message):
        Reflector(source, Story(), **options)  # type: ignore[arg-type] # one of the two


def test_its_name_is_the_resources_unless_given() -> None:
    def name(resource: str, given: str = "") -> str:
        source = ScriptedSource(Resource.builtin(resource), clock=FakeClock())
        return Reflector(source, Story(), name=given).name

    assert name("Pod") == "pods"
    assert name("Deployment") == "deployments.apps"
    assert name("Pod", "my pods") == "my pods"


class Faulty(Story):
    """A sink with a bug in one of its methods, whose exception looks like one of a source."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self._where = where

    def replace(self, records: Iterator[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
        self._fail("replace")

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        self._fail("apply")

    def resync(self) -> None:
        self._fail("resync")

    def _fail(self, where: str) -> None:
        if where == self._where:
            raise DecodeError(f"a bug in {where}") from ValueError("the cause")


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
@pytest.mark.parametrize("where", ["replace", "apply", "resync"])
async def test_an_exception_of_the_sink_ends_it_as_it_is(where: str, watch_list: bool) -> None:
    watches: list[WatchAnswer] = [[END, 1.0, A, HOLD]] if watch_list else [[1.0, A, HOLD]]
    stage = Stage(lists=[EMPTY], watches=watches, watch_list=watch_list, resync=5.0, sink=Faulty(where))
    errors: list[Exception] = []

    async def run() -> None:
        with pytest.raises(DecodeError, match=f"a bug in {where}") as caught:
            await stage.reflector.run()
        errors.append(caught.value)

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        await stage.clock.advance(10.0)
    (error,) = errors
    assert isinstance(error.__cause__, ValueError)
    assert stage.source.pending == 0
    assert stage.clock.next_timer is None


async def test_hooks_hear_of_lists_watches_and_failures_with_their_durations() -> None:
    stage = Stage(
        lists=[After(3.0, ObjectList((pod("a", "1"),), "100")), EMPTY],
        watches=[[A, bookmark("102"), 50.0], BROKEN, [HOLD]],
    )
    async with stage.running(60.0):
        assert stage.hooks.events == [
            ReflectorListed("pods", 1, "100", 3.0),
            ReflectorWatched("pods", 2, "102", 50.0),
            ReflectorFailed("pods", "Watching", "Listing", BROKEN, 0.8 * 1.5),
            ReflectorListed("pods", 0, "100", 0.0),
        ]


async def test_a_watch_list_that_is_refused_or_ends_early_is_no_finished_watch() -> None:
    stage = Stage(lists=[EMPTY], watches=[[3.0], REFUSAL, [HOLD]], watch_list=True)
    async with stage.running(10.0):
        failed, listed = stage.hooks.events
    assert isinstance(failed, ReflectorFailed)
    assert isinstance(failed.error, TransportError)
    assert isinstance(listed, ReflectorListed)


async def test_resyncs_keep_their_rhythm_across_relists() -> None:
    stage = Stage(lists=repeat(EMPTY), watches=repeat([4.0, error_event(BROKEN)]), resync=10.0)
    async with stage.running(45.0):
        assert stage.story.calls.count("resync") == 4
        assert len(stage.source.lists) > 3


async def test_resyncs_start_after_the_first_snapshot() -> None:
    stage = Stage(lists=[After(7.0, EMPTY)], watches=[[HOLD]], resync=10.0)
    async with stage.running(16.9):
        assert stage.story.calls == ["replace 0 @100"]
        await stage.clock.advance(0.1)
        assert stage.story.calls == ["replace 0 @100", "resync"]
