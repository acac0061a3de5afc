"""What the batches of a watch mean."""

import pytest

from kinformer.errors import DecodeError, ServerError
from kinformer.meta import EventType, Object, Resource, WatchEvent
from kinformer.reflector._reception import Broken, Changes, Effect, Reception, Rejected
from kinformer.reflector._snapshot import Snapshot
from kinformer.testing import added, bookmark, deleted, error_event, modified

PODS = Resource.builtin("Pod")
BROKEN = ServerError(500)
END = bookmark("30", ends_initial_events=True)


def pod(name: str, version: str) -> Object:
    metadata = {"namespace": "default", "name": name, "resourceVersion": version}
    return Object.from_mapping({"metadata": metadata}, PODS)


def take(reception: Reception, *batches: list[WatchEvent]) -> list[Effect]:
    return [effect for batch in batches for effect in reception.take(batch)]


def test_changes_come_out_in_order_and_with_the_version_they_earned() -> None:
    a, b = added(pod("a", "6")), deleted(pod("a", "7"))
    reception = Reception("5", initial_events=False)
    assert take(reception, [a, b]) == [Changes([a, b], "7")]
    assert reception.count == 2
    assert not reception.has_bookmarks


def test_a_bookmark_only_moves_the_version() -> None:
    reception = Reception("5", initial_events=False)
    assert take(reception, [bookmark("9")]) == [Changes([], "9")]
    assert take(reception, [bookmark("9")]) == []
    assert reception.count == 2
    assert reception.has_bookmarks


def test_a_bookmark_among_changes_is_not_one_of_them() -> None:
    a = added(pod("a", "6"))
    assert take(Reception("5", initial_events=False), [a, bookmark("9")]) == [Changes([a], "9")]


def test_what_cannot_be_read_is_rejected_and_neither_counts_nor_moves_the_version() -> None:
    error = DecodeError("labels is null", key="default/a")
    reception = Reception("5", initial_events=False)
    assert take(reception, [error_event(error)]) == [Rejected(error)]
    assert (reception.count, reception.progress.version) == (0, "5")


@pytest.mark.parametrize("initial_events", [False, True], ids=["watch", "watch-list"])
def test_what_does_not_say_whose_event_it_is_breaks_the_stream(initial_events: bool) -> None:
    error = DecodeError("no JSON")
    reception = Reception("5", initial_events=initial_events)
    assert take(reception, [error_event(error), added(pod("a", "6"))]) == [Broken(error)]


def test_what_is_read_before_and_after_an_object_turns_illegible_comes_out_in_that_order() -> None:
    error = DecodeError("labels is null", key="default/a")
    a, b = modified(pod("a", "6")), modified(pod("b", "8"))
    reception = Reception("5", initial_events=False)
    assert take(reception, [a, error_event(error), b]) == [
        Changes([a], "6"),
        Rejected(error),
        Changes([b], "8"),
    ]
    assert reception.count == 2


def test_an_error_event_that_says_nothing_breaks_the_stream() -> None:
    (effect,) = take(Reception("5", initial_events=False), [WatchEvent(EventType.ERROR)])
    assert isinstance(effect, Broken)


def test_nothing_counts_after_an_error_of_the_server() -> None:
    a, b = added(pod("a", "6")), added(pod("b", "7"))
    reception = Reception("5", initial_events=False)
    assert take(reception, [a, error_event(BROKEN), b]) == [Changes([a], "6"), Broken(BROKEN)]
    assert (reception.count, reception.progress.version) == (1, "6")


def test_initial_events_come_out_as_one_snapshot() -> None:
    a, b = pod("a", "4"), pod("b", "3")
    reception = Reception("0", initial_events=True)
    steps = [added(pod("a", "1")), added(b), added(pod("c", "2")), deleted(pod("c", "9")), modified(a)]
    assert take(reception, steps, [bookmark("20")]) == []
    (snapshot,) = take(reception, [END])
    assert isinstance(snapshot, Snapshot)
    assert (snapshot.count, snapshot.version, snapshot.rejected) == (2, "30", [])
    assert list(snapshot.records) == [a.record, b.record]
    assert take(reception, [added(pod("d", "31"))]) == [Changes([added(pod("d", "31"))], "31")]


def test_a_batch_may_hold_the_end_of_the_snapshot_and_what_follows() -> None:
    a, b = pod("a", "1"), added(pod("b", "31"))
    reception = Reception("0", initial_events=True)
    snapshot, changes = take(reception, [added(a), END, b])
    assert isinstance(snapshot, Snapshot)
    assert (list(snapshot.records), snapshot.version, changes) == ([a.record], "30", Changes([b], "31"))
    assert reception.count == 3


def test_an_error_of_the_server_spoils_the_snapshot() -> None:
    reception = Reception("0", initial_events=True)
    assert take(reception, [added(pod("a", "1")), error_event(BROKEN), END]) == [Broken(BROKEN)]


@pytest.mark.parametrize("mends", [True, False])
def test_an_object_that_mends_before_the_end_is_not_rejected(mends: bool) -> None:
    error = DecodeError("labels is null", key="default/a")
    reception = Reception("0", initial_events=True)
    good = pod("a", "2")
    (snapshot,) = take(reception, [error_event(error), *([modified(good)] if mends else []), END])
    assert isinstance(snapshot, Snapshot)
    assert list(snapshot.rejected) == ([] if mends else [error])
    assert list(snapshot.records) == ([good.record] if mends else [])
