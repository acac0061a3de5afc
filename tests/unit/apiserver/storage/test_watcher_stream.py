"""One stream: ids, cancelling, and how far it has come."""

import pytest

from kinformer.apiserver.storage import NO_WATCH, KeyRange, WatchRequest, WatchResponse
from tests.unit.apiserver.storage.stage import told
from tests.unit.apiserver.storage.test_watchers import Stage

ALL = KeyRange.prefix("")


def test_ids_that_were_given_by_hand_are_passed_over() -> None:
    stage = Stage()
    for watch_id in (1, 1, 0, 0):
        stage.stream.create(WatchRequest(ALL, watch_id=watch_id))
    assert [response.watch_id for response in stage.rest()] == [1, NO_WATCH, 0, 2]


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (WatchRequest(KeyRange("a", "a")), "mvcc: watcher range is empty"),
        (WatchRequest(ALL, -1), "etcdserver: mvcc: required revision has been compacted"),
    ],
    ids=["an empty range", "a negative revision"],
)
def test_a_request_that_makes_no_sense_is_refused(request_: WatchRequest, reason: str) -> None:
    stage = Stage()
    stage.stream.create(request_)
    assert stage.rest() == [WatchResponse(NO_WATCH, 1, created=True, canceled=True, cancel_reason=reason)]
    assert len(stage.stream) == 0


def test_what_was_queued_of_a_cancelled_watch_is_dropped_even_when_its_id_is_used_again() -> None:
    stage = Stage()
    stage.stream.create(WatchRequest(ALL, watch_id=1))
    stage.write("a")
    stage.stream.cancel(1)
    stage.stream.cancel(1)
    stage.stream.create(WatchRequest(ALL, watch_id=1))
    stage.write("b")
    found = stage.rest()
    assert [(response.created, response.canceled, told(response)) for response in found] == [
        (True, False, []),
        (False, True, []),
        (True, False, []),
        (False, False, [(3, "b")]),
    ]


@pytest.mark.parametrize(
    ("start", "before", "after"),
    [
        pytest.param(0, [2], [2], id="from now on"),
        pytest.param(1, [], [2], id="from the past: when it has caught up"),
        pytest.param(2, [], [2], id="from the present alike"),
        pytest.param(3, [], [], id="from the future: never"),
    ],
)
def test_progress_is_told_once_all_are_in_step(start: int, before: list[int], after: list[int]) -> None:
    stage = Stage(is_eager=False)
    stage.write("a")
    stage.stream.create(WatchRequest(KeyRange.key("b"), start))
    assert stage.take().created
    for expected in (before, after):
        stage.stream.request_progress()
        assert [(response.watch_id, response.revision) for response in stage.rest()] == [
            (NO_WATCH, at) for at in expected
        ]
        stage.watchers.catch_up()


def test_one_watch_that_is_behind_holds_up_the_progress_of_all() -> None:
    stage = Stage(is_eager=False)
    stage.write("a")
    stage.stream.create(WatchRequest(ALL))
    stage.stream.create(WatchRequest(ALL, 2))
    stage.stream.request_progress()
    assert [response.is_progress for response in stage.rest()] == [False, False]
    stage.watchers.catch_up()
    stage.stream.request_progress()
    assert [response.is_progress for response in stage.rest()] == [False, True]


def test_a_compacted_watch_holds_up_progress_until_it_is_cancelled() -> None:
    stage = Stage()
    stage.write(*"aaa")
    stage.core.compact(4)
    stage.stream.create(WatchRequest(ALL))
    stage.stream.create(WatchRequest(ALL, 2))
    stage.stream.request_progress()
    assert stage.rest()[-1].compact_revision == 4
    stage.stream.cancel(1)
    stage.stream.request_progress()
    assert [response.is_progress for response in stage.rest()] == [False, True]


def test_progress_goes_behind_the_events_and_is_dropped_where_there_is_no_room() -> None:
    stage = Stage(capacity=2)
    stage.stream.create(WatchRequest(ALL))
    stage.write("a")
    stage.stream.request_progress()
    stage.stream.request_progress()
    assert [response.is_progress for response in stage.rest()] == [False, False, True]


def test_a_stream_without_watches_tells_no_progress() -> None:
    stage = Stage()
    stage.stream.request_progress()
    assert stage.rest() == []


def test_a_quiet_watch_that_asked_for_it_is_told_how_far_it_has_come() -> None:
    stage = Stage()
    stage.write("a")
    for start, notify in ((0, True), (0, False), (9, True)):
        stage.stream.create(WatchRequest(ALL, start, progress_notify=notify))
    stage.rest()
    stage.stream.report_progress()
    assert stage.rest() == [WatchResponse(0, 2)]
    stage.write("a")
    stage.rest()
    stage.stream.report_progress()
    assert stage.rest() == []
    stage.stream.report_progress()
    assert stage.rest() == [WatchResponse(0, 3)]


def test_large_responses_are_cut_for_those_who_agree() -> None:
    stage = Stage()
    for key in "abc":
        stage.core.put(key, b"x" * 800)
    for fragment in (True, False):
        stage.stream.create(WatchRequest(ALL, fragment=fragment))
    stage.rest()
    stage.watchers.notify(stage.core.commit())
    assert [(response.watch_id, len(response.events), response.fragment) for response in stage.rest()] == [
        (0, 1, True),
        (0, 1, True),
        (0, 1, False),
        (1, 3, False),
    ]


def test_two_watches_can_tell_the_same_change_with_and_without_what_was_before() -> None:
    stage = Stage()
    stage.write("a")
    for prev_kv in (True, False):
        stage.stream.create(WatchRequest(ALL, prev_kv=prev_kv))
    stage.rest()
    stage.write("a")
    assert [response.events[0].previous is None for response in stage.rest()] == [False, True]
