"""Backlogs, and the algebra by which a coalesced one merges."""

import tracemalloc
from types import MappingProxyType

import msgspec
import pytest

from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._backlog import Backlog, Coalesced, InOrder, Waiting, merge
from kinformer.meta import ObjectKey, Record, Resource

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
    return [backlog.pop() for _ in range(len(backlog))]


def found(*records: Record) -> MappingProxyType[ObjectKey, Record]:
    return MappingProxyType({each.key: each for each in records})


B1, B2, C1 = record(1, name="b"), record(2, name="b"), record(1, name="c")


def test_in_order_everything_comes_out_as_it_came_in() -> None:
    backlog = InOrder()
    backlog.begin(found(A1, B1), 1.0)
    backlog.offer([Waiting(2.0, Updated(A1, A2)), Waiting(2.0, Updated(A2, A3))])
    backlog.offer([Waiting(3.0, Added(C1))])
    assert (len(backlog), backlog.initial, backlog.oldest) == (5, 2, 1.0)
    assert drained(backlog) == [Added(A1, True), Added(B1, True), Updated(A1, A2), Updated(A2, A3), Added(C1)]


@pytest.mark.parametrize("make", [InOrder, Coalesced])
def test_the_content_that_a_handler_finds_comes_first_and_is_counted_until_it_is_given_out(
    make: type[Backlog],
) -> None:
    backlog = make()
    backlog.begin(found(A1, B1), 1.0)
    backlog.offer([Waiting(2.0, Added(C1))])
    seen = []
    while backlog:
        seen.append((backlog.pop(), len(backlog), backlog.initial, backlog.oldest))
    assert seen == [(Added(A1, True), 2, 1, 1.0), (Added(B1, True), 1, 0, 2.0), (Added(C1), 0, 0, None)]


@pytest.mark.parametrize("make", [InOrder, Coalesced])
def test_the_content_of_several_sources_comes_in_order_however_much_it_is(make: type[Backlog]) -> None:
    first, second = ([record(1, name=f"{kind}-{number}") for number in range(150)] for kind in "ab")
    backlog = make()
    backlog.begin(found(*first), 1.0)
    told = [backlog.pop() for _ in range(70)]
    backlog.begin(found(*second), 2.0)
    assert (len(backlog), backlog.initial, backlog.oldest) == (230, 230, 1.0)
    assert told + drained(backlog) == [Added(each, is_initial=True) for each in first + second]
    backlog.begin(found(*first), 3.0)
    assert (backlog.pop(), backlog.oldest) == (Added(first[0], is_initial=True), 3.0)
    backlog.clear()
    backlog.begin(found(A1), 4.0)
    assert drained(backlog) == [Added(A1, is_initial=True)]


@pytest.mark.parametrize("make", [InOrder, Coalesced])
def test_what_is_begun_with_is_copied(make: type[Backlog]) -> None:
    content = {A1.key: A1, B1.key: B1}
    backlog = make()
    backlog.begin(MappingProxyType(content), 1.0)
    content.clear()
    assert drained(backlog) == [Added(A1, True), Added(B1, True)]


def test_a_change_of_an_object_that_was_not_shown_yet_is_merged_into_its_initial_add() -> None:
    backlog = Coalesced()
    backlog.begin(found(A1, B1, C1), 1.0)
    backlog.offer([Waiting(2.0, Updated(B1, B2)), Waiting(2.0, Deleted(A2)), Waiting(3.0, Updated(C1, C1))])
    assert (len(backlog), backlog.initial) == (2, 2)
    assert drained(backlog) == [Added(B2, True), Added(C1, True)]


def test_a_successor_of_an_object_that_was_not_shown_is_new_and_not_initial() -> None:
    backlog = Coalesced()
    backlog.begin(found(A1, B1), 1.0)
    backlog.offer([Waiting(2.0, Deleted(A1, True)), Waiting(2.0, Added(NEXT))])
    assert (len(backlog), backlog.initial) == (2, 1)
    assert drained(backlog) == [Added(B1, True), Added(NEXT)]


def test_a_key_keeps_its_place_and_its_age_when_more_is_merged_into_it() -> None:
    backlog = Coalesced()
    backlog.offer([Waiting(1.0, Added(A1)), Waiting(2.0, Added(B1)), Waiting(3.0, Updated(A1, A2))])
    assert (len(backlog), backlog.oldest) == (2, 1.0)
    assert drained(backlog) == [Added(A2), Added(B1)]
    assert backlog.oldest is None


def test_a_successor_waits_right_behind_the_deletion_of_its_predecessor() -> None:
    backlog = Coalesced()
    backlog.offer([Waiting(1.0, Deleted(A1)), Waiting(2.0, Added(B1)), Waiting(3.0, Added(NEXT))])
    assert len(backlog) == 3
    assert backlog.pop() == Deleted(A1)
    backlog.offer([Waiting(4.0, Updated(NEXT, record(10, uid="v")))])
    assert drained(backlog) == [Added(record(10, uid="v")), Added(B1)]


def test_a_successor_that_is_gone_again_leaves_the_deletion_of_its_predecessor() -> None:
    backlog = Coalesced()
    backlog.offer([Waiting(1.0, told) for told in (Deleted(A1), Added(NEXT), Deleted(NEXT))])
    assert drained(backlog) == [Deleted(A1)]


def test_a_key_that_was_merged_away_may_come_again() -> None:
    backlog = Coalesced()
    backlog.offer([Waiting(1.0, told) for told in (Added(A1), Deleted(A1), Added(B1), Added(A2))])
    assert drained(backlog) == [Added(B1), Added(A2)]


@pytest.mark.parametrize("make", [InOrder, Coalesced])
def test_clearing_drops_everything(make: type[Backlog]) -> None:
    backlog = make()
    backlog.begin(found(A1), 1.0)
    backlog.offer([Waiting(1.0, Added(B1))])
    backlog.clear()
    assert (len(backlog), backlog.initial, backlog.oldest) == (0, 0, None)
    with pytest.raises(LookupError):
        backlog.pop()


@pytest.mark.parametrize("make", [InOrder, Coalesced])
def test_a_backlog_gives_its_memory_back(make: type[Backlog]) -> None:
    backlog = make()
    many = [record(1, name=str(number)) for number in range(20_000)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    backlog.begin(found(*many), 1.0)
    backlog.offer([Waiting(1.0, Added(record(1, name=f"late {number}"))) for number in range(500)])
    full = tracemalloc.get_traced_memory()[0]
    while backlog:
        backlog.pop()
    left = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert full - before > 400_000
    assert left - before < 65_536  # what the interpreter keeps for itself
