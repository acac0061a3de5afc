"""What a cache of a prefix refuses, and how."""

import pytest

from kinformer.apiserver.storage import (
    Cache,
    KeyRange,
    KeyRangeError,
    MemoryKV,
    UnsupportedRequestError,
    WatchRequest,
)
from tests.unit.apiserver.storage.cache_stage import rest, running

A, ALL = KeyRange.prefix("/a/"), KeyRange.prefix("")


@pytest.mark.parametrize(
    ("keys", "is_inside"),
    [
        (KeyRange.key("/a/1"), True),
        (A, True),
        (KeyRange("/a/1", "/a/2"), True),
        (KeyRange.key("/b/1"), False),
        (KeyRange("/a/1", "/b"), False),
        (KeyRange("/a/1", None), False),
        (ALL, False),
        (KeyRange("/a/2", "/a/1"), False),
        (KeyRange("/a/1", "/a/1"), False),
    ],
    ids=str,
)
async def test_only_what_lies_below_the_prefix_can_be_read_and_watched(
    keys: KeyRange, is_inside: bool
) -> None:
    async with running(MemoryKV()) as cache:
        async with cache.watch(WatchRequest(keys)) as watch:
            refused = await rest(watch)
        assert bool(refused) is not is_inside
        if is_inside:
            await cache.range(keys)
            return
        assert refused[0].canceled
        assert "key range" in refused[0].cancel_reason
        with pytest.raises(KeyRangeError):
            await cache.range(keys)


@pytest.mark.parametrize("option", ["prev_kv", "fragment", "no_put", "no_delete"])
async def test_a_watch_with_what_a_cache_cannot_do_is_refused_in_one_response(option: str) -> None:
    async with running(MemoryKV()) as cache:
        request = WatchRequest(A, watch_id=7, **{option: True})
        async with cache.watch(request) as watch:
            responses = [response async for response in watch]
    assert [(each.watch_id, each.canceled, each.cancel_reason) for each in responses] == [
        (7, True, f"unsupported request: {option}")
    ]


async def test_a_negative_revision_is_refused() -> None:
    async with running(MemoryKV()) as cache:
        with pytest.raises(ValueError, match="revision -1 must not be negative"):
            await cache.range(A, revision=-1)
        async with cache.watch(WatchRequest(A, -1)) as watch:
            assert [response.cancel_reason async for response in watch] == ["invalid revision -1"]


@pytest.mark.parametrize("option", [{"limit": 1}, {"count_only": True}], ids=str)
async def test_a_read_that_a_cache_cannot_do_is_refused(option: dict[str, int]) -> None:
    async with running(MemoryKV()) as cache:
        with pytest.raises(
            UnsupportedRequestError, match=f"{next(iter(option))} cannot be read from a cache"
        ):
            await cache.range(A, **option)  # type: ignore[arg-type]


async def test_it_runs_once_at_a_time() -> None:
    async with running(MemoryKV()) as cache:
        with pytest.raises(RuntimeError, match="runs already"):
            await cache.run()


@pytest.mark.parametrize(("option", "value"), [("window", 0), ("buffer", -1)])
def test_room_for_nothing_is_refused_by_name(option: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{option} {value}"):
        Cache(MemoryKV(), "/a/", **{option: value})  # type: ignore[arg-type]
