"""The queue in the server's order, against what client-go's the_real_fifo_test.go demands."""

import pytest

from kinformer.store import Change, Delta, InOrderFIFO, Replacement
from tests.unit.store.stage import delta, drain, event, key, record, take

ADDED, UPDATED, DELETED = Change


def test_changes_come_as_they_came_across_all_keys() -> None:
    fifo = InOrderFIFO()
    fifo.apply([event("ADDED", "a"), event("ADDED", "b"), event("MODIFIED", "a", "2")], "2")
    assert drain(fifo) == [[delta(ADDED, "a"), delta(ADDED, "b")], [delta(UPDATED, "a", "2")]]


def test_nothing_is_merged_and_nothing_is_left_out() -> None:
    fifo = InOrderFIFO()
    fifo.apply([event("DELETED", "q", "5"), event("DELETED", "q", "6")], "6")
    fifo.add(Delta(DELETED, key("q"), None))
    assert drain(fifo) == [
        [delta(DELETED, "q", "5")],
        [delta(DELETED, "q", "6")],
        [Delta(DELETED, key("q"), None)],
    ]


@pytest.mark.parametrize(
    ("count", "sizes"), [(999, [999]), (1000, [1000]), (1001, [1000, 1]), (2500, [1000, 1000, 500])]
)
def test_a_batch_has_a_thousand_keys_at_most(count: int, sizes: list[int]) -> None:
    fifo = InOrderFIFO()
    for number in range(count):
        fifo.add(Delta(DELETED, key(str(number)), None))
    assert [len(batch) for batch in drain(fifo)] == sizes


def test_a_batch_ends_before_a_key_that_is_in_it_already() -> None:
    fifo = InOrderFIFO()
    names = "abcabbd"
    fifo.apply([event("MODIFIED", name, str(version)) for version, name in enumerate(names)], "6")
    assert ["".join(one.key.name for one in batch) for batch in drain(fifo)] == ["abc", "ab", "bd"]


def test_a_batch_ends_before_a_barrier() -> None:
    fifo = InOrderFIFO()
    fifo.apply([event("ADDED", "a"), event("ADDED", "b")], "")
    fifo.replace([record("c")], "9")
    fifo.apply([event("ADDED", "d")], "")
    assert take(fifo) == [delta(ADDED, "a"), delta(ADDED, "b")]
    assert isinstance(take(fifo), Replacement)
    assert take(fifo) == [delta(ADDED, "d")]


def test_the_version_is_that_of_the_last_batch_that_is_done() -> None:
    fifo = InOrderFIFO()
    fifo.apply([event("ADDED", "a", "1"), event("ADDED", "b", "2")], "2")
    fifo.apply([event("MODIFIED", "a", "3")], "3")
    take(fifo)
    assert fifo.version == "2"
    take(fifo)
    assert fifo.version == "3"


def test_a_snapshot_tells_its_deletions_first() -> None:
    fifo = InOrderFIFO()
    fifo.replace([], "9")
    assert fifo.pop().deletes_first  # type: ignore[union-attr]  # it is a replacement
