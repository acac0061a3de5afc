"""What holds for watches of every storage. A number in a name is that of the behaviour in the reference's list."""

import pytest

from kinformer.apiserver.storage import (
    KV,
    NO_WATCH,
    Change,
    CompactedError,
    Delete,
    KeyRange,
    Operation,
    Put,
    Transaction,
    WatchRequest,
)
from tests.unit.apiserver.storage.stage import needs, told, until_created


async def test_behaviour_03_a_watch_below_the_compaction_opens_and_then_ends(kv: KV, at: str) -> None:
    start = await kv.revision()
    for _ in range(4):
        await kv.put(at + "k", b"")
    await kv.compact(start + 4)
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange.prefix(at), start + 3))
        created = await until_created(stream)
        assert (created.canceled, created.revision) == (False, start + 4)
        over = await anext(stream)
        assert (over.canceled, over.compact_revision, over.revision, over.events) == (True, start + 4, 0, ())


async def test_behaviour_04_a_watch_from_a_delete_that_was_just_compacted_is_told_of_it(
    kv: KV, at: str
) -> None:
    await needs(kv, v3_4=36)
    await kv.put(at + "a", b"")
    gone = await kv.delete(at + "a")
    assert gone is not None
    await kv.compact(gone.revision)
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange.prefix(at), gone.revision, prev_kv=True))
        await until_created(stream)
        assert (await anext(stream)).events == (Change(gone.revision, at + "a", None, None),)


async def test_behaviour_05_a_watch_of_the_future_holds_up_progress(kv: KV, at: str) -> None:
    await needs(kv, v3_4=38)
    start = await kv.revision()
    async with kv.watch_stream() as stream:
        for watch_id, revision in ((1, start + 3), (2, 0)):
            stream.create(WatchRequest(KeyRange.prefix(at), revision, watch_id=watch_id))
            await until_created(stream)
        stream.request_progress()
        heard = []
        for _ in range(3):
            await kv.put(at + "a", b"")
        for _ in range(4):
            response = await anext(stream)
            heard.append((response.watch_id, told(response)))
        expected = [(2, [(start + 1, at + "a")]), (2, [(start + 2, at + "a")])]
        assert heard[:2] == expected
        assert sorted(heard[2:]) == [(1, [(start + 3, at + "a")]), (2, [(start + 3, at + "a")])]
        stream.request_progress()
        progress = await anext(stream)
        assert progress.is_progress
        assert (progress.watch_id, progress.revision) == (NO_WATCH, start + 3)


async def test_behaviour_06_progress_never_overtakes_events(kv: KV, at: str) -> None:
    await needs(kv, v3_4=25, v3_5=8)
    start = await kv.revision()
    for _ in range(2500):
        await kv.put(at + "a", b"")
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange.prefix(at), start + 1))
        stream.request_progress()
        await until_created(stream)
        seen: list[int] = []
        while len(seen) < 2500:
            response = await anext(stream)
            assert not response.is_progress
            assert len(response.events) <= 1000
            seen += [event.revision for event in response.events]
        assert seen == list(range(start + 1, start + 2501))


async def test_behaviour_07_a_transaction_is_one_response(kv: KV, at: str) -> None:
    await kv.put(at + "c", b"")
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange.prefix(at)))
        await until_created(stream)
        steps: list[Operation] = [Put(at + "b", b""), Put(at + "a", b""), Delete(KeyRange.key(at + "c"))]
        revision = (await kv.transact(Transaction(then=steps))).revision
        response = await anext(stream)
        assert told(response) == [(revision, at + "b"), (revision, at + "a"), (revision, at + "c")]
        assert [event.current is None for event in response.events] == [False, False, True]


async def test_a_watch_from_now_on_is_told_what_comes_and_nothing_of_what_is(kv: KV, at: str) -> None:
    await kv.put(at + "a", b"")
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange.prefix(at)))
        created = await until_created(stream)
        value = await kv.put(at + "b", b"")
        assert created.revision == value.mod_revision - 1
        assert told(await anext(stream)) == [(value.mod_revision, at + "b")]


async def test_a_watch_from_the_present_revision_is_told_of_it(kv: KV, at: str) -> None:
    value = await kv.put(at + "a", b"")
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange.prefix(at), value.mod_revision))
        await until_created(stream)
        assert told(await anext(stream)) == [(value.mod_revision, at + "a")]


async def test_a_watch_of_the_future_waits_for_its_revision(kv: KV, at: str) -> None:
    start = await kv.revision()
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange.prefix(at), start + 3))
        await until_created(stream)
        for _ in range(4):
            await kv.put(at + "a", b"")
        assert told(await anext(stream)) == [(start + 3, at + "a")]


async def test_watches_of_one_stream_are_told_apart_by_their_ids(kv: KV, at: str) -> None:
    async with kv.watch_stream() as stream:
        ids = []
        for watch_id, keys in (
            (0, KeyRange.key(at + "a")),
            (7, KeyRange.key(at + "b")),
            (0, KeyRange.prefix(at)),
        ):
            stream.create(WatchRequest(keys, watch_id=watch_id))
            ids.append((await until_created(stream)).watch_id)
        assert len(set(ids)) == 3
        assert ids[1] == 7
        await kv.put(at + "b", b"")
        responses = [await anext(stream), await anext(stream)]
        assert {response.watch_id for response in responses} == {ids[1], ids[2]}


@pytest.mark.parametrize(("start", "end"), [("b", "b"), ("b", "a")])
async def test_a_watch_of_an_empty_range_is_refused(kv: KV, at: str, start: str, end: str) -> None:
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange(at + start, at + end)))
        refused = await until_created(stream)
        assert (refused.canceled, refused.watch_id) == (True, NO_WATCH)
        assert "watcher range is empty" in refused.cancel_reason


async def test_an_id_that_is_taken_is_refused(kv: KV, at: str) -> None:
    async with kv.watch_stream() as stream:
        for _ in range(2):
            stream.create(WatchRequest(KeyRange.prefix(at), watch_id=3))
        assert not (await until_created(stream)).canceled
        refused = await until_created(stream)
        assert (refused.canceled, refused.watch_id) == (True, NO_WATCH)
        assert "duplicate watch ID" in refused.cancel_reason


async def test_nothing_comes_of_a_watch_that_was_cancelled(kv: KV, at: str) -> None:
    async with kv.watch_stream() as stream:
        for watch_id in (1, 2):
            stream.create(WatchRequest(KeyRange.prefix(at), watch_id=watch_id))
            await until_created(stream)
        stream.cancel(9)  # nobody
        stream.cancel(1)
        gone = await anext(stream)
        assert (gone.watch_id, gone.canceled, gone.created) == (1, True, False)
        value = await kv.put(at + "a", b"")
        response = await anext(stream)
        assert (response.watch_id, told(response)) == (2, [(value.mod_revision, at + "a")])


async def test_filters_leave_out_what_nobody_wants(kv: KV, at: str) -> None:
    async with kv.watch_stream() as stream:
        stream.create(WatchRequest(KeyRange.prefix(at), watch_id=1, no_put=True))
        stream.create(WatchRequest(KeyRange.prefix(at), watch_id=2, no_delete=True))
        await until_created(stream)
        await until_created(stream)
        value = await kv.put(at + "a", b"")
        await kv.delete(at + "a")
        responses = [await anext(stream), await anext(stream)]
        assert {each.watch_id: told(each) for each in responses} == {
            1: [(value.mod_revision + 1, at + "a")],
            2: [(value.mod_revision, at + "a")],
        }


@pytest.mark.parametrize("is_late", [False, True])
async def test_what_was_there_before_is_told_to_whoever_asks(kv: KV, at: str, is_late: bool) -> None:
    start = await kv.revision()

    async def write() -> None:
        await kv.put(at + "a", b"1")
        await kv.put(at + "a", b"2")
        await kv.delete(at + "a")

    if is_late:
        await write()
    async with kv.watch_stream() as stream:
        for watch_id in (1, 2):
            stream.create(
                WatchRequest(KeyRange.prefix(at), start + 1, watch_id=watch_id, prev_kv=watch_id == 1)
            )
        found: dict[int, list[bytes | None]] = {1: [], 2: []}
        if not is_late:
            await until_created(stream)
            await until_created(stream)
            await write()
        while len(found[1]) + len(found[2]) < 6:
            response = await anext(stream)
            found[response.watch_id] += [
                event.previous.value if event.previous else None for event in response.events
            ]
        assert found == {1: [None, b"1", b"2"], 2: [None, None, None]}


async def test_a_watch_gets_the_past_first_and_then_what_comes(kv: KV, at: str) -> None:
    first = await kv.put(at + "a", b"1")
    await kv.put(f"{at[:-1]}-elsewhere/b", b"")
    async with kv.watch(KeyRange.prefix(at), first.mod_revision) as watch:
        batch = await anext(watch)
        assert [change.current for change in batch.changes] == [first]
        assert batch.revision >= first.mod_revision
        second = await kv.put(at + "a", b"2")
        batch = await anext(watch)
        assert [(change.current, change.previous) for change in batch.changes] == [(second, first)]
        assert batch.revision == second.mod_revision
        await kv.delete(at + "a")
        batch = await anext(watch)
        assert [(change.current, change.previous) for change in batch.changes] == [(None, second)]


async def test_a_watch_ends_where_what_it_needs_is_compacted(kv: KV, at: str) -> None:
    start = await kv.revision()
    for _ in range(4):
        await kv.put(at + "a", b"")
    await kv.compact(start + 3)
    with pytest.raises(CompactedError) as caught:
        async with kv.watch(KeyRange.prefix(at), start + 2) as watch:
            await anext(watch)
    assert caught.value.compacted == start + 3


async def test_a_watch_ends_where_what_was_there_before_is_compacted(kv: KV, at: str) -> None:
    """Its first change can be told, but nobody could say whether it came or was changed."""
    start = await kv.revision()
    for _ in range(4):
        await kv.put(at + "a", b"")
    await kv.compact(start + 3)
    async with kv.watch(KeyRange.prefix(at), start + 3) as watch:
        with pytest.raises(CompactedError):
            await anext(watch)
    async with kv.watch(KeyRange.prefix(at), start + 4) as watch:
        assert [change.revision for change in (await anext(watch)).changes] == [start + 4]


async def test_progress_that_was_asked_for_always_comes(kv: KV, at: str) -> None:
    await kv.put(at + "a", b"")
    revision = await kv.revision()
    async with kv.watch(KeyRange.prefix(at), revision + 1) as watch:
        watch.request_progress()
        batch = await anext(watch)
        assert (list(batch.changes), batch.revision) == ([], revision)
        value = await kv.put(at + "a", b"")
        assert (await anext(watch)).revision == value.mod_revision
