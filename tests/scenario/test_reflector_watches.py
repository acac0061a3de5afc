"""B10 to B16: which version is resumed from, what is quarantined, how long it waits, what cancelling leaves.

The B numbers are those of the behaviours that ports of client-go most often get wrong.
"""

from itertools import repeat

import pytest

from kinformer.errors import (
    DecodeError,
)
from kinformer.meta import ObjectList, WatchEvent
from kinformer.reflector import Watching
from kinformer.testing import (
    HOLD,
    After,
    StreamStep,
    added,
    bookmark,
    error_event,
    modified,
)
from tests.scenario.reflector_stage import (
    BROKEN,
    EMPTY,
    END,
    GONE,
    THROTTLED,
    Stage,
    error_event_stream,
    gaps,
    page,
    pod,
)


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
    slow: list[StreamStep] = [added(pod("a", "1")), 65.0, added(pod("b", "2")), 65.0, error_event(BROKEN)]
    well: list[StreamStep] = [END, 60.0, bookmark("31"), 61.0, error_event(BROKEN)]
    stage = Stage(watches=[BROKEN, slow, well], watch_list=True)
    async with stage.running(100.0):
        assert stage.true() == {"Disconnected"}
        await stage.clock.advance(35.0)
        assert stage.true() == {"Synced"}
        await stage.clock.advance(130.0)
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
