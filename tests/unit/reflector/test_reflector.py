"""The reflector as a task: its start, its end, its timers, and what it tells."""

import asyncio
import math
from collections.abc import AsyncIterator, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import repeat
from random import Random

import anyio
import pytest

from kinformer.errors import DecodeError, InvalidError, ServerError, TransportError
from kinformer.hooks import NoHooks, ReflectorFailed, ReflectorListed, ReflectorWatched, WatchListDelayed
from kinformer.meta import Object, ObjectKey, ObjectList, Record, Resource, WatchEvent
from kinformer.reflector import Ages, Listing, Reflector, Sink, Streaming, Waiting, Watching
from kinformer.testing import (
    HOLD,
    After,
    FakeClock,
    ListAnswer,
    ScriptedSource,
    StreamStep,
    WatchAnswer,
    added,
    bookmark,
    error_event,
    settle,
)

PODS = Resource.builtin("Pod")
BROKEN = ServerError(500, "InternalError", "etcd is gone")
EMPTY: ObjectList[Object] = ObjectList((), "100")
END = bookmark("30", ends_initial_events=True)


def pod(name: str, version: str) -> Object:
    metadata = {"namespace": "default", "name": name, "resourceVersion": version}
    return Object.from_mapping({"metadata": metadata}, PODS)


class Half(Random):
    """Chance that always comes out in the middle."""

    def random(self) -> float:
        return 0.5


class Story:
    """A sink that writes down its calls."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def replace(self, records: Sequence[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
        self.calls.append(f"replace {len(records)} @{version}")

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        self.calls.append(f"apply {len(events)} @{version}")

    def resync(self) -> None:
        self.calls.append("resync")


class Diary(NoHooks):
    """Hooks that keep what they hear of."""

    def __init__(self) -> None:
        self.events: list[ReflectorListed | ReflectorWatched | ReflectorFailed] = []
        self.delays: list[WatchListDelayed] = []

    def watch_list_delayed(self, event: WatchListDelayed, /) -> None:
        self.delays.append(event)

    def reflector_listed(self, event: ReflectorListed, /) -> None:
        self.events.append(event)

    def reflector_watched(self, event: ReflectorWatched, /) -> None:
        self.events.append(event)

    def reflector_failed(self, event: ReflectorFailed, /) -> None:
        self.events.append(event)


class Stage:
    """A reflector and everything around it."""

    def __init__(
        self,
        *,
        lists: Iterable[ListAnswer] = (),
        watches: Iterable[WatchAnswer] = (),
        watch_list: bool = False,
        resync: float = 0.0,
        sink: Sink | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.source = ScriptedSource(PODS, lists=lists, watches=watches, clock=self.clock)
        self.story = Story()
        self.hooks = Diary()
        self.reflector = Reflector(
            self.source,
            sink or self.story,
            watch_list=watch_list,
            resync=resync,
            clock=self.clock,
            random=Half(),
            hooks=self.hooks,
        )

    @asynccontextmanager
    async def running(self, delay: float = 0.0) -> AsyncIterator[None]:
        """Run for ``delay`` seconds and then for the block, cancel, and see that nothing is left behind."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.reflector.run)
            await self.clock.advance(delay)
            yield
            group.cancel_scope.cancel()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert self.source.pending == 0
        assert self.clock.next_timer is None

    @property
    def asked(self) -> list[str]:
        """The requests in short."""
        return [
            ("stream" if request.initial_events else request.verb)
            + f" {request.continue_token or request.version}".rstrip()
            for request in self.source.requests
        ]


A = added(pod("a", "101"))
PAGE: ObjectList[Object] = ObjectList((pod("a", "1"),), "100", continue_token="t")
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
    ("options", "message"), [({"resync": -1.0}, "resync"), ({"page_size": -1}, "page_size")]
)
def test_negative_numbers_are_refused(options: dict[str, int], message: str) -> None:
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

    def replace(self, records: Sequence[Record], version: str, *, kept: Collection[ObjectKey] = ()) -> None:
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


async def test_silence_after_a_bookmark_reopens_the_watch_from_the_last_version() -> None:
    stage = Stage(lists=[EMPTY], watches=[[bookmark("110"), 60.0, bookmark("120"), HOLD], [HOLD]])
    async with stage.running(134.9):
        assert stage.asked == ["list 0", "watch 100"]
        await stage.clock.advance(0.1)
        assert stage.asked == ["list 0", "watch 100", "watch 120"]
        assert not stage.reflector.conditions["Disconnected"].status
    _, failed = stage.hooks.events
    assert isinstance(failed, ReflectorFailed)
    assert (failed.state, failed.next_state, failed.delay) == ("Watching", "Watching", 0.0)


async def test_silence_of_a_stream_that_never_showed_a_bookmark_is_normal() -> None:
    stage = Stage(lists=[EMPTY], watches=[[A, HOLD]])
    async with stage.running(299.0):
        assert stage.asked == ["list 0", "watch 100"]


async def test_a_server_that_has_shown_a_bookmark_is_expected_to_show_more_in_every_stream() -> None:
    stage = Stage(lists=[EMPTY], watches=[[bookmark("110"), 2.0], [HOLD], [HOLD]])
    async with stage.running(76.9):
        assert stage.asked == ["list 0", "watch 100", "watch 110"]
        await stage.clock.advance(0.1)
        assert stage.asked == ["list 0", "watch 100", "watch 110", "watch 110"]


async def test_a_stream_that_outlives_its_timeout_is_reopened() -> None:
    stage = Stage(lists=[EMPTY], watches=[[HOLD], [HOLD]])
    async with stage.running():
        timeout = stage.source.watches[0].timeout
        await stage.clock.advance(timeout + 29.9)
        assert len(stage.source.watches) == 1
        await stage.clock.advance(0.1)
        assert stage.asked == ["list 0", "watch 100", "watch 100"]


async def test_a_watch_list_that_goes_silent_is_tried_again_after_a_wait() -> None:
    stage = Stage(watches=[[bookmark("5"), HOLD], [END, HOLD]], watch_list=True)
    async with stage.running(80.0):
        assert stage.asked == ["stream", "stream"]
        assert stage.source.requests[1].at == pytest.approx(76.2)


async def test_a_watch_list_that_never_speaks_is_tried_again_after_75_seconds_and_then_listed() -> None:
    stage = Stage(lists=[EMPTY], watches=[[HOLD], HOLD, [A, HOLD], [HOLD]], watch_list=True)
    async with stage.running(250.0):
        assert stage.asked == ["stream", "stream", "stream", "list 0", "watch 100"]
        assert [request.at for request in stage.source.requests[:4]] == pytest.approx(
            [0.0, 76.2, 153.6, 233.4]
        )


async def test_hooks_hear_of_a_bookmark_that_is_late_while_nothing_else_comes() -> None:
    often: list[StreamStep] = [9.0, A]
    busy: list[StreamStep] = [25.0, A, *often * 5, 15.0, END, 30.0, A, HOLD]
    stage = Stage(watches=[busy], watch_list=True)
    async with stage.running(180.0):
        assert stage.asked == ["stream"]
        assert stage.hooks.delays == [
            WatchListDelayed("pods", 0, 10.0),
            WatchListDelayed("pods", 0, 20.0),
            WatchListDelayed("pods", 6, 10.0),
        ]


async def test_the_silence_of_a_complete_watch_list_is_no_delay() -> None:
    stage = Stage(watches=[[END, 70.0, A, HOLD], [HOLD]], watch_list=True)
    async with stage.running(100.0):
        assert stage.hooks.delays == []


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


async def test_the_ages_of_the_last_object_and_of_the_last_bookmark_tell_a_quiet_stream_from_a_dead_one() -> (
    None
):
    steps: list[StreamStep] = [10.0, A, 20.0, bookmark("105"), 5.0, [A, bookmark("106")], HOLD]
    stage = Stage(lists=[After(3.0, PAGE), EMPTY], watches=[steps])
    async with stage.running(1.0):
        assert stage.reflector.ages == Ages(math.inf, math.inf)
        seen = []
        for _ in range(6):
            await stage.clock.advance(9.0)
            seen.append((stage.reflector.ages.event, stage.reflector.ages.bookmark))
    assert seen == [(7.0, math.inf), (6.0, math.inf), (15.0, math.inf), (24.0, 4.0), (8.0, 8.0), (17.0, 17.0)]


async def test_a_watch_list_shows_its_age_while_it_is_on_the_way() -> None:
    stage = Stage(watches=[[A, 30.0, END, HOLD]], watch_list=True)
    async with stage.running(20.0):
        assert stage.reflector.ages == Ages(20.0, math.inf)
        await stage.clock.advance(15.0)
        assert stage.reflector.ages == Ages(35.0, 5.0)
