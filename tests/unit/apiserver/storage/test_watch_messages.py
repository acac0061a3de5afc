"""What is said on a stream of watches, and how it is cut."""

import pytest

from kinformer.apiserver.storage import Change, KeyRange, KeyValue, WatchRequest, WatchResponse
from kinformer.apiserver.storage._watch_messages import fragments, unpack


def put(revision: int, size: int = 0, *, created: int = 0, previous: KeyValue | None = None) -> Change:
    value = KeyValue("k", b"x" * size, created or revision, revision, 1)
    return Change(revision, "k", value, previous)


@pytest.mark.parametrize(
    ("sizes", "most", "pieces"),
    [
        pytest.param([10, 10], 1000, [2], id="small enough"),
        pytest.param([1000], 100, [1], id="a single event is never cut"),
        pytest.param([10] * 5, 1, [1] * 5, id="nothing fits"),
        pytest.param([10] * 4, 100, [2, 2], id="two and two"),
        pytest.param([10, 1000, 10], 100, [1, 1, 1], id="a large one goes alone"),
        pytest.param([], 1, [0], id="nothing to cut"),
    ],
)
def test_a_response_is_cut_between_events(sizes: list[int], most: int, pieces: list[int]) -> None:
    events = tuple(put(revision, size) for revision, size in enumerate(sizes, 2))
    cut = list(fragments(WatchResponse(1, 9, events), most))
    assert [len(piece.events) for piece in cut] == pieces
    assert [piece.fragment for piece in cut] == [True] * (len(cut) - 1) + [False]
    assert sum((piece.events for piece in cut), ()) == events
    assert {(piece.watch_id, piece.revision) for piece in cut} == {(1, 9)}


@pytest.mark.parametrize(
    ("response", "is_progress"),
    [
        (WatchResponse(1, 9), True),
        (WatchResponse(1, 9, (put(9),)), False),
        (WatchResponse(1, 9, created=True), False),
        (WatchResponse(1, 9, canceled=True), False),
        (WatchResponse(1, 0, compact_revision=7), False),
    ],
    ids=str,
)
def test_progress_is_what_says_nothing_else(response: WatchResponse, is_progress: bool) -> None:
    assert response.is_progress is is_progress


def test_a_filter_knows_puts_from_deletes() -> None:
    keys = KeyRange.prefix("")
    gone = Change(3, "k", None, None)
    assert [WatchRequest(keys, no_put=True).wants(change) for change in (put(2), gone)] == [False, True]
    assert [WatchRequest(keys, no_delete=True).wants(change) for change in (put(2), gone)] == [True, False]


def test_what_was_lost_is_told_behind_what_was_not() -> None:
    changes: list[Change] = []
    old = KeyValue("k", b"", 2, 2, 1)
    assert unpack(WatchResponse(1, 9, (put(2), put(3, created=2, previous=old))), changes) is None
    lost = unpack(WatchResponse(1, 9, (put(4, created=2, previous=old), put(5, created=2))), changes)
    assert [change.revision for change in changes] == [2, 3, 4]
    assert lost is not None
    assert (lost.revision, lost.compacted) == (4, 5)
    over = unpack(WatchResponse(1, 0, canceled=True, compact_revision=7), changes)
    assert over is not None
    assert over.compacted == 7
