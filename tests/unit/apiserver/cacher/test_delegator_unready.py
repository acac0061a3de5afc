"""Who answers where the cache cannot."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from kinformer.apiserver.cacher import (
    CacheOptions,
    NotReadyError,
    Page,
)
from kinformer.apiserver.storage import (
    FutureRevisionError,
    KeyValue,
)
from kinformer.testing import settle
from tests.unit.apiserver.cacher.delegator_stage import World, names, world


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
