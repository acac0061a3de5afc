"""A reflector against a scripted server, fault by fault, on a fake clock.

The B numbers are those of the behaviours that ports of client-go most often get wrong; each test has the requests with
their moments, and what reached the sink.
"""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from itertools import pairwise, repeat
from random import Random

import anyio
import pytest

from kinformer.errors import (
    ApiError,
    BadRequestError,
    DecodeError,
    ExpiredError,
    ForbiddenError,
    FutureVersionError,
    InvalidError,
    MethodNotAllowedError,
    NotFoundError,
    RequestError,
    ServerError,
    ThrottledError,
    TransportError,
    UnauthorizedError,
)
from kinformer.hooks import NoHooks, ObjectQuarantined, ReflectorFailed
from kinformer.meta import Object, ObjectList, Record, Resource, WatchEvent
from kinformer.reflector import Reflector, Watching
from kinformer.testing import (
    HOLD,
    After,
    FakeClock,
    ListAnswer,
    ScriptedRequest,
    ScriptedSource,
    StreamStep,
    WatchAnswer,
    added,
    bookmark,
    deleted,
    error_event,
    modified,
)

PODS = Resource.builtin("Pod")
GONE = ExpiredError(410, "Expired", "too old resource version")
REFUSED = TransportError("connection refused", refused=True)
THROTTLED = ThrottledError(429, "TooManyRequests", "slow down")
BROKEN = ServerError(500, "InternalError", "etcd is gone")


def pod(name: str, version: str) -> Object:
    metadata = {"namespace": "default", "name": name, "resourceVersion": version}
    return Object.from_mapping({"metadata": metadata}, PODS)


def page(*objects: Object, version: str, token: str = "") -> ObjectList[Object]:
    return ObjectList(objects, version, continue_token=token)


END = bookmark("30", ends_initial_events=True)
EMPTY = page(version="100")


class Half(Random):
    """Chance that always comes out in the middle."""

    def random(self) -> float:
        return 0.5


class Mirror:
    """A sink that keeps what it was given, and the story of how."""

    def __init__(self) -> None:
        self.content: dict[str, str] = {}
        self.versions: list[str] = []
        self.story: list[str] = []

    def replace(self, records: Sequence[Record], version: str) -> None:
        self.content = {record.key.name: record.metadata.resource_version for record in records}
        self.versions.append(version)
        self.story.append(f"replace {','.join(sorted(self.content))}")

    def apply(self, events: Sequence[WatchEvent], version: str) -> None:
        for event in events:
            assert event.record is not None
            name = event.record.key.name
            if event.type == "DELETED":
                self.content.pop(name, None)
            else:
                self.content[name] = event.record.metadata.resource_version
            self.story.append(f"{event.type.lower()} {name}")
        if version:
            self.versions.append(version)

    def resync(self) -> None:
        """Never asked for here."""


class Diary(NoHooks):
    """Hooks that keep the failures."""

    def __init__(self) -> None:
        self.failures: list[ReflectorFailed] = []
        self.quarantined: list[ObjectQuarantined] = []

    def reflector_failed(self, event: ReflectorFailed, /) -> None:
        self.failures.append(event)

    def object_quarantined(self, event: ObjectQuarantined, /) -> None:
        self.quarantined.append(event)


class Stage:
    """A reflector, its scripted server, its sink, its hooks and its clock."""

    def __init__(
        self,
        *,
        lists: Iterable[ListAnswer] = (),
        watches: Iterable[WatchAnswer] = (),
        watch_list: bool = False,
        page_size: int = 0,
        random: Random | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.source = ScriptedSource(PODS, lists=lists, watches=watches, clock=self.clock)
        self.sink = Mirror()
        self.hooks = Diary()
        self.reflector = Reflector(
            self.source,
            self.sink,
            watch_list=watch_list,
            page_size=page_size,
            clock=self.clock,
            random=random or Half(),
            hooks=self.hooks,
        )

    @asynccontextmanager
    async def running(self, delay: float = 0.0) -> AsyncIterator[None]:
        """Run the reflector for ``delay`` seconds and then for the block; nothing may be left behind."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.reflector.run)
            await self.clock.advance(delay)
            yield
            group.cancel_scope.cancel()
        assert self.source.pending == 0
        assert self.clock.next_timer is None

    async def play(self, delay: float) -> list[ScriptedRequest]:
        """Run the reflector for ``delay`` seconds, and return the requests that it made."""
        async with self.running(delay):
            return self.source.requests

    @property
    def asked(self) -> list[str]:
        """The requests in short: verb and version, a page by its token."""
        verbs = {"list": "LIST", "watch": "WATCH"}
        return [
            ("STREAM" if request.initial_events else verbs[request.verb])
            + f" {request.continue_token or request.version}".rstrip()
            for request in self.source.requests
        ]

    def true(self) -> set[str]:
        """The conditions that are true."""
        return {str(name) for name, condition in self.reflector.conditions.items() if condition.status}


def gaps(requests: Sequence[ScriptedRequest]) -> list[float]:
    return [later.at - earlier.at for earlier, later in pairwise(requests)]


async def test_b01_the_first_requests_in_list_mode() -> None:
    stage = Stage(
        lists=[page(pod("a", "10"), pod("b", "20"), version="100")], watches=[[2.0], [HOLD]], random=Random(1)
    )
    list_, first, second = await stage.play(2.0)
    assert (list_.version, list_.version_match, list_.limit, list_.continue_token) == ("0", "", 500, "")
    assert (first.version, first.bookmarks, first.initial_events) == ("100", True, False)
    assert 300 <= first.timeout < 600
    assert 300 <= second.timeout < 600
    assert first.timeout != second.timeout
    assert second == ScriptedRequest("watch", 2.0, version="100", timeout=second.timeout, bookmarks=True)
    assert stage.sink.story == ["replace a,b"]
    assert stage.sink.versions == ["100"]


async def test_b02_a_watch_list_is_one_request_and_one_replacement() -> None:
    steps: list[StreamStep] = [
        added(pod("a", "10")),
        added(pod("b", "20")),
        modified(pod("a", "25")),
        added(pod("c", "26")),
        deleted(pod("c", "27")),
        1.0,
        END,
        added(pod("d", "31")),
        HOLD,
    ]
    stage = Stage(watches=[steps], watch_list=True)
    async with stage.running(0.9):
        assert stage.sink.story == []
        assert stage.true() == set()
        await stage.clock.advance(0.1)
        assert stage.true() == {"Synced"}
    (request,) = stage.source.requests
    assert (request.verb, request.version, request.initial_events, request.bookmarks) == (
        "watch",
        "",
        True,
        True,
    )
    assert 300 <= request.timeout < 600
    assert stage.sink.story == ["replace a,b", "added d"]
    assert stage.sink.content == {"a": "25", "b": "20", "d": "31"}
    assert stage.sink.versions == ["30", "31"]
    assert stage.reflector.version == "31"


async def test_b02_the_end_of_the_initial_events_and_what_follows_may_come_in_one_batch() -> None:
    batch = [added(pod("a", "10")), END, modified(pod("a", "31")), added(pod("b", "32"))]
    stage = Stage(watches=[[batch, HOLD]], watch_list=True)
    await stage.play(0.0)
    assert stage.sink.story == ["replace a", "modified a", "added b"]
    assert stage.sink.versions == ["30", "32"]


async def test_b03_only_the_marked_bookmark_ends_the_initial_events() -> None:
    steps: list[StreamStep] = [added(pod("a", "10")), bookmark("28"), 1.0, bookmark("29"), 1.0, END, HOLD]
    stage = Stage(watches=[steps], watch_list=True)
    async with stage.running(1.0):
        assert stage.sink.story == []
        await stage.clock.advance(1.0)
        assert stage.sink.story == ["replace a"]
        assert stage.sink.versions == ["30"]
    assert len(stage.source.requests) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        InvalidError(422, "Invalid"),
        BadRequestError(400, "BadRequest"),
        MethodNotAllowedError(405, "MethodNotAllowed"),
        ApiError(415, "UnsupportedMediaType"),
    ],
    ids=lambda error: str(error.code),
)
async def test_b04_a_refused_watch_list_falls_back_silently_and_for_one_cycle(refusal: ApiError) -> None:
    stage = Stage(
        lists=[EMPTY],
        watches=[refusal, [2.0, error_event(GONE)], [END, HOLD]],
        watch_list=True,
    )
    async with stage.running(1.9):
        assert stage.hooks.failures == []
        await stage.clock.advance(10.0)
    assert stage.asked == ["STREAM", "LIST 0", "WATCH 100", "STREAM 100"]
    assert [request.at for request in stage.source.requests] == [0.0, 0.0, 0.0, pytest.approx(3.2)]
    assert stage.source.lists[0].limit == 500


async def test_b05_a_watch_list_that_ends_before_its_bookmark_leaves_no_trace() -> None:
    first: list[StreamStep] = [added(pod("a", "10")), added(pod("b", "11")), 3.0]
    second: list[StreamStep] = [added(pod("a", "10")), bookmark("40", ends_initial_events=True), HOLD]
    stage = Stage(watches=[first, second], watch_list=True)
    requests = await stage.play(10.0)
    assert stage.asked == ["STREAM", "STREAM"]
    assert gaps(requests) == [pytest.approx(4.2)]
    assert stage.sink.story == ["replace a"]


async def test_b05_a_watch_list_that_ends_at_once_and_empty_falls_back_in_the_same_cycle() -> None:
    stage = Stage(lists=[EMPTY], watches=[[0.9], [HOLD]], watch_list=True)
    requests = await stage.play(1.0)
    assert stage.asked == ["STREAM", "LIST 0", "WATCH 100"]
    assert gaps(requests) == [0.9, 0.0]


async def test_b06_a_410_in_the_stream_lists_at_the_last_version_and_without_a_limit() -> None:
    stage = Stage(
        lists=[EMPTY, page(pod("a", "150"), version="160")],
        watches=[[added(pod("a", "150")), 2.0, error_event(GONE)], [HOLD]],
    )
    requests = await stage.play(10.0)
    assert stage.asked == ["LIST 0", "WATCH 100", "LIST 150", "WATCH 160"]
    assert requests[2].limit == 0
    assert requests[2].at == pytest.approx(3.2)


async def test_b06_a_410_to_a_list_asks_for_the_latest_at_once_and_in_pages() -> None:
    stage = Stage(
        lists=[EMPTY, GONE, page(version="200")],
        watches=[[added(pod("a", "150")), 2.0, error_event(GONE)], [HOLD]],
    )
    requests = await stage.play(10.0)
    assert stage.asked == ["LIST 0", "WATCH 100", "LIST 150", "LIST", "WATCH 200"]
    assert requests[3].at == requests[2].at
    assert requests[3].limit == 500
    assert [failure.state for failure in stage.hooks.failures] == ["Watching"]


async def test_b06_a_410_at_the_opening_of_a_watch_is_the_same_as_one_inside() -> None:
    stage = Stage(
        lists=[EMPTY, page(version="200")],
        watches=[[added(pod("a", "150")), 2.0], GONE, [HOLD]],
    )
    await stage.play(10.0)
    assert stage.asked == ["LIST 0", "WATCH 100", "WATCH 150", "LIST 150", "WATCH 200"]
    (failure,) = stage.hooks.failures
    assert (failure.error, failure.state, failure.next_state) == (GONE, "Watching", "Listing")
    assert failure.delay == pytest.approx(1.2)


async def test_b06_an_expired_watch_list_asks_for_the_latest_at_once() -> None:
    stage = Stage(
        watches=[[END, 2.0, error_event(GONE)], GONE, [bookmark("90", ends_initial_events=True), HOLD]],
        watch_list=True,
    )
    requests = await stage.play(10.0)
    assert stage.asked == ["STREAM", "STREAM 30", "STREAM"]
    assert requests[2].at == requests[1].at
    assert stage.reflector.version == "90"


async def test_b07_a_version_from_the_future_asks_for_the_latest_at_once() -> None:
    future = FutureVersionError(504, "Timeout", "Too large resource version")
    stage = Stage(lists=[EMPTY, future, page(version="50")], watches=[error_event_stream(GONE), [HOLD]])
    requests = await stage.play(10.0)
    assert stage.asked == ["LIST 0", "WATCH 100", "LIST 100", "LIST", "WATCH 50"]
    assert requests[3].at == requests[2].at


async def test_b07_a_plain_504_waits_and_asks_for_the_same_version_again() -> None:
    timeout = ServerError(504, "Timeout", "the request timed out")
    stage = Stage(lists=[EMPTY, timeout, page(version="150")], watches=[error_event_stream(GONE), [HOLD]])
    requests = await stage.play(10.0)
    assert stage.asked == ["LIST 0", "WATCH 100", "LIST 100", "LIST 100", "WATCH 150"]
    assert requests[3].at - requests[2].at == pytest.approx(2.4)


def error_event_stream(error: RequestError) -> list[WatchEvent | float]:
    return [2.0, error_event(error)]


@pytest.mark.parametrize("error", [THROTTLED, REFUSED], ids=["429", "refused"])
async def test_b08_a_busy_server_is_asked_for_the_watch_again_without_a_list(error: RequestError) -> None:
    stage = Stage(lists=[EMPTY], watches=[error, error, error, error, [HOLD]], random=Random(7))
    requests = await stage.play(60.0)
    assert stage.asked == ["LIST 0", *["WATCH 100"] * 5]
    for gap, base in zip(gaps(requests[1:]), [0.8, 1.6, 3.2, 6.4], strict=True):
        assert base <= gap < 2 * base


async def test_b08_a_429_inside_the_stream_is_the_same() -> None:
    stage = Stage(lists=[EMPTY], watches=[[2.0, error_event(THROTTLED)], [HOLD]])
    await stage.play(60.0)
    assert stage.asked == ["LIST 0", "WATCH 100", "WATCH 100"]


async def test_b08_retry_after_is_honoured() -> None:
    told = ThrottledError(429, "TooManyRequests", retry_after=17.0)
    stage = Stage(lists=[EMPTY], watches=[told, [HOLD]])
    requests = await stage.play(60.0)
    assert gaps(requests[1:]) == [17.0]
    assert stage.hooks.failures[0].delay == 17.0


async def test_b09_a_500_in_the_stream_lists_again_after_a_wait_and_is_seen() -> None:
    stage = Stage(
        lists=[EMPTY, page(version="160")],
        watches=[[added(pod("a", "150")), 2.0, error_event(BROKEN)], [HOLD]],
    )
    requests = await stage.play(10.0)
    assert stage.asked == ["LIST 0", "WATCH 100", "LIST 150", "WATCH 160"]
    assert requests[2].at == pytest.approx(3.2)
    assert [failure.error for failure in stage.hooks.failures] == [BROKEN]


@pytest.mark.parametrize(
    ("stream", "expected", "delay"),
    [
        ([0.2], "LIST 100", 1.4),
        ([0.2, added(pod("a", "151"))], "WATCH 151", 0.2),
        ([2.0], "WATCH 100", 2.0),
        ([0.2, error_event(DecodeError("a Secret among Pods"))], "LIST 100", 1.4),
    ],
    ids=["short and empty", "short with an event", "long and empty", "short with a foreign object"],
)
async def test_b10_a_watch_too_short_to_be_worth_it_is_told_from_one_that_closed(
    stream: list[WatchEvent | float], expected: str, delay: float
) -> None:
    stage = Stage(lists=[EMPTY, page(version="100")], watches=[stream, [HOLD]])
    requests = await stage.play(10.0)
    assert stage.asked[2] == expected
    assert requests[2].at - requests[1].at == pytest.approx(delay)


@pytest.mark.parametrize(
    ("version", "events", "resumed"),
    [
        ("0", [added(pod("x", "55")), added(pod("y", "32"))], "0"),
        ("", [added(pod("x", "55")), added(pod("y", "32"))], ""),
        ("0", [added(pod("x", "55")), modified(pod("x", "60")), added(pod("z", "58"))], "58"),
        ("10", [added(pod("x", "55")), added(pod("y", "32"))], "32"),
    ],
    ids=["opened at any", "opened at latest", "after a change", "opened at a version"],
)
async def test_b11_versions_are_withheld_until_they_are_earned(
    version: str, events: list[WatchEvent], resumed: str
) -> None:
    stage = Stage(lists=[page(version=version)], watches=[[*events, 2.0], [HOLD]])
    requests = await stage.play(3.0)
    assert requests[1].version == version
    assert requests[2].version == resumed
    assert stage.reflector.version == resumed
    assert stage.sink.versions[-1] == resumed


async def test_b12_bookmarks_move_the_version_and_versions_are_opaque() -> None:
    stage = Stage(
        lists=[EMPTY],
        watches=[[bookmark("200"), 2.0], [modified(pod("a", "abc")), 2.0], [added(pod("b", "")), HOLD]],
    )
    await stage.play(5.0)
    assert stage.asked == ["LIST 0", "WATCH 100", "WATCH 200", "WATCH abc"]
    assert stage.sink.story == ["replace ", "modified a", "added b"]
    assert stage.sink.versions == ["100", "200", "abc"]
    assert stage.reflector.state == Watching("abc", stage.reflector.state.terms)  # type: ignore[union-attr] # it watches


async def test_b13_what_cannot_be_read_is_quarantined_and_does_not_move_the_version() -> None:
    alien = error_event(DecodeError("a Secret among Pods", key="default/s"))
    stage = Stage(
        lists=[EMPTY], watches=[[[alien, added(pod("a", "105"))], 2.0], [added(pod("s", "120")), HOLD]]
    )
    async with stage.running(1.0):
        assert stage.true() == {"Synced", "Decoding"}
        assert "default/s" in stage.reflector.conditions["Decoding"].message
        await stage.clock.advance(2.0)
        assert stage.true() == {"Synced"}
    assert stage.asked == ["LIST 0", "WATCH 100", "WATCH 105"]
    assert stage.sink.story == ["replace ", "added a", "added s"]
    assert [event.key for event in stage.hooks.quarantined] == ["default/s"]


async def test_b13_a_list_that_cannot_be_read_changes_nothing_and_is_tried_again() -> None:
    stage = Stage(lists=[DecodeError("a Table"), EMPTY], watches=[[HOLD]])
    async with stage.running(1.0):
        assert stage.true() == {"Decoding"}
        assert stage.sink.story == []
        await stage.clock.advance(1.0)
        assert stage.true() == {"Synced"}
    assert stage.asked == ["LIST 0", "LIST 0", "WATCH 100"]


async def test_b13_objects_that_a_list_cannot_read_are_quarantined_and_the_rest_arrives() -> None:
    rejected = DecodeError("labels is null", key="default/b")
    stage = Stage(lists=[ObjectList((pod("a", "1"),), "100", rejected=(rejected,))], watches=[[HOLD]])
    async with stage.running():
        assert stage.true() == {"Synced", "Decoding"}
    assert stage.sink.story == ["replace a"]
    assert [event.error for event in stage.hooks.quarantined] == [rejected]


async def test_b13_objects_that_a_watch_list_cannot_read_are_quarantined_unless_they_mend() -> None:
    def bad(name: str) -> WatchEvent:
        return error_event(DecodeError("labels is null", key=f"default/{name}"))

    stage = Stage(watches=[[bad("a"), bad("b"), modified(pod("b", "7")), END, HOLD]], watch_list=True)
    await stage.play(0.0)
    assert stage.sink.story == ["replace b"]
    assert [event.key for event in stage.hooks.quarantined] == ["default/a"]


async def test_b14_later_pages_carry_the_token_and_nothing_else() -> None:
    stage = Stage(
        lists=[page(pod("a", "1"), version="100", token="t1"), page(pod("b", "2"), version="101")],
        watches=[[HOLD]],
    )
    requests = await stage.play(0.0)
    second = requests[1]
    assert (second.limit, second.continue_token, second.version, second.version_match) == (500, "t1", "", "")
    assert stage.sink.versions == ["100"]
    assert stage.sink.story == ["replace a,b"]
    assert requests[2].version == "100"


async def test_b14_a_server_that_paged_once_is_asked_for_pages_ever_after() -> None:
    stage = Stage(
        lists=[
            page(version="100", token="t1"),
            page(version="100"),
            page(pod("x", "1"), version="150", token="t2"),
            GONE,
            page(pod("a", "1"), version="160"),
        ],
        watches=[[bookmark("150"), 2.0, error_event(GONE)], [HOLD]],
    )
    requests = await stage.play(10.0)
    assert stage.asked == ["LIST 0", "LIST t1", "WATCH 100", "LIST 150", "LIST t2", "LIST 150", "WATCH 160"]
    assert [request.limit for request in requests[3:6]] == [500, 500, 0]
    assert requests[5].at == requests[4].at
    assert stage.sink.story == ["replace ", "replace a"]


async def test_b14_an_explicit_page_size_always_holds() -> None:
    stage = Stage(lists=[EMPTY, EMPTY], watches=[error_event_stream(GONE), [HOLD]], page_size=7)
    await stage.play(10.0)
    assert [request.limit for request in stage.source.lists] == [7, 7]


async def test_b14_a_continue_token_that_repeats_does_not_list_for_ever() -> None:
    stage = Stage(lists=[page(version="1", token="t"), page(version="1", token="t"), EMPTY], watches=[[HOLD]])
    await stage.play(2.0)
    assert stage.asked == ["LIST 0", "LIST t", "LIST 0", "WATCH 100"]


async def test_b15_the_backoff_stays_at_its_cap_for_as_long_as_the_outage_lasts() -> None:
    stage = Stage(lists=repeat(BROKEN))
    requests = await stage.play(400.0)
    assert gaps(requests) == pytest.approx([1.2, 2.4, 4.8, 9.6, 19.2, 38.4, *[45.0] * 7])


async def test_b15_waits_of_all_kinds_share_one_sequence() -> None:
    stage = Stage(lists=[EMPTY, BROKEN, EMPTY], watches=[THROTTLED, [2.0, error_event(BROKEN)], [HOLD]])
    await stage.play(60.0)
    assert [failure.delay for failure in stage.hooks.failures] == pytest.approx([1.2, 2.4, 4.8])


async def test_b15_two_healthy_minutes_are_forgiveness() -> None:
    stage = Stage(
        lists=repeat(EMPTY),
        watches=[BROKEN, BROKEN, [119.0, error_event(BROKEN)], [121.0, error_event(BROKEN)], [HOLD]],
    )
    await stage.play(400.0)
    assert [failure.delay for failure in stage.hooks.failures] == pytest.approx([1.2, 2.4, 4.8, 1.2])


async def test_b15_a_watch_list_is_not_healthy_before_its_snapshot() -> None:
    slow: list[StreamStep] = [added(pod("a", "1")), 130.0, error_event(BROKEN)]
    well: list[StreamStep] = [END, 60.0, bookmark("31"), 61.0, error_event(BROKEN)]
    stage = Stage(watches=[BROKEN, slow, well], watch_list=True)
    async with stage.running(100.0):
        assert stage.true() == {"Disconnected"}
        await stage.clock.advance(35.0)
        assert stage.true() == {"Synced"}
        await stage.clock.advance(200.0)
    assert [failure.delay for failure in stage.hooks.failures] == pytest.approx([1.2, 2.4, 1.2])


async def test_b15_a_watch_that_is_renewed_in_good_order_stays_healthy() -> None:
    stage = Stage(lists=repeat(EMPTY), watches=[BROKEN, [100.0], [100.0, error_event(BROKEN)], [HOLD]])
    await stage.play(400.0)
    assert [failure.delay for failure in stage.hooks.failures] == pytest.approx([1.2, 1.2])


async def test_b16_cancelling_during_a_list_ends_at_once_and_nothing_follows() -> None:
    stage = Stage(lists=[After(5.0, page(pod("a", "1"), pod("b", "2"), version="100"))])
    await stage.play(1.0)
    await stage.clock.advance(10.0)
    assert stage.asked == ["LIST 0"]
    assert stage.sink.story == []
    assert stage.hooks.failures == []


async def test_b16_cancelling_during_a_watch_list_ends_at_once_and_nothing_follows() -> None:
    stage = Stage(watches=[[added(pod("a", "1")), 5.0, END]], watch_list=True)
    await stage.play(1.0)
    await stage.clock.advance(10.0)
    assert stage.asked == ["STREAM"]
    assert stage.sink.story == []
    assert stage.hooks.failures == []


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
@pytest.mark.parametrize(
    ("error", "condition"),
    [
        (ForbiddenError(403, "Forbidden"), "Forbidden"),
        (UnauthorizedError(401, "Unauthorized"), "Forbidden"),
        (NotFoundError(404, "NotFound"), "KindMissing"),
        (THROTTLED, "Throttled"),
        (BROKEN, "Disconnected"),
        (REFUSED, "Disconnected"),
        (TransportError("timed out"), "Disconnected"),
        (RuntimeError("the credential plugin crashed"), "Disconnected"),
    ],
    ids=["403", "401", "404", "429", "500", "refused", "timeout", "foreign"],
)
async def test_whatever_fails_is_tried_for_ever_and_recovers_by_itself(
    watch_list: bool, error: Exception, condition: str
) -> None:
    alive: list[StreamStep] = [60.0, bookmark("30")] * 5
    errors = [error] * 20
    stage = Stage(
        lists=[*errors, page(pod("a", "1"), version="30")],
        watches=[*errors, [END, *alive], *[alive] * 5] if watch_list else [alive] * 6,
        watch_list=watch_list,
    )
    async with stage.running(300.0):
        assert stage.true() == {condition}
        assert stage.sink.story == []
        since = stage.reflector.conditions[condition].since
        assert since == 0.0
        await stage.clock.advance(1500.0)
        assert stage.true() == {"Synced"}
        assert stage.reflector.conditions[condition].since > 300.0
    assert stage.reflector.version == "30"


@pytest.mark.parametrize(
    "error", [ForbiddenError(403), UnauthorizedError(401), BROKEN], ids=["403", "401", "500"]
)
async def test_a_watch_list_that_would_fail_as_a_list_too_does_not_fall_back_within_a_cycle(
    error: ApiError,
) -> None:
    stage = Stage(lists=[EMPTY], watches=[error, error, [END, HOLD]], watch_list=True)
    requests = await stage.play(10.0)
    assert stage.asked == ["STREAM", "STREAM", "STREAM"]
    assert gaps(requests) == pytest.approx([1.2, 2.4])


async def test_a_server_whose_watch_lists_always_break_is_listed_now_and_then() -> None:
    cut: list[StreamStep] = [added(pod("a", "1")), 2.0, TransportError("reset")]
    stage = Stage(lists=[EMPTY], watches=[cut, cut, cut, [HOLD]], watch_list=True)
    await stage.play(60.0)
    assert stage.asked == ["STREAM", "STREAM", "STREAM", "LIST 0", "WATCH 100"]
    assert stage.true() == {"Synced"}


async def test_a_permission_to_list_but_not_to_watch_says_so_all_the_time() -> None:
    stage = Stage(
        lists=repeat(EMPTY), watches=repeat(ForbiddenError(403, "Forbidden", "watch is not for you"))
    )
    async with stage.running(1.0):
        for _ in range(100):
            await stage.clock.advance(3.0)
            assert stage.true() == {"Synced", "Forbidden"}
    assert stage.reflector.conditions["Forbidden"].since == 0.0


async def test_a_broken_connection_resumes_the_watch_without_a_list() -> None:
    stage = Stage(lists=[EMPTY], watches=[[added(pod("a", "101")), 20.0, TransportError("reset")], [HOLD]])
    async with stage.running(20.5):
        assert stage.true() == {"Synced", "Disconnected"}
        await stage.clock.advance(1.0)
        assert stage.true() == {"Synced"}
    assert stage.asked == ["LIST 0", "WATCH 100", "WATCH 101"]


async def test_events_before_an_error_in_the_same_batch_count_and_those_after_it_do_not() -> None:
    batch = [added(pod("a", "101")), error_event(BROKEN), added(pod("b", "102"))]
    stage = Stage(lists=[EMPTY], watches=[[batch, HOLD]])
    await stage.play(1.0)
    assert stage.sink.story == ["replace ", "added a"]
    assert stage.reflector.version == "101"


@pytest.mark.parametrize("chance", range(6))
@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
@pytest.mark.parametrize(
    ("lists", "watches"),
    [
        (REFUSED, REFUSED),
        (BROKEN, BROKEN),
        (THROTTLED, THROTTLED),
        (After(30.0, TransportError("timed out")), After(30.0, TransportError("timed out"))),
        (BROKEN, InvalidError(422)),
    ],
    ids=["refused", "500", "429", "timeout", "no watch-list and 500"],
)
async def test_an_outage_of_half_an_hour_takes_few_requests(
    lists: ListAnswer, watches: WatchAnswer, watch_list: bool, chance: int
) -> None:
    stage = Stage(lists=repeat(lists), watches=repeat(watches), watch_list=watch_list, random=Random(chance))
    requests = await stage.play(1800.0)
    attempts = {round(request.at, 3) for request in requests}
    assert 15 <= len(attempts) <= 50
    assert busiest_minute(requests) <= 12


@pytest.mark.parametrize(
    "stream",
    [[], [added(pod("a", "101"))], [error_event(BROKEN)], [error_event(GONE)], [TransportError("reset")]],
    ids=["closes at once", "closes after one event", "500", "410", "reset"],
)
@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
async def test_no_server_however_sick_is_asked_more_than_twelve_times_a_minute(
    stream: Sequence[WatchEvent | Exception], watch_list: bool
) -> None:
    first: list[StreamStep] = [END, *stream]
    stage = Stage(
        lists=repeat(EMPTY),
        watches=repeat(first if watch_list else stream),
        watch_list=watch_list,
        random=Random(3),
    )
    requests = await stage.play(1800.0)
    assert busiest_minute(requests) <= 12
    assert len(requests) > 20


def busiest_minute(requests: Sequence[ScriptedRequest]) -> int:
    moments = [request.at for request in requests]
    return max(sum(start <= at <= start + 60.0 - 1e-6 for at in moments) for start in moments)
