"""What one watch is told: ``cache_watcher_test.go`` upstream."""

from collections.abc import Sequence
from typing import Any

import pytest

from kinformer.apiserver.cacher import CacheEvent
from kinformer.apiserver.cacher._encoded import Bookmark
from kinformer.apiserver.cacher._history import EvictedError, History
from kinformer.apiserver.cacher._replay import InitialState
from kinformer.apiserver.cacher._watcher import BookmarkState, CacheWatcher, queue_size
from tests.unit.apiserver.cacher.watching import change, element, encoded, is_on, told


def watcher(objects: int = 0, start: int = 10, **options: Any) -> CacheWatcher:
    """A watch that begins with some objects."""
    state = [element(number % 9 + 1, key=f"default/{number:04}") for number in range(objects)]
    return CacheWatcher(InitialState(state, 0.0), start, **{"size": 10, **options})


def begun(**options: Any) -> CacheWatcher:
    """A watch that has replayed all it had to."""
    found = watcher(**options)
    found.take()
    return found


@pytest.mark.parametrize(
    ("capacity", "has_index", "uses_index", "size"),
    [
        pytest.param(100, False, False, 10, id="at least 10"),
        pytest.param(800, False, False, 11, id="a second's worth, rounded up"),
        pytest.param(102_400, False, False, 100, id="at most 100"),
        pytest.param(102_400, True, False, 1000, id="at most 1000 where others use an index"),
        pytest.param(7_500, True, False, 100, id="a second's worth beside an index"),
        pytest.param(102_400, True, True, 10, id="10 with an index"),
    ],
)
def test_a_queue_holds_what_comes_in_a_second(
    capacity: int, has_index: bool, uses_index: bool, size: int
) -> None:
    assert queue_size(capacity, has_index=has_index, uses_index=uses_index) == size


def test_the_state_comes_first_and_then_what_was_queued_meanwhile() -> None:
    one = watcher(objects=2)
    assert one.offer(encoded(11))
    assert told(one.take()) == [("ADDED", 1), ("ADDED", 2), ("ADDED", 11)]
    assert one.take() == []


def test_a_long_state_comes_in_pieces() -> None:
    one = watcher(objects=1000, bookmarks=True, ends_with_bookmark=True)
    assert [(len(one.take()), one.is_replaying) for _ in range(3)] == [(500, True), (500, True), (1, False)]


def test_history_is_replayed_and_only_what_is_selected() -> None:
    history = History()
    history.relist(1)
    for revision, (label, before) in enumerate([("no", None), ("yes", "no"), ("no", "yes")], 2):
        history.append(change(revision, label, before))
    one = CacheWatcher(history.since(1), 4, size=10, matches=is_on)
    assert told(one.take()) == [("ADDED", 3), ("DELETED", 4)]
    assert not one.offer(encoded(4, "yes"))  # it is part of what was replayed


def test_behaviour_21_nothing_up_to_the_start_is_told() -> None:
    one = begun(start=10)
    assert not one.offer(encoded(10))
    assert one.offer(encoded(11))
    assert told(one.take()) == [("ADDED", 11)]


def test_behaviour_20_a_selection_is_entered_and_left() -> None:
    one = begun(matches=is_on)
    for revision, label, before in (
        (11, "no", None),
        (12, "yes", "no"),
        (13, "yes", "yes"),
        (14, "no", "yes"),
        (15, None, "no"),
        (16, "yes", None),
        (17, None, "yes"),
    ):
        one.offer(encoded(revision, label, before))
    items = one.take()
    assert told(items) == [("ADDED", 12), ("MODIFIED", 13), ("DELETED", 14), ("ADDED", 16), ("DELETED", 17)]
    left = items[2]
    assert not isinstance(left, Bookmark)
    assert (left.element.labels["on"], left.version) == ("yes", 14)


def test_behaviour_24_ten_deep_queues_take_21_events_and_no_more() -> None:
    one = begun()
    for revision in range(11, 32):
        assert one.offer(encoded(revision))
    assert one.room == 0
    assert one.offer(encoded(32))
    assert one.room == -1
    one.end()
    assert one.is_closed
    assert not one.offer(encoded(33))
    assert told(one.take()) == [("ADDED", revision) for revision in range(11, 22)]
    assert one.is_over


def test_what_a_watch_does_not_show_takes_no_room() -> None:
    one = begun(matches=is_on)
    for revision in range(11, 100):
        assert not one.offer(encoded(revision, "no"))
    assert one.room == 21


def test_behaviour_22_one_bookmark_ends_the_initial_events() -> None:
    one = watcher(objects=2, bookmarks=True, ends_with_bookmark=True)
    one.offer(encoded(11))
    assert told(one.take()) == [("ADDED", 1), ("ADDED", 2), ("END", 10), ("ADDED", 11)]
    assert one.state is BookmarkState.SENT
    assert one.offer_bookmark(Bookmark(12))
    assert told(one.take()) == [("BOOKMARK", 12)]


@pytest.mark.parametrize(("bookmarks", "ends"), [(False, True), (True, False)])
def test_no_bookmark_ends_them_for_whoever_wants_none(bookmarks: bool, ends: bool) -> None:
    one = watcher(objects=1, bookmarks=bookmarks, ends_with_bookmark=ends)
    assert told(one.take()) == [("ADDED", 1)]
    assert one.state is BookmarkState.SENT


def test_no_bookmark_comes_unasked() -> None:
    one = begun(bookmarks=False)
    assert not one.offer_bookmark(Bookmark(20))


@pytest.mark.parametrize(("version", "state"), [(9, BookmarkState.WAITING), (12, BookmarkState.RECEIVED)])
def test_a_bookmark_that_is_too_old_to_end_the_initial_events_is_refused(
    version: int, state: BookmarkState
) -> None:
    one = watcher(objects=1, bookmarks=True, ends_with_bookmark=True)
    assert one.offer_bookmark(Bookmark(version)) == (version == 12)
    assert one.state is state


def test_behaviour_23_a_bookmark_says_again_what_is_known_only_where_it_may() -> None:
    again, never = begun(bookmarks=True), begun(bookmarks=True, repeats=False)
    assert again.offer_bookmark(Bookmark(10))
    assert not never.offer_bookmark(Bookmark(10))
    assert never.offer_bookmark(Bookmark(11))


def test_a_watch_of_the_future_hears_that_the_server_is_not_as_far() -> None:
    again, never = begun(bookmarks=True), begun(bookmarks=True, repeats=False)
    assert again.offer_bookmark(Bookmark(9))
    assert not never.offer_bookmark(Bookmark(9))
    owing = watcher(bookmarks=True, ends_with_bookmark=True)
    assert not owing.offer_bookmark(Bookmark(9))


def test_a_bookmark_does_not_press_into_a_full_queue() -> None:
    one = begun(size=1, bookmarks=True)
    for revision in (11, 12, 13):
        one.offer(encoded(revision))
    assert not one.offer_bookmark(Bookmark(13))


def test_behaviour_24_a_slow_watch_that_has_its_bookmark_in_the_queue_is_drained() -> None:
    one = watcher(objects=700, size=1, bookmarks=True, ends_with_bookmark=True)
    one.take()
    assert one.offer_bookmark(Bookmark(10))
    for revision in (11, 12, 13):
        one.offer(encoded(revision))
    one.end()
    assert not one.is_over
    assert told(one.take())[-4:] == [("END", 10), ("BOOKMARK", 10), ("ADDED", 11), ("ADDED", 12)]
    assert one.is_over


def test_a_slow_watch_that_was_sent_its_bookmark_or_did_not_get_it_is_not_drained() -> None:
    waiting, sent = (watcher(objects=700, size=1, bookmarks=True, ends_with_bookmark=True) for _ in range(2))
    for _ in range(2):
        sent.take()
    for each in (waiting, sent):
        for revision in (11, 12, 13, 14):
            each.offer(encoded(revision))
        each.end()
    assert (told(waiting.take()), waiting.is_over) == ([("ADDED", 1), ("ADDED", 2)], True)
    assert (told(sent.take()), sent.is_over) == ([("ADDED", 11), ("ADDED", 12)], True)


def test_a_watch_that_is_drained_can_still_be_stopped() -> None:
    one = watcher(objects=700, size=1, bookmarks=True, ends_with_bookmark=True)
    one.offer_bookmark(Bookmark(10))
    one.end()
    one.stop()
    assert (told(one.take()), one.is_over) == ([("ADDED", 1), ("ADDED", 2)], True)


def test_a_watch_that_is_stopped_before_it_was_read_shows_what_was_on_its_way() -> None:
    one = watcher(objects=2, size=3, bookmarks=True, ends_with_bookmark=True)
    for revision in (11, 12):
        one.offer(encoded(revision))
    one.stop()
    assert told(one.take()) == [("ADDED", 1), ("ADDED", 2), ("END", 10), ("ADDED", 11)]


def test_behaviour_21_a_watch_whose_history_was_forgotten_under_it_ends_without_a_word() -> None:
    history = History(lowest=1000, highest=1000)
    history.relist(1)
    for revision in range(2, 1002):
        history.append(change(revision))
    one = CacheWatcher(history.since(1), 1, size=10)
    assert len(one.take()) == 500
    one.offer(encoded(1002))
    for revision in range(1002, 1503):
        history.append(change(revision))
    assert one.take() == []
    assert one.is_over


class Broken:
    """A replay that is gone."""

    def take(self, most: int) -> Sequence[CacheEvent]:
        raise EvictedError("gone")


def test_whoever_waits_is_woken_by_what_is_queued_and_by_the_end() -> None:
    one, woken = begun(bookmarks=True), []
    one.wake = lambda: woken.append(one.room)
    one.offer(encoded(11))
    one.offer_bookmark(Bookmark(11))
    one.stop()
    assert woken == [20, 19, 19]


def test_a_replay_that_is_gone_at_once_is_an_empty_watch() -> None:
    one = CacheWatcher(Broken(), 1, size=10, bookmarks=True, ends_with_bookmark=True)
    assert (one.take(), one.is_over) == ([], True)
