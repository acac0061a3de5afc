"""Deltas, and folding: only two deletions in a row become one."""

from itertools import product

import pytest

from kinformer.errors import ServerError
from kinformer.meta import EventType, WatchEvent
from kinformer.store import Change, Delta
from kinformer.store._deltas import fold
from tests.unit.store.stage import delta, event, key, record

SEEN = delta(Change.DELETED, "a", "5")
UNKNOWN = Delta(Change.DELETED, key("a"), None)


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        pytest.param(SEEN, UNKNOWN, SEEN, id="with its state, then without"),
        pytest.param(UNKNOWN, SEEN, SEEN, id="without its state, then with it"),
        pytest.param(SEEN, delta(Change.DELETED, "a", "6"), SEEN, id="twice with its state"),
    ],
)
def test_of_two_deletions_the_better_informed_one_stays(first: Delta, second: Delta, left: Delta) -> None:
    deltas = [first]
    assert not fold(deltas, second)
    assert deltas == [left]


@pytest.mark.parametrize(
    ("first", "second"),
    [pair for pair in product(Change, Change) if pair != (Change.DELETED, Change.DELETED)],
)
def test_no_other_pair_folds(first: Change, second: Change) -> None:
    deltas = [delta(first, "a", "1")]
    assert fold(deltas, delta(second, "a", "2"))
    assert deltas == [delta(first, "a", "1"), delta(second, "a", "2")]


def test_deletions_that_are_not_adjacent_stay() -> None:
    deltas: list[Delta] = []
    for new in (SEEN, delta(Change.ADDED, "a", "6"), UNKNOWN):
        assert fold(deltas, new)
    assert [one.change for one in deltas] == [Change.DELETED, Change.ADDED, Change.DELETED]


@pytest.mark.parametrize(
    ("kind", "change"), [("ADDED", Change.ADDED), ("MODIFIED", Change.UPDATED), ("DELETED", Change.DELETED)]
)
def test_an_event_about_an_object_is_a_delta(kind: str, change: Change) -> None:
    assert Delta.of(event(kind, "a", "3")) == Delta(change, key("a"), record("a", "3"))


@pytest.mark.parametrize(
    "odd",
    [
        WatchEvent(EventType.BOOKMARK, version="5"),
        WatchEvent(EventType.ERROR, error=ServerError(500, "InternalError", "broken")),
        WatchEvent(EventType.ADDED),
    ],
    ids=["bookmark", "error", "nothing in it"],
)
def test_an_event_about_no_object_is_refused_by_its_kind(odd: WatchEvent) -> None:
    with pytest.raises(ValueError, match=f"a {odd.type} event is no delta"):
        Delta.of(odd)
