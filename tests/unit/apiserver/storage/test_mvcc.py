"""The revisions: what can be read, watched and forgotten."""

import pytest

from kinformer.apiserver.storage import CompactedError, FutureRevisionError, Mvcc, StaleError


def written(count: int) -> Mvcc:
    """A store at revision ``count``: the first write makes revision 2."""
    core = Mvcc()
    for number in range(2, count + 1):
        core.put("/a", str(number).encode())
    return core


def test_an_empty_store_is_at_revision_one() -> None:
    assert Mvcc().revision == 1


def test_deleting_nothing_makes_no_revision_and_an_equal_value_makes_one() -> None:
    core = Mvcc()
    assert core.delete("/none") is None
    assert core.revision == 1
    assert core.put("/k", b"v").revision == 2
    assert core.put("/k", b"v").revision == 3


def test_a_put_keeps_the_creation_and_a_delete_ends_it() -> None:
    core = Mvcc()
    core.put("/k", b"1")
    core.put("/k", b"2")
    assert (value := core.get("/k")) is not None
    assert (value.create_revision, value.mod_revision) == (2, 3)
    core.delete("/k")
    assert core.get("/k") is None
    assert core.put("/k", b"3").current == core.get("/k")
    assert (value := core.get("/k")) is not None
    assert value.create_revision == 5


@pytest.mark.parametrize(("expected", "fits"), [(None, True), (2, True), (0, False), (1, False)])
def test_a_put_happens_only_at_the_expected_revision(expected: int | None, fits: bool) -> None:
    core = written(2)
    if fits:
        assert core.put("/a", b"new", expected).revision == 3
        return
    with pytest.raises(StaleError) as caught:
        core.put("/a", b"new", expected)
    assert caught.value.current == core.get("/a")
    assert core.revision == 2


def test_a_put_that_expects_nothing_creates_and_says_so_when_it_cannot_delete() -> None:
    core = Mvcc()
    core.put("/a", b"1", 0)
    with pytest.raises(StaleError, match="does not exist"):
        core.delete("/b", 7)


def test_keys_come_in_the_order_of_their_text_not_of_their_parts() -> None:
    """Rule S-3: ``-`` sorts before ``/``."""
    core = Mvcc()
    for key in ("/p/a/x", "/p/a-b/x", "/q/x", "/p/b/x"):
        core.put(key, b"")
    assert [value.key for value in core.range("/p/").items] == ["/p/a-b/x", "/p/a/x", "/p/b/x"]


def test_a_page_starts_where_it_is_told_and_counts_what_follows() -> None:
    core = Mvcc()
    for name in "abcde":
        core.put(f"/p/{name}", b"")
    core.delete("/p/d")
    page = core.range("/p/", start="/p/b", limit=2)
    assert [value.key for value in page.items] == ["/p/b", "/p/c"]
    assert page.remaining == 1
    assert page.revision == 7


def test_the_past_can_be_read() -> None:
    core = written(4)
    core.delete("/a")
    assert [core.get("/a", revision) and core.get("/a", revision).value for revision in (1, 2, 4, 5)] == [  # type: ignore[union-attr]
        None,
        b"2",
        b"4",
        None,
    ]


def test_compaction_keeps_its_own_revision_readable_and_nothing_older() -> None:
    core = written(9)
    core.compact(5)
    assert (value := core.get("/a", 5)) is not None
    assert value.value == b"5"
    with pytest.raises(CompactedError):
        core.get("/a", 4)
    with pytest.raises(FutureRevisionError):
        core.get("/a", 10)
    with pytest.raises(CompactedError):
        core.compact(5)
    with pytest.raises(FutureRevisionError):
        core.compact(10)
    core.compact(9)


def test_changes_come_from_a_revision_on_and_say_where_to_go_on() -> None:
    core = written(6)
    core.put("/b", b"")
    assert [change.revision for change in core.changes("/a", 4, 100)[0]] == [4, 5, 6]
    assert core.changes("/a", 4, 100)[1] == 8
    assert core.changes("/a", 4, 2)[1] == 6
    assert core.changes("/a", 20, 2) == ([], 20)


def test_a_delete_at_the_compacted_revision_can_still_be_watched() -> None:
    core = written(2)
    core.delete("/a")
    core.compact(3)
    changes, _ = core.changes("/a", 3, 10)
    assert [(change.revision, change.current) for change in changes] == [(3, None)]
    with pytest.raises(CompactedError):
        core.changes("/a", 2, 10)


def test_a_deleted_key_is_forgotten_once_its_deletion_is() -> None:
    core = written(2)
    core.delete("/a")
    core.put("/b", b"")
    core.compact(4)
    assert core.range("/").items == (core.get("/b"),)
    assert len(core) == 1
    assert "/a" not in core._histories


def test_what_comes_before_the_beginning_counts_as_compacted_away() -> None:
    core = Mvcc(first=1000)
    assert (core.revision, core.changes("", 1001, 10)) == (1000, ([], 1001))
    with pytest.raises(CompactedError):
        core.changes("", 13, 10)
    with pytest.raises(CompactedError):
        core.get("a", 12)
    assert core.put("a", b"1", None).revision == 1001
    assert [change.revision for change in core.changes("", 1000, 10)[0]] == [1001]
