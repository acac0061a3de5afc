"""Reads over cache and storage. A number in a name is that of the behaviour in the reference's list."""

from typing import Any

import anyio
import pytest

from kinformer.apiserver.cacher import (
    LATEST_REVISION,
    Cached,
    Element,
    ListRequest,
    NotReadyError,
    Page,
    Position,
)
from kinformer.apiserver.storage import (
    CompactedError,
    FutureRevisionError,
    KeyRange,
)
from kinformer.testing import settle
from tests.unit.apiserver.cacher.delegator_stage import World, names, world
from tests.unit.apiserver.cacher.stage import PREFIX, labels_in_value

PODS = Cached("pods", "", "pods", PREFIX, labels_in_value)


def consistent_reads(world: World) -> dict[tuple[str, str], float]:
    name = "apiserver_watch_cache_consistent_read_total"
    pairs = [
        (success, fallback) for success in ("true", "false") for fallback in ("true", "false", "skipped")
    ]
    found = {pair: world.cacher.metrics.get(name, success=pair[0], fallback=pair[1]) for pair in pairs}
    return {pair: count for pair, count in found.items() if count}


async def test_behaviour_12_a_consistent_list_is_as_new_as_writes_to_others_and_reads_no_list() -> None:
    async with world() as at:
        await at.put("n/a")
        await at.kv.put("/registry/core/configmaps/n/c", b"{}")
        page = await at.list()
        assert names(page) == ["n/a"]
        assert page.revision == await at.kv.revision()
        assert (at.kv.ranges, at.kv.gets) == ([], [])
        assert consistent_reads(at) == {("true", "false"): 1}
        assert at.cacher.metrics.get("apiserver_cache_list_total") == 1


async def test_behaviour_13_pages_are_fixed_at_a_revision_and_any_version_has_no_pages() -> None:
    async with world() as at:
        await at.put(*(f"n/{name}" for name in "abcde"))
        page = await at.list(limit=2)
        assert (names(page), page.start, page.remaining) == (["n/a", "n/b"], f"{PREFIX}n/b\0", 3)
        revision = page.revision
        await at.put("n/bb", "n/a")
        await at.kv.delete(f"{PREFIX}n/d")
        page = await at.list(limit=2, position=Position(revision, "n/b\0"))
        assert (names(page), page.revision, page.remaining) == (["n/c", "n/d"], revision, 1)
        page = await at.list(limit=2, position=Position(revision, "n/d\0"))
        assert (names(page), page.revision, page.start) == (["n/e"], revision, "")
        everything = await at.list(revision=0, limit=2)
        assert (len(everything.items), everything.start) == (5, "")
        assert at.kv.ranges == []


async def test_any_version_is_what_is_known_even_where_more_has_happened() -> None:
    async with world() as at:
        at.cacher.pause()
        await at.put("n/a")
        assert names(await at.list(revision=0)) == []
        assert await at.get("n/a", 0) is None
        assert await at.get("n/a", None) is not None


async def test_behaviour_14_a_revision_that_is_too_large_is_an_error_after_three_seconds() -> None:
    async with world() as at:
        now = await at.put("n/a")
        for options in ({"revision": now + 1000}, {"revision": now + 1000, "match": "Exact"}):
            error = await at.later(3.0, lambda options=options: at.list(**options))  # type: ignore[misc]
            assert isinstance(error, FutureRevisionError)
            assert (error.revision, error.current) == (now + 1000, now)
        assert isinstance(await at.later(3.0, lambda: at.get("n/a", now + 1)), FutureRevisionError)
        assert at.kv.ranges == []
        assert at.cacher.metrics.get("apiserver_watch_cache_read_wait_seconds_count") == 0


async def test_behaviour_14_a_consistent_list_that_waits_in_vain_is_read_from_the_storage() -> None:
    async with world() as at:
        at.cacher.pause()
        await at.put("n/a")
        assert names(await at.later(3.0, at.list)) == ["n/a"]
        assert at.kv.ranges == [0]
        assert consistent_reads(at) == {("true", "true"): 1}


async def test_behaviour_14_or_by_option_the_client_is_to_come_again() -> None:
    async with world(falls_back=False) as at:
        at.cacher.pause()
        await at.put("n/a")
        error = await at.later(3.0, at.list)
        assert isinstance(error, NotReadyError)
        assert (error.retry_after, str(error)) == (
            1,
            "the watch cache has not caught up with the storage in time",
        )
        assert at.kv.ranges == []
        assert consistent_reads(at) == {("false", "skipped"): 1}


async def test_what_comes_up_in_time_is_answered_then_and_the_wait_is_counted() -> None:
    async with world() as at:
        revision = await at.put("n/a") + 1
        pages: list[Page] = []

        async def read() -> None:
            pages.append(await at.list(revision=revision))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await at.clock.advance(1.5)
            await at.put("n/b")
        assert names(pages[0]) == ["n/a", "n/b"]
        assert at.cacher.metrics.get("apiserver_watch_cache_read_wait_seconds_sum") == 1.5


@pytest.mark.parametrize("options", [{"match": "Exact"}, {"match": "Exact", "limit": 1}, {"limit": 1}])
async def test_behaviour_15_exact_and_legacy_exact_show_the_past_and_nothing_else(
    options: dict[str, Any],
) -> None:
    async with world() as at:
        then = await at.put("n/a")
        await at.put("n/b")
        await settle()
        page = await at.list(revision=then, **options)
        assert (names(page), page.revision, page.start) == (["n/a"], then, "")
        page = await at.list(revision=then)
        assert (names(page), page.revision) == (["n/a", "n/b"], then + 1)
        assert at.kv.ranges == []


async def test_behaviour_16_what_was_compacted_is_gone_from_the_cache_too() -> None:
    async with world() as at:
        then = await at.put("n/a")
        now = await at.put("n/b", "n/c")
        await settle()
        await at.kv.compact(now)
        with pytest.raises(CompactedError):
            await at.list(revision=then, match="Exact")
        assert names(await at.list(revision=now, match="Exact")) == ["n/a", "n/b", "n/c"]


async def test_behaviour_16_or_by_option_it_may_be_read_for_some_seconds_more() -> None:
    async with world(compaction_period=15.0) as at:
        then = await at.put("n/a")
        now = await at.put("n/b")
        await settle()
        assert names(await at.list(revision=then, match="Exact")) == ["n/a"]
        await at.kv.compact(now)
        await at.clock.advance(14.9)
        assert names(await at.list(revision=then, match="Exact")) == ["n/a"]
        await at.clock.advance(0.2)
        with pytest.raises(CompactedError):
            await at.list(revision=then, match="Exact")
        assert at.kv.gets == [then, then]


async def test_the_past_is_read_from_the_cache_though_the_storage_cannot_be_asked() -> None:
    async with world() as at:
        then = await at.put("n/a")
        await at.put("n/b")
        await settle()
        at.kv.is_lost = True
        assert names(await at.list(revision=then, match="Exact")) == ["n/a"]


async def test_behaviour_17_an_expired_page_can_be_gone_on_with_at_the_present() -> None:
    async with world() as at:
        await at.put("n/a", "n/b", "n/c")
        page = await at.list(limit=1)
        now = await at.put("n/bb")
        await settle()
        await at.kv.compact(now)
        with pytest.raises(CompactedError):
            await at.list(limit=1, position=Position(page.revision, "n/a\0"))
        page = await at.list(limit=1, position=Position(LATEST_REVISION, "n/a\0"))
        assert (names(page), page.revision) == (["n/b"], now)
        await at.put("n/ba")
        page = await at.list(position=Position(now, "n/b\0"))
        assert (names(page), page.revision) == (["n/bb", "n/c"], now)


async def test_a_state_that_only_the_storage_has_is_read_there() -> None:
    async with world(lowest=2, highest=2) as at:
        then = await at.put("n/a")
        await at.put("n/b", "n/c", "n/d")
        await settle()
        page = await at.list(revision=then, match="Exact")
        assert (names(page), page.revision, at.kv.ranges) == (["n/a"], then, [0])


def is_last(element: Element) -> bool:
    return element.fields["metadata.name"] == "0999"


@pytest.mark.parametrize(
    ("has_progress", "ranges"), [(True, []), (False, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512])]
)
async def test_behaviour_19_a_match_far_behind_takes_ten_reads_of_the_storage_and_none_with_the_cache(
    has_progress: bool, ranges: list[int]
) -> None:
    async with world(progress_supported=has_progress) as at:
        await at.put(*(f"n/{number:04}" for number in range(1000)))
        page = await at.list(limit=1, matches=is_last)
        assert (names(page), page.start, page.remaining) == (["n/0999"], "", None)
        assert at.kv.ranges == ranges
        fetched = {True: "apiserver_cache_list_fetched_objects_total"}.get(
            has_progress, "apiserver_storage_list_fetched_objects_total"
        )
        assert at.cacher.metrics.get(fetched) == 1000


async def test_twenty_of_two_thousand_with_a_rare_label_take_no_more_than_eight_reads() -> None:
    async with world(progress_supported=False) as at:
        await at.put(*(f"n/{number:05}" for number in range(2000)))
        await settle()
        page = await at.list(limit=20, matches=lambda element: element.key.endswith("00"))
        assert len(page.items) == 20
        assert len(at.kv.ranges) <= 8


async def test_a_single_object_is_found_in_the_cache() -> None:
    async with world() as at:
        await at.put("n/a", "n/ab")
        request = ListRequest(KeyRange.key(f"{PREFIX}n/a"), is_single=True)
        page = await at.delegator.list(PODS, request)
        assert (names(page), at.kv.ranges) == (["n/a"], [])
        value = await at.get("n/a", page.revision)
        assert value is not None
        assert (value.mod_revision, at.kv.gets) == (page.revision - 1, [])
