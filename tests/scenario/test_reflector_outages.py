"""Whatever fails, and for however long: it recovers by itself, and asks for little meanwhile."""

from itertools import repeat
from random import Random

import pytest

from kinformer.errors import (
    ApiError,
    ForbiddenError,
    FutureVersionError,
    InvalidError,
    NotFoundError,
    TransportError,
    UnauthorizedError,
)
from kinformer.testing import (
    HOLD,
    After,
    ListAnswer,
    StreamStep,
    WatchAnswer,
    added,
    bookmark,
    error_event,
)
from tests.scenario.reflector_stage import (
    BROKEN,
    EMPTY,
    END,
    GONE,
    REFUSED,
    THROTTLED,
    Stage,
    busiest_minute,
    gaps,
    page,
    pod,
)


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
    errors = [error] * 40
    stage = Stage(
        lists=[*errors, page(pod("a", "1"), version="30")],
        watches=[*errors, [END, *alive], *[alive] * 12] if watch_list else [alive] * 13,
        watch_list=watch_list,
    )
    async with stage.running(300.0):
        assert stage.true() == {condition}
        assert stage.sink.story == []
        since = stage.reflector.conditions[condition].since
        assert since == 0.0
        await stage.clock.advance(2400.0)
        assert stage.true() == {"Synced"}
        assert stage.reflector.conditions[condition].since > 300.0
    assert stage.reflector.version == "30"


FUTURE = FutureVersionError(504, "Timeout", "Too large resource version")
OLDER: list[StreamStep] = [60.0, bookmark("7"), HOLD]


async def test_a_server_that_came_back_with_an_older_history_is_found_out_by_its_bookmark() -> None:
    lists: list[ListAnswer] = [page(pod("a", "90"), version="100"), FUTURE, page(pod("b", "5"), version="7")]
    stage = Stage(lists=lists, watches=[[REFUSED], OLDER, [HOLD]], watch_list=False)
    await stage.play(120.0)
    assert [request.version for request in stage.source.lists] == ["0", "100", ""]
    assert (stage.sink.content, stage.reflector.version) == ({"b": "5"}, "7")


async def test_an_older_history_is_found_out_between_watch_lists_too() -> None:
    first: list[StreamStep] = [added(pod("a", "90")), bookmark("100", ends_initial_events=True), REFUSED]
    second: list[StreamStep] = [added(pod("b", "5")), bookmark("7", ends_initial_events=True), HOLD]
    stage = Stage(watches=[first, OLDER, FUTURE, second], watch_list=True)
    await stage.play(120.0)
    assert [request.version for request in stage.source.watches] == ["", "100", "100", ""]
    assert (stage.sink.content, stage.reflector.version) == ({"b": "5"}, "7")


async def test_a_kind_that_is_not_there_yet_is_asked_for_about_every_ten_seconds() -> None:
    missing = NotFoundError(404, "NotFound", "the server could not find the requested resource")
    stage = Stage(lists=repeat(missing), watches=[], watch_list=False)
    await stage.play(600.0)
    assert 55 <= len(stage.source.lists) <= 66
    assert max(gaps(stage.source.lists)) <= 10.0


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


@pytest.mark.parametrize("watch_list", [True, False], ids=["watch-list", "list"])
@pytest.mark.parametrize(
    ("expiry", "later"),
    [(GONE, 0.0), ([error_event(GONE)], 0.0), ([5.0, error_event(GONE)], 5.0)],
    ids=["at opening", "inside", "later"],
)
async def test_a_version_that_expired_during_an_outage_costs_no_second_wait(
    watch_list: bool, expiry: WatchAnswer, later: float
) -> None:
    again = bookmark("200", ends_initial_events=True)
    first: list[StreamStep] = [2.0, TransportError("reset")]
    watches: list[WatchAnswer] = [[END, *first] if watch_list else first, REFUSED, REFUSED, expiry]
    watches.append([again, HOLD] if watch_list else [HOLD])
    stage = Stage(lists=[EMPTY, page(version="200")], watches=watches, watch_list=watch_list)
    requests = await stage.play(60.0)
    waits = [failure.delay for failure in stage.hooks.failures]
    assert waits == pytest.approx([1.2, 2.4, 4.8, 0.0])
    assert stage.reflector.version == "200"
    assert requests[-1].at == pytest.approx(10.4 + later)


async def test_a_version_that_expires_again_and_again_is_waited_for_all_the_same() -> None:
    watches: list[WatchAnswer] = [[2.0, error_event(REFUSED)], *[GONE] * 5, [HOLD]]
    stage = Stage(lists=repeat(EMPTY), watches=watches)
    await stage.play(60.0)
    assert [failure.delay for failure in stage.hooks.failures] == pytest.approx(
        [1.2, 0.0, 2.4, 4.8, 9.6, 19.2]
    )


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
