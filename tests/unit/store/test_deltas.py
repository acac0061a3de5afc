"""Folding deltas: only two deletions in a row become one."""

from itertools import product

import pytest

from kinformer.meta import ObjectKey, Record, Resource
from kinformer.store import Change, Delta, Tombstone
from kinformer.store._deltas import fold, newest

PODS = Resource.builtin("Pod")
A = ObjectKey("default", "a")


def record(version: str = "1") -> Record:
    return Record.decode(
        b'{"metadata":{"name":"a","namespace":"default","resourceVersion":"%s"}}' % version.encode(), PODS
    )


SEEN = Delta(Change.DELETED, record("5"))
MISSED = Delta(Change.DELETED, Tombstone(A, record("4")))


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        pytest.param(SEEN, MISSED, SEEN, id="seen, then missed"),
        pytest.param(MISSED, SEEN, SEEN, id="missed, then seen"),
        pytest.param(SEEN, Delta(Change.DELETED, record("6")), SEEN, id="seen twice"),
    ],
)
def test_of_two_deletions_the_better_informed_one_stays(first: Delta, second: Delta, left: Delta) -> None:
    deltas = [first]
    fold(deltas, second)
    assert deltas == [left]


@pytest.mark.parametrize(
    ("first", "second"),
    [pair for pair in product(Change, Change) if pair != (Change.DELETED, Change.DELETED)],
)
def test_no_other_pair_folds(first: Change, second: Change) -> None:
    deltas = [Delta(first, record("1"))]
    fold(deltas, Delta(second, record("2")))
    assert deltas == [Delta(first, record("1")), Delta(second, record("2"))]


def test_deletions_that_are_not_adjacent_stay() -> None:
    deltas: list[Delta] = []
    for delta in (SEEN, Delta(Change.ADDED, record("6")), MISSED):
        fold(deltas, delta)
    assert [delta.change for delta in deltas] == [Change.DELETED, Change.ADDED, Change.DELETED]


def test_the_newest_record_of_a_tombstone_is_what_was_last_known() -> None:
    assert newest([SEEN, MISSED]) == record("4")
    assert newest([MISSED, SEEN]) == record("5")
