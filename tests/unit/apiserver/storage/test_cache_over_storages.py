"""The cache over each storage: the same reads and watches as the storage itself gives."""

import anyio
import pytest

from kinformer.apiserver.storage import KV, Cache, Change, Delete, KeyRange, Put, Transaction, WatchRequest


async def filled(kv: KV, at: str) -> int:
    """Six revisions behind the one that is returned: a, b, c, a again, then b goes and d comes, then c goes."""
    start = await kv.revision()
    for name in "abca":
        await kv.put(at + name, name.encode())
    await kv.transact(Transaction(then=[Delete(KeyRange.key(at + "b")), Put(at + "d", b"")]))
    await kv.delete(at + "c")
    return start


@pytest.mark.parametrize("strict", [False, True])
async def test_what_is_read_from_a_cache_is_what_the_storage_says(kv: KV, at: str, strict: bool) -> None:
    cache = Cache(kv, at, strict=strict)
    async with anyio.create_task_group() as tasks:
        await tasks.start(cache.run)
        start = await filled(kv, at)
        for back in range(6):
            for keys in (KeyRange.prefix(at), KeyRange.key(at + "b"), KeyRange(at + "b", at + "d")):
                assert await cache.range(keys, revision=start + 6 - back) == await kv.range(
                    keys, revision=start + 6 - back
                )
        cache.close()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("start", [0, 1, 3, 6, 7], ids=str)
async def test_what_a_cache_tells_is_what_the_storage_tells(
    kv: KV, at: str, start: int, strict: bool
) -> None:
    cache = Cache(kv, at, strict=strict)
    async with anyio.create_task_group() as tasks:
        await tasks.start(cache.run)
        before = await filled(kv, at)
        await cache.wait_for(before + 6)
        for keys in (KeyRange.prefix(at), KeyRange(at + "c", at + "e")):
            request = WatchRequest(keys, start and before + start)
            async with cache.watch(request) as local, kv.watch_stream() as stream:
                stream.create(request)
                assert (await anext(stream)).created
                last = (await kv.put(at + "d", b"last")).mod_revision
                told = []
                for source in (local, stream):
                    events: list[Change] = []
                    while not events or events[-1].revision < last:
                        events += (await anext(source)).events
                    told.append(events)
                assert told[0] == told[1]
        cache.close()
