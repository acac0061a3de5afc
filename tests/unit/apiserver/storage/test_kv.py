"""What holds for every storage. A number in a name is that of the behaviour in the reference's list.

Others may have used the storage before, so revisions are counted from where it stands.
"""

import pytest

from kinformer.apiserver.storage import (
    KV,
    CompactedError,
    Compare,
    Delete,
    DeleteResult,
    FutureRevisionError,
    KeyRange,
    KeyValue,
    Operation,
    Put,
    PutResult,
    Read,
    ReadResult,
    StaleError,
    Transaction,
    TransactionError,
    TransactionResult,
)


async def written(kv: KV, key: str, count: int) -> int:
    """Write a key several times; gives the revision before."""
    before = await kv.revision()
    for number in range(1, count + 1):
        await kv.put(key, str(number).encode())
    return before


async def test_behaviour_01_deleting_nothing_makes_no_revision_and_an_equal_value_makes_one(
    kv: KV, at: str
) -> None:
    start = await kv.revision()
    assert await kv.delete(at + "none") is None
    assert await kv.revision() == start
    for revision in (start + 1, start + 2):
        assert (await kv.put(at + "k", b"v")).mod_revision == revision
    assert await kv.revision() == start + 2


async def test_behaviour_02_compaction_keeps_its_own_revision_and_nothing_older(kv: KV, at: str) -> None:
    start = await written(kv, at + "k", 8)
    await kv.compact(start + 4)
    value = await kv.get(at + "k", revision=start + 4)
    assert value == KeyValue(at + "k", b"4", start + 1, start + 4, 4)
    with pytest.raises(CompactedError):
        await kv.range(KeyRange.key(at + "k"), revision=start + 3)
    with pytest.raises(FutureRevisionError):
        await kv.get(at + "k", revision=start + 9)
    with pytest.raises(CompactedError):
        await kv.compact(start + 4)
    with pytest.raises(FutureRevisionError):
        await kv.compact(start + 9)
    await kv.compact(start + 8)


async def test_a_revision_of_the_future_is_told_with_the_present_one(kv: KV, at: str) -> None:
    now = await written(kv, at + "k", 2) + 2
    for revision in (now + 1000, 2**64 - 1):
        with pytest.raises(FutureRevisionError) as caught:
            await kv.get(at + "k", revision=revision)
        assert caught.value.revision == revision
        assert caught.value.current >= now


async def test_behaviour_09_a_missing_key_counts_as_zero_but_has_no_value(kv: KV, at: str) -> None:
    key = KeyRange.key(at + "none")
    for target in ("mod_revision", "version", "create_revision"):
        result = await kv.transact(Transaction([Compare(key, target, "=", 0)]))
        assert result.is_met
    for operator in ("=", "<", ">", "!="):
        result = await kv.transact(Transaction([Compare(key, "value", operator, b"")]))
        assert not result.is_met
    start = await kv.revision()
    with pytest.raises(TransactionError):
        await kv.transact(Transaction(then=[Put(at + "k", b"1"), Put(at + "k", b"2")]))
    assert await kv.revision() == start


async def test_a_put_keeps_the_creation_and_a_delete_ends_it(kv: KV, at: str) -> None:
    start = await written(kv, at + "k", 2)
    assert await kv.get(at + "k") == KeyValue(at + "k", b"2", start + 1, start + 2, 2)
    change = await kv.delete(at + "k")
    assert change is not None
    assert (change.revision, change.current) == (start + 3, None)
    assert change.previous == KeyValue(at + "k", b"2", start + 1, start + 2, 2)
    assert await kv.get(at + "k") is None
    assert await kv.put(at + "k", b"3") == KeyValue(at + "k", b"3", start + 4, start + 4, 1)


async def test_a_put_happens_only_at_the_expected_revision(kv: KV, at: str) -> None:
    value = await kv.put(at + "k", b"1", expected=0)
    for wrong in (0, value.mod_revision - 1):
        with pytest.raises(StaleError) as caught:
            await kv.put(at + "k", b"2", expected=wrong)
        assert caught.value.current == value
        with pytest.raises(StaleError):
            await kv.delete(at + "k", expected=wrong)
    changed = await kv.put(at + "k", b"2", expected=value.mod_revision)
    assert changed.version == 2
    assert await kv.delete(at + "k", expected=changed.mod_revision) is not None
    with pytest.raises(StaleError, match="does not exist"):
        await kv.delete(at + "k", expected=changed.mod_revision)


async def test_keys_come_in_the_order_of_their_text_not_of_their_parts(kv: KV, at: str) -> None:
    """Rule S-3: ``-`` sorts before ``/``."""
    for key in ("a/x", "a-b/x", "b/x", "\u00e9", "z"):
        await kv.put(at + key, b"")
    found = await kv.range(KeyRange.prefix(at))
    assert [value.key.removeprefix(at) for value in found.items] == ["a-b/x", "a/x", "b/x", "z", "\u00e9"]


async def test_a_page_starts_where_it_is_told_and_counts_what_follows(kv: KV, at: str) -> None:
    for name in "abcde":
        await kv.put(at + name, b"")
    await kv.delete(at + "d")
    now = await kv.revision()
    await kv.put(at + "c1", b"")
    await kv.delete(at + "e")
    page = await kv.range(KeyRange.prefix(at).behind(at + "b"), revision=now, limit=2)
    assert [value.key for value in page.items] == [at + "b", at + "c"]
    assert (page.remaining, page.revision) == (1, now + 2)
    counted = await kv.range(KeyRange.prefix(at), count_only=True)
    assert (counted.items, counted.count) == ((), 4)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [("a", "a\0", "a"), ("a", "c", "ab"), ("b", None, "bcz"), ("c", "c", ""), ("c", "a", ""), ("q", "r", "")],
)
async def test_a_range_has_the_keys_between_its_ends(
    kv: KV, at: str, start: str, end: str | None, expected: str
) -> None:
    for name in "abcz":
        await kv.put(at + name, b"")
    keys = KeyRange(at + start, KeyRange.prefix(at).end if end is None else at + end)
    found = await kv.range(keys)
    assert "".join(value.key.removeprefix(at) for value in found.items) == expected
    assert found.count == len(expected)


async def test_a_range_without_end_goes_to_the_last_key(kv: KV, at: str) -> None:
    await kv.put(at + "k", b"")
    await kv.put("\U0010ffff", b"")
    found = await kv.range(KeyRange(at + "k", None))
    assert [found.items[0].key, found.items[-1].key] == [at + "k", "\U0010ffff"]
    await kv.delete("\U0010ffff")


async def test_the_past_can_be_read_and_the_answer_tells_the_present(kv: KV, at: str) -> None:
    start = await written(kv, at + "k", 3)
    await kv.delete(at + "k")
    for revision, value in ((start + 1, b"1"), (start + 3, b"3")):
        found = await kv.get(at + "k", revision=revision)
        assert found is not None
        assert found.value == value
    assert await kv.get(at + "k", revision=start) is None or start == 0
    assert (await kv.range(KeyRange.key(at + "k"), revision=start + 2)).revision == start + 4


async def test_a_transaction_is_one_revision_and_tells_what_each_step_did(kv: KV, at: str) -> None:
    start = await written(kv, at + "c", 1)
    old = await kv.get(at + "c")
    assert old is not None
    steps: list[Operation] = [
        Put(at + "a", b"1"),
        Delete(KeyRange.key(at + "c")),
        Read(KeyRange.prefix(at)),
        Transaction(then=[Put(at + "b", b"2")]),
    ]
    result = await kv.transact(Transaction([Compare(KeyRange.key(at + "c"), "value", "=", b"1")], steps))
    new = KeyValue(at + "a", b"1", start + 2, start + 2, 1)
    inner = TransactionResult(True, start + 2, (PutResult(None),))
    assert result == TransactionResult(
        True, start + 2, (PutResult(None), DeleteResult((old,)), ReadResult((new,), start + 2, 1), inner)
    )
    assert await kv.revision() == start + 2


async def test_a_condition_on_a_range_must_hold_for_each_key(kv: KV, at: str) -> None:
    await written(kv, at + "a", 1)
    await written(kv, at + "b", 2)
    for operand, is_met in ((1, False), (3, True)):
        compare = Compare(KeyRange.prefix(at), "version", "<", operand)
        assert (await kv.transact(Transaction([compare]))).is_met is is_met


async def test_a_transaction_that_changes_nothing_tells_the_present(kv: KV, at: str) -> None:
    start = await written(kv, at + "a", 1)
    result = await kv.transact(Transaction(then=[Delete(KeyRange.key(at + "none"))]))
    assert (result.revision, result.results) == (start + 1, (DeleteResult(()),))
    assert await kv.revision() == start + 1


async def test_a_transaction_that_reads_what_is_not_there_to_be_read_changes_nothing(kv: KV, at: str) -> None:
    start = await written(kv, at + "a", 2)
    await kv.compact(start + 2)
    for revision, error in ((start + 1, CompactedError), (start + 9, FutureRevisionError)):
        with pytest.raises(error):
            await kv.transact(
                Transaction(then=[Put(at + "b", b""), Read(KeyRange.key(at + "a"), revision=revision)])
            )
    assert await kv.revision() == start + 2


async def test_everything_in_a_range_can_be_removed_as_one_revision(kv: KV, at: str) -> None:
    start = await written(kv, at + "a", 1)
    await written(kv, at + "b", 1)
    result = await kv.transact(Transaction(then=[Delete(KeyRange.prefix(at))]))
    assert result.revision == start + 3
    assert isinstance(result.results[0], DeleteResult)
    assert [value.key for value in result.results[0].previous] == [at + "a", at + "b"]
    assert (await kv.range(KeyRange.prefix(at))).count == 0
