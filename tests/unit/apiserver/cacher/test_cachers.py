"""The watch caches of a server."""

import anyio
import pytest

from kinformer.apiserver.cacher import Cached, CacheOptions, Cachers, StoppedError
from kinformer.apiserver.storage import MemoryKV
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
