"""The ring of events. A number in a name is that of the behaviour in the reference's list."""

import pytest

from kinformer.apiserver.cacher import Attributes, CacheEvent, Element, EvictedError, History, upper_bound
from kinformer.apiserver.storage import CompactedError, KeyValue

WINDOW = 75.0


def event(revision: int, time: float = 0.0) -> CacheEvent:
    element = Element(KeyValue("/a", b"", revision, revision, 1), lambda _: Attributes({}, {}))
    return CacheEvent("ADDED", revision, "/a", element, None, time)


def filled(history: History, count: int, *, time: float = 0.0) -> History:
    """Append so many events, each with the revision after the last."""
    last = history.listed + history.end
    for revision in range(last + 1, last + count + 1):
        history.append(event(revision, time))
    return history


def revisions(history: History, behind: int) -> list[int]:
    return [each.revision for each in history.since(behind).take(10**6)]


def test_a_new_history_gives_what_comes_behind_its_list() -> None:
    history = History()
    history.relist(10)
    assert (history.oldest, len(history)) == (11, 0)
    history.append(event(13))
    assert revisions(history, 10) == [13]
    assert revisions(history, 13) == []
    assert revisions(history, 99) == []  # one of the future has none yet
    with pytest.raises(CompactedError) as caught:
        history.since(9)
    assert caught.value.compacted - 1 == 10


def test_what_fell_out_is_too_old_and_what_is_left_is_not() -> None:
    history = History(lowest=5, highest=5)
    filled(history, 7)
    assert (history.oldest, history.start, history.end) == (3, 2, 7)
    assert revisions(history, 2) == [3, 4, 5, 6, 7]
    with pytest.raises(CompactedError):
        history.since(1)


def test_half_a_revision_is_not_replayed() -> None:
    """Events of one transaction share a revision; those who fall out take it with them."""
    history = History(lowest=2, highest=2)
    for revision in (1, 2, 2):
        history.append(event(revision))
    assert history.oldest == 2
    history.append(event(3))
    assert history.oldest == 3
    with pytest.raises(CompactedError):
        history.since(1)


def test_behaviour_25_a_full_ring_doubles_while_its_oldest_event_is_fresh() -> None:
    history = filled(History(), 100)
    filled(history, 1, time=WINDOW - 1)
    assert (history.capacity, len(history), history.grown) == (200, 101, 1)
    assert revisions(history, 0)[0] == 1


@pytest.mark.parametrize(
    ("age", "capacity"),
    [pytest.param(WINDOW, 200, id="not yet stale"), pytest.param(WINDOW + 1, 100, id="stale")],
)
def test_behaviour_25_a_full_ring_halves_when_its_newest_quarter_is_stale(age: float, capacity: int) -> None:
    history = filled(History(), 150)
    filled(history, 50, time=10.0)
    assert (history.capacity, history.is_full) == (200, True)
    filled(history, 1, time=10.0 + age)
    assert (history.capacity, len(history)) == (capacity, capacity)
    assert history.shrunk == (capacity == 100)
    assert history.oldest == 201 - capacity + 1


def test_behaviour_25_it_neither_falls_below_the_lowest_nor_passes_the_highest() -> None:
    history = filled(History(), 100)
    filled(history, 1, time=2 * WINDOW)
    assert history.capacity == 100
    history = filled(History(lowest=100, highest=150), 1000)
    assert (history.capacity, len(history)) == (150, 150)


def test_behaviour_25_what_was_lost_before_it_grew_stays_lost() -> None:
    history = filled(History(), 100)
    filled(history, 1, time=WINDOW + 1)  # too late to grow, too early to shrink below the lowest
    filled(history, 99, time=WINDOW + 2)
    filled(history, 1, time=WINDOW + 3)
    assert history.capacity == 200
    with pytest.raises(CompactedError):
        history.since(0)


def test_a_replay_is_given_in_batches_and_ends_where_it_began_to_end() -> None:
    history = filled(History(lowest=300), 250)
    replay = history.since(0)
    filled(history, 5)
    assert [len(replay.take()) for _ in range(4)] == [100, 100, 50, 0]
    assert len(replay) == 0


def test_a_replay_goes_on_until_it_needs_what_is_gone() -> None:
    history = filled(History(lowest=250, highest=250), 250)
    replay = history.since(0)
    assert [each.revision for each in replay.take()] == list(range(1, 101))
    filled(history, 100)
    assert replay.take(1)[0].revision == 101
    filled(history, 2)
    with pytest.raises(EvictedError, match="event 101 is gone, the oldest is 102"):
        replay.take()


def test_no_replay_goes_on_across_a_list() -> None:
    history = filled(History(), 50)
    replay, taken = history.since(0), history.since(50)
    history.relist(70)
    assert taken.take() == ()
    with pytest.raises(EvictedError):
        replay.take()
    assert history.end == 50
    assert history.oldest == 71


def test_backwards_comes_the_latest_first() -> None:
    history = filled(History(), 5)
    assert [each.revision for each in history.backwards(2)] == [5, 4, 3]


@pytest.mark.parametrize(
    ("window", "most"),
    [(75.0, 102_400), (75.1, 204_800), (150.0, 204_800), (151.0, 409_600), (1e12, 102_400 << 14)],
)
def test_the_bound_grows_with_the_window_by_powers_of_two(window: float, most: int) -> None:
    assert upper_bound(window) == most


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"window": 60.0}, "window 60.0 must be at least 75.0"),
        ({"lowest": 0}, "lowest 0 must be at least 1"),
        ({"lowest": 10, "highest": 5}, "lowest 10 must be .* at most highest 5"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(options: dict[str, float], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        History(**options)  # type: ignore[arg-type]
