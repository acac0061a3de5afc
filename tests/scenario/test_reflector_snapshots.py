"""B01 to B09: what a reflector asks for, and what it does when it is refused.

The B numbers are those of the behaviours that ports of client-go most often get wrong.
"""

from random import Random

import pytest

from kinformer.errors import (
    ApiError,
    BadRequestError,
    FutureVersionError,
    InvalidError,
    MethodNotAllowedError,
    RequestError,
    ServerError,
    ThrottledError,
)
from kinformer.testing import (
    HOLD,
    ScriptedRequest,
    StreamStep,
    added,
    bookmark,
    deleted,
    error_event,
    modified,
)
from tests.scenario.reflector_stage import (
    BROKEN,
    EMPTY,
    END,
    GONE,
    REFUSED,
    THROTTLED,
    Stage,
    error_event_stream,
    gaps,
    page,
    pod,
)


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
