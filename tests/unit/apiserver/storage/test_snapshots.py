"""What a prefix holds, now and before."""

import pytest

from kinformer.apiserver.storage import (
    Change,
    CompactedError,
    FutureRevisionError,
    InconsistentError,
    KeyRange,
    KeyValue,
    Snapshots,
)

ALL = KeyRange.prefix("")


def put(revision: int, key: str = "a") -> Change:
    return Change(revision, key, KeyValue(key, str(revision).encode(), revision, revision, 1), None)


def gone(revision: int, key: str = "a") -> Change:
    return Change(revision, key, None, None)


def content(snapshots: Snapshots, revision: int = 0) -> dict[str, int]:
    return {value.key: value.mod_revision for value in snapshots.range(ALL, revision).items}


def filled(window: int = 10) -> Snapshots:
    """a and b at revision 5."""
    snapshots = Snapshots(window)
    snapshots.restore([change.current for change in (put(4, "b"), put(5)) if change.current], 5)
    return snapshots


def test_the_past_can_be_read_within_the_window() -> None:
    snapshots = filled()
    snapshots.apply([put(6), put(6, "c"), gone(8, "b")])
    snapshots.apply([put(9, "b")])
    states = {revision: content(snapshots, revision) for revision in (5, 6, 7, 8, 9)}
    assert states == {
        5: {"a": 5, "b": 4},
        6: {"a": 6, "b": 4, "c": 6},
        7: {"a": 6, "b": 4, "c": 6},
        8: {"a": 6, "c": 6},
        9: {"a": 6, "b": 9, "c": 6},
    }
    found = snapshots.range(KeyRange.key("a"), 5)
    assert (found.revision, found.count) == (9, 1)
    assert content(snapshots) == states[9]


def test_what_is_before_the_window_or_yet_to_come_is_refused() -> None:
    snapshots = filled(window=3)
    for revision in (6, 7, 8):
        snapshots.apply([put(revision)])
    assert content(snapshots, 6)["a"] == 6
    with pytest.raises(CompactedError) as caught:
        snapshots.range(ALL, 5)
    assert caught.value.compacted == 6
    with pytest.raises(FutureRevisionError):
        snapshots.range(ALL, 9)


def test_before_the_first_content_everything_is_compacted() -> None:
    with pytest.raises(CompactedError):
        filled().range(ALL, 4)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([put(5)], id="known already"),
        pytest.param([put(4)], id="older"),
        pytest.param([put(6), put(5)], id="in part older"),
        pytest.param([put(6), gone(7, "c")], id="a delete of nothing"),
        pytest.param([gone(6), gone(7)], id="a second delete"),
    ],
)
def test_changes_that_do_not_follow_change_nothing(changes: list[Change]) -> None:
    snapshots = filled()
    with pytest.raises(InconsistentError):
        snapshots.apply(changes)
    assert (content(snapshots), snapshots.revision) == ({"a": 5, "b": 4}, 5)


def test_progress_moves_the_revision_and_nothing_else() -> None:
    snapshots = Snapshots(10)
    snapshots.advance(7)
    assert snapshots.revision == 0
    snapshots = filled()
    snapshots.advance(7)
    snapshots.advance(6)
    assert (snapshots.revision, content(snapshots, 7)) == (7, {"a": 5, "b": 4})


def test_restoring_forgets_the_past() -> None:
    snapshots = filled()
    snapshots.apply([put(6, "c")])
    snapshots.restore([], 9)
    assert (content(snapshots), snapshots.revision, snapshots.oldest) == ({}, 9, 9)
    with pytest.raises(CompactedError):
        snapshots.range(ALL, 6)
