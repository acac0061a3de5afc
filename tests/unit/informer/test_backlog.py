"""Backlogs, and the algebra by which a coalesced one merges."""

import msgspec
import pytest

from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._backlog import Backlog, Coalesced, InOrder, Waiting, merge
from kinformer.meta import Record, Resource

PODS = Resource.builtin("Pod")


def record(version: int, *, name: str = "a", uid: str = "u") -> Record:
    metadata = {"name": name, "namespace": "default", "uid": uid, "resourceVersion": str(version)}
    return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)


A1, A2, A3 = (record(version) for version in (1, 2, 3))
NEXT = record(9, uid="v")


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        pytest.param(Added(A1), Updated(A1, A2), (Added(A2),), id="add, update"),
        pytest.param(Added(A1, True), Updated(A1, A2), (Added(A2, True),), id="initial add, update"),
        pytest.param(Updated(A1, A2), Updated(A2, A3), (Updated(A1, A3),), id="update, update"),
        pytest.param(Updated(A1, A1), Updated(A1, A2), (Updated(A1, A2),), id="resync, update"),
        pytest.param(Added(A1), Deleted(A2), (), id="add, delete"),
        pytest.param(Updated(A1, A2), Deleted(A3), (Deleted(A3),), id="update, delete"),
        pytest.param(Updated(A1, A2), Deleted(A2, True), (Deleted(A2, True),), id="update, tombstone"),
        pytest.param(Deleted(A1), Added(A2), (Updated(A1, A2),), id="delete, add of the same uid"),
        pytest.param(Deleted(A1), Added(NEXT), (Deleted(A1), Added(NEXT)), id="delete, add of another uid"),
    ],
)
def test_two_notifications_of_one_key_merge(
    first: Notification[Record], second: Notification[Record], left: tuple[Notification[Record], ...]
) -> None:
    assert merge(first, second) == left


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (Added(A1), Added(A2)),
        (Updated(A1, A2), Added(A3)),
        (Deleted(A1), Updated(A1, A2)),
        (Deleted(A1), Deleted(A1)),
    ],
)
def test_what_cannot_follow_is_an_error(first: Notification[Record], second: Notification[Record]) -> None:
    with pytest.raises(ValueError, match="cannot follow"):
        merge(first, second)


def drained(backlog: Backlog) -> list[Notification[Record]]:
    return [backlog.pop().notification for _ in range(len(backlog))]


def test_a_key_keeps_its_place_and_its_age_when_more_is_merged_into_it() -> None:
    backlog = Coalesced()
    backlog.offer(Waiting(1.0, Added(A1)))
    backlog.offer(Waiting(2.0, Added(record(1, name="b"))))
    backlog.offer(Waiting(3.0, Updated(A1, A2)))
    assert (len(backlog), backlog.oldest) == (2, 1.0)
    assert drained(backlog) == [Added(A2), Added(record(1, name="b"))]
    assert backlog.oldest is None


def test_a_successor_waits_right_behind_the_deletion_of_its_predecessor() -> None:
    backlog = Coalesced()
    backlog.offer(Waiting(1.0, Deleted(A1)))
    backlog.offer(Waiting(2.0, Added(record(1, name="b"))))
    backlog.offer(Waiting(3.0, Added(NEXT)))
    assert len(backlog) == 3
    assert backlog.pop().notification == Deleted(A1)
    backlog.offer(Waiting(4.0, Updated(NEXT, record(10, uid="v"))))
    assert drained(backlog) == [Added(record(10, uid="v")), Added(record(1, name="b"))]


def test_a_successor_that_is_gone_again_leaves_the_deletion_of_its_predecessor() -> None:
    backlog = Coalesced()
    for notification in (Deleted(A1), Added(NEXT), Deleted(NEXT)):
        backlog.offer(Waiting(1.0, notification))
    assert drained(backlog) == [Deleted(A1)]


@pytest.mark.parametrize("make", [InOrder, Coalesced])
def test_initial_adds_are_counted_until_they_are_given_out(make: type[Backlog]) -> None:
    backlog = make()
    backlog.offer(Waiting(1.0, Added(A1, is_initial=True)))
    backlog.offer(Waiting(1.0, Added(record(1, name="b"))))
    assert (len(backlog), backlog.initial) == (2, 1)
    backlog.pop()
    assert (len(backlog), backlog.initial) == (1, 0)


def test_an_initial_add_that_is_merged_away_is_not_counted_any_more() -> None:
    backlog = Coalesced()
    backlog.offer(Waiting(1.0, Added(A1, is_initial=True)))
    backlog.offer(Waiting(1.0, Deleted(A2)))
    assert (len(backlog), backlog.initial) == (0, 0)


@pytest.mark.parametrize("make", [InOrder, Coalesced])
def test_clearing_drops_everything(make: type[Backlog]) -> None:
    backlog = make()
    backlog.offer(Waiting(1.0, Added(A1, is_initial=True)))
    backlog.clear()
    assert (len(backlog), backlog.initial, backlog.oldest) == (0, 0, None)
    with pytest.raises(LookupError):
        backlog.pop()
