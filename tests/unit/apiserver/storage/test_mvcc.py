"""The revisions: what is staged and committed, what can be watched, and what is forgotten. The rest is in ``test_kv``."""

import pytest

from kinformer.apiserver.storage import Change, CompactedError, KeyRange, Mvcc

ALL = KeyRange.prefix("")


def put(core: Mvcc, *keys: str) -> tuple[Change, ...]:
    """Write keys as one revision."""
    for key in keys:
        core.put(key, str(core.revision + 1).encode())
    return core.commit()


def written(count: int) -> Mvcc:
    """A store at revision ``count``: the first write makes revision 2."""
    core = Mvcc()
    for _ in range(2, count + 1):
        put(core, "/a")
    return core


def test_an_empty_store_is_at_revision_one_and_can_be_compacted_twice() -> None:
    core = Mvcc()
    assert core.revision == 1
    core.compact(0)
    core.compact(1)
    with pytest.raises(CompactedError):
        core.compact(1)


def test_what_is_staged_is_seen_at_once_and_is_one_revision_when_committed() -> None:
    core = Mvcc()
    core.put("/a", b"")
    assert (core.revision, core.head, core.range(ALL).count) == (1, 2, 1)
    core.put("/b", b"")
    core.delete(KeyRange.key("/c"))
    assert [(change.revision, change.key) for change in core.commit()] == [(2, "/a"), (2, "/b")]
    assert core.revision == 2
    assert core.commit() == ()
    assert core.revision == 2


def test_a_deletion_goes_in_order_of_keys() -> None:
    core = Mvcc()
    put(core, "/c", "/a", "/b")
    core.delete(ALL)
    assert [change.key for change in core.commit()] == ["/a", "/b", "/c"]


def test_counting_costs_what_has_changed_since_and_not_what_there_is() -> None:
    """A page of a list at a past revision must not walk the keys behind it."""
    core = Mvcc()
    put(core, *(f"/{number:04}" for number in range(1000)))
    put(core, "/0000x")
    reads: list[str] = []

    class Counted(dict[str, list[Change]]):
        def get(self, key: str, default: object = None) -> list[Change]:
            reads.append(key)
            return self[key]

    core._histories = Counted(core._histories)
    page = core.range(ALL, revision=2, limit=10)
    assert (len(page.items), page.remaining) == (10, 990)
    assert len(reads) == 11, "the ten, and one that came later"


def test_changes_come_from_a_revision_on_whole_and_say_where_to_go_on() -> None:
    core = written(4)
    put(core, "/a", "/b")
    put(core, "/b")
    put(core, "/a")
    a = KeyRange.prefix("/a")
    assert [change.revision for change in core.changes(a, 3, 100)[0]] == [3, 4, 5, 7]
    assert core.changes(a, 3, 100)[1] == 0
    changes, following = core.changes(ALL, 3, 3)
    assert [change.revision for change in changes] == [3, 4, 5, 5]
    assert following == 6
    assert core.changes(a, 3, 3)[1] == 7
    assert core.changes(a, 20, 2) == ((), 0)


def test_a_delete_at_the_compacted_revision_can_still_be_watched() -> None:
    core = written(2)
    core.delete(ALL)
    core.commit()
    core.compact(3)
    changes, _ = core.changes(ALL, 3, 10)
    assert [(change.revision, change.current) for change in changes] == [(3, None)]
    with pytest.raises(CompactedError):
        core.changes(ALL, 2, 10)


def test_a_deleted_key_is_forgotten_once_its_deletion_is() -> None:
    core = written(2)
    core.delete(ALL)
    core.commit()
    put(core, "/b")
    core.compact(4)
    assert core.range(ALL).items == (core.get("/b"),)
    assert len(core) == 1
    assert (core._keys, core._dead, list(core._histories)) == (["/b"], [], ["/b"])


def test_the_state_behind_a_compaction_is_whole_across_deletion_and_creation() -> None:
    """Upstream's ``TestKVCompactReserveLastValue``: at each revision what was there, after compaction of the one before."""
    for compacted in range(1, 5):
        core = Mvcc()
        put(core, "/a")
        put(core, "/a")
        core.delete(ALL)
        core.commit()
        put(core, "/a")
        core.compact(compacted)
        value = core.get("/a", compacted + 1)
        assert (value and value.value) == {2: b"2", 3: b"3", 4: None, 5: b"5"}[compacted + 1]


def test_what_comes_before_the_beginning_counts_as_compacted_away() -> None:
    core = Mvcc(first=1000)
    assert (core.revision, core.changes(ALL, 1001, 10)) == (1000, ((), 0))
    with pytest.raises(CompactedError):
        core.changes(ALL, 13, 10)
    with pytest.raises(CompactedError):
        core.get("a", 12)
    assert [change.revision for change in put(core, "a")] == [1001]
    assert [change.revision for change in core.changes(ALL, 1000, 10)[0]] == [1001]
    assert len(core) == 1
