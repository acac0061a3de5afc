"""The delta FIFO, against what client-go's delta_fifo_test.go demands."""

from kinformer.meta import Record
from kinformer.store import Change, Delta, DeltaFIFO, StoreWriter
from tests.unit.store.stage import delta, drain, event, key, record, take

ADDED, UPDATED, DELETED = Change


def queue(*known: Record) -> DeltaFIFO:
    writer = StoreWriter()
    for found in known:
        writer.put(found)
    return DeltaFIFO(writer.store)


def test_keys_come_in_the_order_of_their_first_change_with_all_their_deltas() -> None:
    fifo = queue()
    fifo.apply([event("ADDED", "a"), event("ADDED", "b"), event("MODIFIED", "a", "2")], "2")
    assert drain(fifo) == [[delta(ADDED, "a"), delta(UPDATED, "a", "2")], [delta(ADDED, "b")]]


def test_a_key_never_jumps_the_line() -> None:
    fifo = queue()
    fifo.apply([event("ADDED", "a"), event("ADDED", "b")], "")
    fifo.apply([event("MODIFIED", "b", "2"), event("MODIFIED", "a", "2")], "")
    assert take(fifo) == [delta(ADDED, "a"), delta(UPDATED, "a", "2")]
    fifo.apply([event("MODIFIED", "a", "3")], "")
    assert drain(fifo) == [[delta(ADDED, "b"), delta(UPDATED, "b", "2")], [delta(UPDATED, "a", "3")]]


def test_a_key_does_not_jump_over_a_barrier() -> None:
    fifo = queue()
    fifo.apply([event("ADDED", "a")], "")
    fifo.resync()
    fifo.apply([event("MODIFIED", "a", "2")], "")
    assert take(fifo) == [delta(ADDED, "a")]
    take(fifo)
    assert take(fifo) == [delta(UPDATED, "a", "2")]


def test_a_deletion_of_an_unknown_key_is_ignored() -> None:
    fifo = queue()
    fifo.apply([event("DELETED", "a")], "5")
    assert len(fifo) == 0
    assert fifo.has_synced
    assert fifo.version == "5"


def test_a_deletion_of_a_key_in_the_store_is_queued() -> None:
    fifo = queue(record("a"))
    fifo.apply([event("DELETED", "a", "2")], "2")
    assert drain(fifo) == [[delta(DELETED, "a", "2")]]


def test_a_deletion_after_an_add_that_waits_is_kept() -> None:
    fifo = queue()
    fifo.apply([event("ADDED", "a")], "1")
    fifo.resync()
    fifo.apply([event("DELETED", "a", "2")], "2")
    assert take(fifo) == [delta(ADDED, "a")]
    take(fifo)
    assert take(fifo) == [delta(DELETED, "a", "2")]


def test_a_deletion_after_a_snapshot_is_kept_whether_that_waits_or_is_in_hand() -> None:
    """Whether the store will know the key then cannot be told without going over the whole snapshot."""
    fifo = queue()
    fifo.replace([record("a"), record("b")], "9")
    fifo.apply([event("DELETED", "a", "10")], "10")
    fifo.pop()
    fifo.apply([event("DELETED", "b", "11")], "11")
    fifo.done()
    assert drain(fifo) == [[delta(DELETED, "a", "10")], [delta(DELETED, "b", "11")]]


def test_two_deletions_in_a_row_are_one() -> None:
    fifo = queue(record("a"))
    fifo.add(Delta(DELETED, key("a"), None))
    fifo.apply([event("DELETED", "a", "2"), event("DELETED", "a", "3")], "3")
    assert len(fifo) == 1
    assert drain(fifo) == [[delta(DELETED, "a", "2")]]
    assert fifo.version == "3"


def test_a_snapshot_tells_its_deletions_last() -> None:
    fifo = queue()
    fifo.replace([], "9")
    assert not fifo.pop().deletes_first  # type: ignore[union-attr]  # it is a replacement
