"""What both kinds of queue have in common: barriers, what is in hand, versions, being synced."""

from collections.abc import Iterator

import pytest

from kinformer.meta import EventType, Record, WatchEvent
from kinformer.store import Change, DeltaQueue, Replacement, Resync, Store
from tests.unit.store.stage import QUEUES, delta, drain, event, key, record, take

ADDED, UPDATED, DELETED = Change


@pytest.fixture(params=QUEUES)
def queue(request: pytest.FixtureRequest) -> DeltaQueue:
    return QUEUES[request.param](Store())


def test_nothing_waits_at_first(queue: DeltaQueue) -> None:
    assert (len(queue), queue.high_water, queue.version, queue.has_synced) == (0, 0, "", False)
    with pytest.raises(LookupError, match="empty"):
        queue.pop()


def test_what_came_before_a_snapshot_is_taken_before_it_and_what_comes_after_it_waits(
    queue: DeltaQueue,
) -> None:
    queue.apply([event("ADDED", "a")], "1")
    queue.replace([record("a", "5"), record("b", "2")], "9", kept=[key("c")])
    queue.apply([event("MODIFIED", "a", "10")], "10")
    assert take(queue) == [delta(ADDED, "a")]
    snapshot = take(queue)
    assert isinstance(snapshot, Replacement)
    assert list(snapshot.records) == [record("a", "5"), record("b", "2")]
    assert (snapshot.version, snapshot.kept) == ("9", frozenset([key("c")]))
    assert take(queue) == [delta(UPDATED, "a", "10")]


def test_a_resync_shows_what_is_there_once_all_that_came_before_is_done(queue: DeltaQueue) -> None:
    queue.apply([event("ADDED", "a")], "")
    queue.resync()
    queue.apply([event("MODIFIED", "a", "2")], "")
    assert [take(queue) for _ in range(3)] == [[delta(ADDED, "a")], Resync(), [delta(UPDATED, "a", "2")]]


def test_two_resyncs_are_one_unless_the_first_is_in_hand(queue: DeltaQueue) -> None:
    queue.resync()
    queue.apply([event("ADDED", "a")], "")
    queue.resync()
    assert len(queue) == 2
    assert queue.pop() == Resync()
    queue.resync()
    assert len(queue) == 2


def test_one_thing_is_in_hand_at_a_time(queue: DeltaQueue) -> None:
    queue.apply([event("ADDED", "a")], "")
    queue.resync()
    with pytest.raises(RuntimeError, match="nothing is in hand"):
        queue.done()
    queue.pop()
    with pytest.raises(RuntimeError, match="something is in hand"):
        queue.pop()
    queue.done()
    with pytest.raises(RuntimeError, match="nothing is in hand"):
        queue.done()
    assert queue.pop() == Resync()


def test_it_is_synced_when_the_first_snapshot_is_done_and_not_when_it_is_taken(queue: DeltaQueue) -> None:
    queue.replace([], "9")
    queue.apply([event("ADDED", "late")], "10")
    flags = [queue.has_synced]
    snapshot = queue.pop()
    assert isinstance(snapshot, Replacement)
    assert snapshot.is_initial
    flags.append(queue.has_synced)
    queue.done()
    flags.append(queue.has_synced)
    assert flags == [False, False, True]


def test_a_second_snapshot_is_not_initial_and_does_not_make_it_unsynced(queue: DeltaQueue) -> None:
    queue.replace([], "1")
    take(queue)
    queue.replace([record("a")], "2")
    assert queue.has_synced
    snapshot = queue.pop()
    assert isinstance(snapshot, Replacement)
    assert not snapshot.is_initial


def test_it_is_synced_at_once_when_a_change_comes_first(queue: DeltaQueue) -> None:
    queue.resync()
    queue.apply([], "1")
    flags = [queue.has_synced]
    queue.apply([event("DELETED", "a")], "2")
    assert [*flags, queue.has_synced] == [False, True]
    queue.replace([], "3")
    drained = [take(queue) for _ in range(len(queue))]
    assert isinstance(drained[-1], Replacement)
    assert not drained[-1].is_initial


def test_the_version_moves_when_all_that_belongs_to_it_is_done(queue: DeltaQueue) -> None:
    queue.replace([record("a")], "9")
    queue.apply([], "10")
    queue.apply([event("ADDED", "b", "11")], "11")
    assert queue.version == ""
    queue.pop()
    assert queue.version == ""
    queue.done()
    assert queue.version == "10"
    queue.pop()
    queue.apply([], "12")
    assert queue.version == "10"
    queue.done()
    assert queue.version == "12"
    queue.publish("13")
    assert queue.version == "13"


def test_changes_without_a_published_version_leave_it_as_it_is(queue: DeltaQueue) -> None:
    queue.publish("9")
    queue.apply([event("ADDED", "a", "10")], "")
    take(queue)
    assert queue.version == "9"


def test_a_snapshot_without_a_version_leaves_it_as_it_is(queue: DeltaQueue) -> None:
    queue.publish("9")
    queue.replace([], "")
    take(queue)
    assert queue.version == "9"


def test_a_bookmark_is_refused_and_nothing_is_taken(queue: DeltaQueue) -> None:
    with pytest.raises(ValueError, match="a BOOKMARK event is no delta"):
        queue.apply([event("ADDED", "a"), WatchEvent(EventType.BOOKMARK, version="5")], "5")
    assert (len(queue), queue.version) == (0, "")


def test_it_counts_what_waits_and_not_what_is_in_hand(queue: DeltaQueue) -> None:
    queue.replace([record("a"), record("b")], "9")
    queue.apply([event("MODIFIED", "a", "10"), event("MODIFIED", "a", "11")], "11")
    queue.resync()
    assert len(queue) == 4
    queue.pop()
    assert len(queue) == 3
    queue.done()
    while queue:
        take(queue)
    queue.apply([event("ADDED", "c")], "12")
    assert (len(queue), queue.high_water) == (1, 4)


def test_a_snapshot_is_read_when_its_turn_comes_and_no_further_than_is_asked(queue: DeltaQueue) -> None:
    read: list[str] = []

    def records() -> Iterator[Record]:
        for name in "abc":
            read.append(name)
            yield record(name)

    queue.replace(records(), "9")
    snapshot = queue.pop()
    assert isinstance(snapshot, Replacement)
    assert read == []
    assert next(snapshot.records) == record("a")
    assert read == ["a"]


def test_a_list_is_left_to_its_owner(queue: DeltaQueue) -> None:
    records = [record("a")]
    queue.replace(records, "9")
    snapshot = queue.pop()
    assert isinstance(snapshot, Replacement)
    assert list(snapshot.records) == records == [record("a")]


def test_many_changes_of_many_keys_all_come_out(queue: DeltaQueue) -> None:
    events = [event("MODIFIED", str(number % 7), str(number)) for number in range(50)]
    queue.apply(events, "50")
    came = [one for batch in drain(queue) for one in batch]
    for name in map(str, range(7)):
        versions = [
            one.record.metadata.resource_version for one in came if one.record and one.key.name == name
        ]
        assert versions == [str(number) for number in range(50) if str(number % 7) == name]
    assert queue.version == "50"
