"""The storage in memory: how long it remembers, and how it is told to. The rest is in ``test_kv``."""

import pytest

from kinformer.apiserver.storage import KV, KeyRange, MemoryKV, Put, Transaction

A = KeyRange.prefix("/a")


def test_it_is_a_kv() -> None:
    kv: KV = MemoryKV()
    assert isinstance(kv, MemoryKV)


async def test_the_history_is_kept_as_long_as_was_promised_and_not_much_longer() -> None:
    kv = MemoryKV(history=10)
    for _ in range(100):
        await kv.put("/a", b"")
        revision = await kv.revision()
        async with kv.watch(A, max(2, revision - 9)) as watch:
            assert (await anext(watch)).changes[-1].revision == revision
        assert len(kv._core) <= 12


async def test_the_history_is_counted_in_revisions_however_much_each_changes() -> None:
    kv = MemoryKV(history=2)
    for _ in range(20):
        await kv.transact(Transaction(then=[Put(f"/a{number}", b"") for number in range(5)]))
    async with kv.watch(A, 20) as watch:
        assert {change.revision for change in (await anext(watch)).changes} == {20, 21}


async def test_its_watches_can_be_counted() -> None:
    kv = MemoryKV()
    async with kv.watch(A, 2), kv.watch_stream():
        assert kv.watches == 1
    assert kv.watches == 0


@pytest.mark.parametrize("what", ["history", "queue"])
def test_room_for_nothing_is_refused_by_name(what: str) -> None:
    with pytest.raises(ValueError, match=f"{what} 0 must be at least 1"):
        MemoryKV(**{what: 0})  # type: ignore[arg-type]
