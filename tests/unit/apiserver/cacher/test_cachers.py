"""The watch caches of a server."""

import anyio
import pytest

from kinformer.apiserver.cacher import (
    Cached,
    CacheOptions,
    Cachers,
    CacheWatch,
    CacheWatcher,
    InitialState,
    StoppedError,
)
from kinformer.apiserver.storage import KeyValue, MemoryKV
from kinformer.testing import FakeClock, settle
from tests.unit.apiserver.cacher.stage import PREFIX, labels_in_value

PODS = Cached("pods", "", "pods", PREFIX, labels_in_value)
JOBS = Cached("jobs", "batch", "jobs", "/registry/batch/jobs/", labels_in_value)


async def test_a_cache_is_made_for_who_asks_first_and_shared_by_the_others() -> None:
    kv = MemoryKV()
    cachers = Cachers(kv, clock=FakeClock(), options=CacheOptions(lowest=7))
    assert cachers.of(PODS) is None
    async with anyio.create_task_group() as tasks:
        await tasks.start(cachers.run)
        pods, jobs = cachers.of(PODS), cachers.of(JOBS)
        assert pods is not None
        assert jobs is not None
        assert cachers.of(PODS) is pods
        assert (len(cachers), pods.history.capacity) == (2, 7)
        await pods.begin()
        await jobs.begin()
        assert kv.watches == 2
        counted = 'apiserver_watch_cache_initializations_total{group="batch",resource="jobs"}'
        assert cachers.metrics()[counted] == 1
        tasks.cancel_scope.cancel()
    assert (kv.watches, len(cachers), cachers.of(PODS)) == (0, 0, None)
    assert pods is not None
    with pytest.raises(StoppedError):
        await pods.begin()


async def test_the_cache_of_what_is_not_served_any_more_ends() -> None:
    kv = MemoryKV()
    cachers = Cachers(kv, clock=FakeClock())
    async with anyio.create_task_group() as tasks:
        await tasks.start(cachers.run)
        pods, jobs = cachers.of(PODS), cachers.of(JOBS)
        await settle()
        cachers.keep(lambda key: key == "pods")
        await settle()
        assert (kv.watches, len(cachers)) == (1, 1)
        assert pods is not None
        assert pods.readiness.is_ready
        assert jobs is not None
        assert jobs.readiness.is_stopped
        again = cachers.of(JOBS)
        assert again is not jobs
        tasks.cancel_scope.cancel()


async def test_one_that_ends_before_it_began_leaves_nothing() -> None:
    kv = MemoryKV()
    cachers = Cachers(kv, clock=FakeClock())
    async with anyio.create_task_group() as tasks:
        await tasks.start(cachers.run)
        cachers.of(PODS)
        cachers.keep(lambda _: False)
        await settle()
        assert kv.watches == 0
        tasks.cancel_scope.cancel()


async def test_whoever_follows_shares_the_cache_that_there_is() -> None:
    kv = MemoryKV()
    cachers = Cachers(kv, clock=FakeClock())
    async with anyio.create_task_group() as tasks:
        await tasks.start(cachers.run)
        async with cachers.follow(PODS) as one, cachers.follow(PODS) as two:
            assert one is two
            assert one.cacher is cachers.of(PODS)
        assert not one.cacher.readiness.is_stopped
        tasks.cancel_scope.cancel()


async def test_while_there_are_no_caches_whoever_follows_has_one_of_its_own_for_so_long() -> None:
    kv = MemoryKV()
    cachers = Cachers(kv, clock=FakeClock())
    with pytest.raises(LookupError, match="mine"):
        async with cachers.follow(PODS) as one, cachers.follow(PODS) as two:
            await one.cacher.begin()
            await two.cacher.begin()
            assert (one.cacher is two.cacher, kv.watches, len(cachers)) == (False, 2, 0)
            raise LookupError("mine")
    assert (kv.watches, one.cacher.readiness.is_stopped) == (0, True)


async def test_a_cache_of_ones_own_ends_with_what_is_served_too() -> None:
    kv = MemoryKV()
    cachers = Cachers(kv, clock=FakeClock())
    async with cachers.follow(PODS) as mine:
        await mine.cacher.begin()
        cachers.keep(lambda key: key == "pods")
        await settle()
        assert mine.cacher.readiness.is_ready
        cachers.keep(lambda _: False)
        await settle()
        assert mine.cacher.readiness.is_stopped


async def test_a_cache_that_is_made_late_begins_with_the_past_and_is_ready_at_the_present() -> None:
    kv = MemoryKV()
    for name in "abc":
        await kv.put(f"{PREFIX}n/{name}", b"{}")
    async with Cachers(kv, clock=FakeClock()).follow(PODS) as following:
        cacher = following.cacher
        await cacher.begin()
        assert (cacher.history.listed, cacher.revision, len(cacher.history)) == (1, 4, 3)
        assert [event.revision for event in cacher.history.since(2).take(10)] == [3, 4]


async def test_what_is_compacted_away_is_no_past_to_begin_with() -> None:
    kv = MemoryKV()
    for name in "abc":
        await kv.put(f"{PREFIX}n/{name}", b"{}")
    await kv.compact(3)
    async with Cachers(kv, clock=FakeClock()).follow(PODS) as following:
        await following.cacher.begin()
        assert (following.cacher.history.listed, len(following.cacher.content)) == (3, 3)


class Forgetful(MemoryKV):
    """A storage that compacts just when the past is to be read."""

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        found = await super().get(key, revision=revision)
        await self.compact(4)
        return found


async def test_a_past_that_is_lost_between_question_and_answer_is_done_without() -> None:
    kv = Forgetful()
    for name in "abc":
        await kv.put(f"{PREFIX}n/{name}", b"{}")
    async with Cachers(kv, clock=FakeClock()).follow(PODS) as following:
        await following.cacher.begin()
        assert (following.cacher.history.listed, following.cacher.readiness.generation) == (4, 1)


async def test_a_cache_that_retires_tells_what_had_happened_by_then() -> None:
    kv, clock = MemoryKV(), FakeClock()
    cachers = Cachers(kv, clock=clock)
    async with anyio.create_task_group() as tasks:
        await tasks.start(cachers.run)
        async with cachers.follow(PODS) as following:
            await following.cacher.begin()
            watcher = CacheWatcher(InitialState([], 0.0), 1, size=10)
            following.dispatcher.join(watcher)
            for name in "abc":
                await kv.put(f"{PREFIX}n/{name}", b"{}")
            cachers.keep(lambda _: False)
            assert not watcher.is_closed
            told = [item async for batch in CacheWatch(watcher, following.dispatcher) for item in batch]
        assert [item.version for item in told] == [2, 3, 4]
        assert following.cacher.readiness.is_stopped
        tasks.cancel_scope.cancel()


async def test_one_that_retires_while_it_cannot_read_ends_at_once() -> None:
    cachers = Cachers(MemoryKV(), clock=FakeClock())
    async with cachers.follow(PODS) as following:
        following.cacher.retire()
        assert following.cacher.readiness.is_stopped


@pytest.mark.parametrize(("field", "value"), [("queue_size", 0), ("dispatch_budget", -0.1)])
def test_options_that_make_no_sense_are_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{field} {value}"):
        CacheOptions(**{field: value})  # type: ignore[arg-type]
