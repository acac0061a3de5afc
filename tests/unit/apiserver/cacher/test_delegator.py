"""Reads over cache and storage. A number in a name is that of the behaviour in the reference's list."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from kinformer.apiserver.cacher import (
    LATEST_REVISION,
    Cached,
    CacheOptions,
    Cacher,
    Cachers,
    Delegator,
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
    KeyValue,
    MemoryKV,
    ReadResult,
    UnavailableError,
)
from kinformer.testing import FakeClock, settle
from tests.unit.apiserver.cacher.stage import ALL, PREFIX, labels_in_value

PODS = Cached("pods", "", "pods", PREFIX, labels_in_value)
LOST = UnavailableError("cut")


class Counting(MemoryKV):
    """A storage that writes down what it is asked: ranges by their limits, and single keys. It may fail to be read."""

    def __init__(self) -> None:
        super().__init__()
        self.ranges: list[int] = []
        self.gets: list[int] = []
        self.is_lost = False
        self.meanwhile: Callable[[], Awaitable[None]] | None = None

    async def revision(self) -> int:
        if self.meanwhile is not None:
            await self.meanwhile()
        return await super().revision()

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        self.gets.append(revision)
        if self.is_lost:
            raise LOST
        return await super().get(key, revision=revision)

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        self.ranges.append(limit)
        if self.is_lost and limit == 10_000:  # the cache cannot begin again
            raise LOST
        return await super().range(keys, revision=revision, limit=limit, count_only=count_only)

    def forget(self) -> None:
        self.ranges.clear()
        self.gets.clear()


class World:
    """A storage, a cache of it, and who reads over both."""

    def __init__(self, options: CacheOptions) -> None:
        self.kv = Counting()
        self.clock = FakeClock()
        self.cachers = Cachers(self.kv, clock=self.clock, options=options)
        self.delegator = Delegator(self.kv, self.cachers)

    @property
    def cacher(self) -> Cacher:
        found = self.cachers.of(PODS)
        assert found is not None
        return found

    async def put(self, *names: str) -> int:
        for name in names:
            await self.kv.put(f"{PREFIX}{name}", b"{}")
        return await self.kv.revision()

    async def list(self, **options: Any) -> Page:
        return await self.delegator.list(PODS, ListRequest(ALL, **options))

    async def get(self, name: str, revision: int | None) -> KeyValue | None:
        return await self.delegator.get(PODS, PREFIX + name, revision)

    async def later(self, seconds: float, ask: Callable[[], Awaitable[object]]) -> object:
        """What an answer is, or which error, when it is there after so many seconds and not before."""
        answers: list[object] = []

        async def read() -> None:
            try:
                answers.append(await ask())
            except (FutureRevisionError, NotReadyError) as error:
                answers.append(error)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await self.clock.advance(seconds - 0.01)
            assert answers == []
            await self.clock.advance(0.02)
            assert answers != []
        return answers[0]

    async def lose(self) -> None:
        """Let the cache lose its watch, and not begin anew."""
        self.kv.is_lost = True
        self.cacher.break_watch(LOST)
        await settle()
        self.kv.forget()


@asynccontextmanager
async def world(**options: Any) -> AsyncIterator[World]:
    made = World(CacheOptions(**options))
    async with anyio.create_task_group() as tasks:
        await tasks.start(made.cachers.run)
        await made.cacher.begin()
        made.kv.forget()
        yield made
        tasks.cancel_scope.cancel()


def names(page: object) -> list[str]:
    assert isinstance(page, Page)
    return [each.key.removeprefix(PREFIX) for each in page.items]


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


async def test_behaviour_25_while_it_is_not_ready_only_cheap_lists_are_answered() -> None:
    async with world(lowest=2, highest=2) as at:
        now = await at.put("n/a", "n/b")
        await settle()
        await at.lose()
        await at.clock.advance(14.0)
        with pytest.raises(NotReadyError, match=r"storage is \(re\)initializing: cut") as caught:
            await at.list()
        assert caught.value.retry_after == 2
        with pytest.raises(NotReadyError):
            await at.list(limit=5, matches=lambda _: True)
        assert names(await at.list(limit=5)) == ["n/a", "n/b"]
        assert names(await at.list(revision=1, match="Exact")) == []  # which only the storage has
        with pytest.raises(FutureRevisionError):
            await at.list(limit=5, revision=now + 1, match="NotOlderThan")
        at.kv.is_lost = False
        assert await at.get("n/a", now) is not None


@pytest.mark.parametrize(("limit", "ranges"), [(0, []), (5, [5])])
async def test_a_watch_that_is_lost_between_question_and_answer_leaves_what_is_cheap_to_the_storage(
    limit: int, ranges: list[int]
) -> None:
    async with world() as at:
        await at.put("n/a")
        await settle()
        at.kv.meanwhile = at.lose
        if limit:
            assert names(await at.list(limit=limit)) == ["n/a"]
        else:
            with pytest.raises(NotReadyError, match="cut"):
                await at.list()
        assert at.kv.ranges == ranges


async def test_a_cache_that_is_closed_meanwhile_leaves_the_answer_to_the_storage() -> None:
    async with world() as at:
        at.cacher.pause()
        now = await at.put("n/a")
        answers: list[object] = []

        async def read(ask: Callable[[], Awaitable[object]]) -> None:
            answers.append(await ask())

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read, at.list)
            tasks.start_soon(read, lambda: at.get("n/a", now))
            await settle()
            at.cacher.close()
        page, value = sorted(answers, key=lambda each: isinstance(each, KeyValue))
        assert names(page) == ["n/a"]
        assert isinstance(value, KeyValue)
        assert names(await at.list()) == ["n/a"]


async def test_a_cache_that_cannot_begin_is_waited_for_three_seconds() -> None:
    made = World(CacheOptions())
    made.kv.is_lost = True
    async with anyio.create_task_group() as tasks:
        await tasks.start(made.cachers.run)
        assert isinstance(await made.later(3.0, made.list), NotReadyError)
        assert await made.later(3.0, lambda: made.list(limit=5)) == Page([], 1)
        tasks.cancel_scope.cancel()


async def test_without_caches_everything_is_read_from_the_storage() -> None:
    made = World(CacheOptions())
    now = await made.put("n/a", "n/b")
    page = await made.list(limit=1)
    assert (names(page), page.revision, page.remaining) == (["n/a"], now, 1)
    assert await made.get("n/a", now) is not None
    with pytest.raises(FutureRevisionError):
        await made.list(revision=now + 1)


async def test_a_single_object_is_found_in_the_cache() -> None:
    async with world() as at:
        await at.put("n/a", "n/ab")
        request = ListRequest(KeyRange.key(f"{PREFIX}n/a"), is_single=True)
        page = await at.delegator.list(PODS, request)
        assert (names(page), at.kv.ranges) == (["n/a"], [])
        value = await at.get("n/a", page.revision)
        assert value is not None
        assert (value.mod_revision, at.kv.gets) == (page.revision - 1, [])
