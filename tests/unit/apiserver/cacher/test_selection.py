"""Selector transitions: rules X-6 and X-7."""

import pytest

from kinformer.apiserver.cacher import select
from kinformer.apiserver.storage import Change, KeyValue

OLD, NEW = KeyValue("/a", b"old", 2, 2, 1), KeyValue("/a", b"new", 2, 5, 2)


@pytest.mark.parametrize(
    ("previous", "current", "matching", "seen"),
    [
        (None, NEW, {NEW}, "ADDED"),
        (None, NEW, set(), None),
        (OLD, NEW, {NEW}, "ADDED"),
        (OLD, NEW, {OLD, NEW}, "MODIFIED"),
        (OLD, NEW, {OLD}, "DELETED"),
        (OLD, NEW, set(), None),
        (OLD, None, {OLD}, "DELETED"),
        (OLD, None, set(), None),
    ],
)
def test_what_a_watcher_sees_of_a_change(
    previous: KeyValue | None, current: KeyValue | None, matching: set[KeyValue], seen: str | None
) -> None:
    assert select(Change(5, "/a", current, previous), matching.__contains__) == seen
