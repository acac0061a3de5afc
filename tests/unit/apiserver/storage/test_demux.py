"""One watch made into many."""

import pytest

from kinformer.apiserver.storage import Change, Demux, InconsistentError, KeyRange, KeyValue, WatchResponse
from kinformer.apiserver.storage._demux import LocalWatcher

ALL = KeyRange.prefix("")


def put(revision: int, key: str = "a") -> Change:
    value = KeyValue(key, b"", revision, revision, 1)
    return Change(revision, key, value, value)


def made(*revisions: int, window: int = 10, strict: bool = False) -> Demux:
    """Begun at 1, with changes at some revisions."""
    demux = Demux(window, strict=strict)
    demux.begin(1)
    for revision in revisions:
        demux.broadcast([put(revision)])
    return demux


def watch(demux: Demux, revision: int = 0, *, capacity: int = 10, keys: KeyRange = ALL) -> LocalWatcher:
    return demux.register(keys, revision, capacity=capacity, wake=lambda: None)


def heard(watcher: LocalWatcher) -> list[list[int]]:
    """The revisions in each response; a negative one is progress."""
    found = []
    while (response := watcher.take()) is not None:
        events = [event.revision for event in response.events]
        found.append(events if events or response.canceled else [-response.revision])
    return found


def test_one_response_stays_one_however_many_revisions_it_has() -> None:
    demux = made()
    watcher = watch(demux)
    demux.broadcast([put(2), put(2, "b"), put(5)])
    assert heard(watcher) == [[2, 2, 5]]


def test_a_watcher_gets_its_keys_only_and_not_what_was_there_before() -> None:
    demux = made()
    watcher = watch(demux, keys=KeyRange.key("b"))
    demux.broadcast([put(2), put(3, "b")])
    response = watcher.take()
    assert response is not None
    assert [(event.key, event.previous) for event in response.events] == [("b", None)]


@pytest.mark.parametrize("strict", [False, True])
def test_a_late_watcher_replays_the_history_a_revision_at_a_time(strict: bool) -> None:
    demux = made(2, 3, 5, strict=strict)
    watcher = watch(demux, 3)
    assert (demux.active, demux.lagging) == ((0, 1) if strict else (1, 0))
    demux.resync()
    assert heard(watcher) == [[3], [5]]
    assert demux.active == 1


def test_a_watcher_from_now_on_or_from_the_future_gets_nothing_old() -> None:
    demux = made(2, 3)
    now, future = watch(demux), watch(demux, 6)
    demux.broadcast([put(4), put(6)])
    assert (heard(now), heard(future)) == ([[4, 6]], [[6]])


def test_a_slow_watcher_catches_up_when_there_is_room() -> None:
    demux = made()
    slow, fast = watch(demux, capacity=1), watch(demux)
    for revision in (2, 3, 4):
        demux.broadcast([put(revision)])
    assert demux.lagging == 1
    assert heard(fast) == [[2], [3], [4]]
    assert heard(slow) == [[2], [3], [4]]
    assert demux.lagging == 0


def test_strictly_a_gap_makes_a_watcher_wait_for_the_next_resync() -> None:
    demux = made(2, strict=True)
    watcher = watch(demux)
    demux.broadcast([put(3)])
    demux.broadcast([put(7)])
    assert heard(watcher) == [[3]]
    demux.resync()
    assert heard(watcher) == [[7]]


@pytest.mark.parametrize(("revisions", "oldest"), [((2, 3, 4), 3), ((2, 6, 9), 3), ((2, 3), 1)])
def test_the_window_moves_when_it_is_full(revisions: tuple[int, ...], oldest: int) -> None:
    assert made(*revisions, window=2).oldest == oldest


def test_whoever_lags_beyond_the_window_is_over_behind_what_it_has() -> None:
    demux = made(window=2)
    watcher = watch(demux, capacity=1)
    for revision in (2, 3, 4, 5):
        demux.broadcast([put(revision)])
    first, last = watcher.take(), watcher.take()
    assert first is not None
    assert [event.revision for event in first.events] == [2]
    assert last is not None
    assert (last.canceled, last.compact_revision, last.revision) == (True, 4, 5)
    assert watcher.is_over
    assert watcher.take() is None
    assert (demux.active, demux.lagging) == (0, 0)


def test_progress_goes_to_those_who_are_active_and_do_not_know_it_yet() -> None:
    demux = made(2)
    active, future, full = watch(demux), watch(demux, 9), watch(demux, capacity=1)
    demux.broadcast([put(3)])
    demux.progress(6)
    assert (heard(active), heard(future), heard(full)) == ([[3], [-6]], [], [[3]])
    demux.progress(6)
    assert heard(active) == []


def test_a_watcher_can_ask_how_far_it_has_come() -> None:
    demux = made()
    early = watch(demux)
    demux.tell_progress(early)
    assert heard(early) == [], "nothing is known yet"
    demux.broadcast([put(4)])
    assert heard(early) == [[4]]
    demux.tell_progress(early)
    assert heard(early) == [[-4]]


@pytest.mark.parametrize("strict", [False, True])
def test_progress_before_any_change_is_passed_on_unless_strict(strict: bool) -> None:
    demux = made(strict=strict)
    watcher = watch(demux)
    demux.progress(4)
    assert heard(watcher) == ([] if strict else [[-4]])


@pytest.mark.parametrize(
    "changes", [[put(3)], [put(2)], [put(4), put(3)]], ids=["twice", "older", "in part older"]
)
def test_changes_that_do_not_follow_are_refused_as_a_whole(changes: list[Change]) -> None:
    demux = made(2, 3)
    watcher = watch(demux)
    with pytest.raises(InconsistentError):
        demux.broadcast(changes)
    with pytest.raises(InconsistentError):
        demux.progress(2)
    assert (heard(watcher), demux.latest) == ([], 3)


def test_nothing_can_be_told_before_it_has_begun() -> None:
    with pytest.raises(InconsistentError):
        Demux(10, strict=False).broadcast([put(2)])
    demux = Demux(10, strict=False)
    demux.progress(5)
    assert demux.latest == 0


@pytest.mark.parametrize(
    ("revision", "survives"), [pytest.param(4, True, id="just behind"), (3, False), (5, False), (1, False)]
)
def test_watchers_survive_only_where_nothing_can_have_been_missed(revision: int, survives: bool) -> None:
    demux = made(2, 3)
    watcher = watch(demux, 2)
    assert heard(watcher) == [[2], [3]]
    demux.begin(revision)
    assert watcher.is_over is not survives
    assert demux.oldest == (1 if survives else revision)
    demux.broadcast([put(revision)])
    assert heard(watcher) == ([[revision]] if survives else [])


def test_beginning_again_before_anything_happened_ends_all() -> None:
    demux = made()
    watcher = watch(demux)
    demux.begin(1)
    assert watcher.is_over


def test_nothing_is_told_to_whoever_was_removed() -> None:
    demux = made()
    watcher = watch(demux)
    demux.remove(watcher)
    demux.broadcast([put(2)])
    assert watcher.take() is None


def test_whoever_is_told_is_woken() -> None:
    woken: list[WatchResponse | None] = []
    demux = made()
    demux.register(ALL, 0, capacity=1, wake=lambda: woken.append(None))
    demux.broadcast([put(2)])
    demux.broadcast([put(3)])
    assert len(woken) == 1
    demux.purge()
    assert len(woken) == 2
