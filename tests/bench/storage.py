"""What a page costs where there is much behind it, in the storage and in the watch cache; how often a sparse list reads."""

import asyncio
from collections.abc import Callable
from random import Random

from kinformer.apiserver.cacher import Attributes, CacheEvent, Content, Cut, Element, History, Page
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import ListOptions, StoredObject, Target, Verbs
from kinformer.apiserver.storage import (
    KeyRange,
    KeyValue,
    MemoryKV,
    Mvcc,
    ReadResult,
)
from kinformer.meta import LabelSelector
from kinformer.testing import FakeClock
from tests.bench.measure import Comparison

MANY, FEW = 100_000, 1_000
PAGES = 200
CALLS = 8
"""Reads of the storage for a hundred objects of which one in a hundred matches."""

ALL = KeyRange.prefix("/p/")


def comparisons() -> list[Comparison]:
    """A page at a past revision, with the number of keys behind it."""
    many, few = cached_pages(MANY), cached_pages(FEW)
    return [
        Comparison("page of 100 of 100,000 keys : of 1,000", pages(MANY), pages(FEW), PAGES, 1.5),
        Comparison("page of 100 of 100,000 cached objects : of 1,000", many, few, PAGES, 1.5),
    ]


def pages(count: int) -> Callable[[], object]:
    core = Mvcc()
    for number in range(count):
        core.put(f"/p/{number:06}", b"")
    core.commit()
    revision = core.revision
    for number in range(10):
        core.put(f"/p/{number:06}", b"")
        core.commit()
    return lambda: [core.range(ALL, revision=revision, limit=100).remaining for _ in range(PAGES)]


def cached_pages(count: int) -> Callable[[], object]:
    content = Content(History())
    content.replace((element(number, 1) for number in range(count)), 1)
    for revision in range(2, 12):
        new = element(revision, revision)
        content.apply(CacheEvent.of(revision, new.key, new, content.get(new.key), time=0.0))

    def page() -> Page:
        snapshot, cut = content.read(ALL, 1), Cut(100, None)
        cut.take(snapshot, len(snapshot))
        return cut.page(snapshot.revision)

    return lambda: [page().remaining for _ in range(PAGES)]


def element(number: int, revision: int) -> Element:
    key = f"/p/{number:06}"
    return Element(KeyValue(key, b"", revision, revision, 1), lambda _: Attributes({}, {}))


class CountingKV(MemoryKV):
    """Memory that counts its reads."""

    reads = 0

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        self.reads += 1
        return await super().range(keys, revision=revision, limit=limit, count_only=count_only)


def reads_seldom(*, quick: bool) -> bool:
    """Whether a sparse list makes few reads, though it needs a page of a hundred matches."""
    reads = asyncio.run(_list_sparsely(MANY // 5 if quick else MANY))
    holds = reads <= CALLS
    print(
        f"{'reads of the storage for 100 of 1 % of many':<64} {reads:9d}  (at most {CALLS}){'' if holds else '  FAILED'}"
    )
    return holds


async def _list_sparsely(count: int) -> int:
    kv, registry = CountingKV(), Registry()
    verbs = Verbs(kv, registry, clock=FakeClock(), random=Random(1))
    await verbs.bootstrap()
    served = registry.find("", "v1", "configmaps")
    if served is None:
        raise LookupError("config maps are built in")
    for number in range(count):
        metadata = {"name": f"{number:06}", "namespace": "default", "labels": {"rare": str(number % 100)}}
        content = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata}
        await kv.put(served.key("default", f"{number:06}"), StoredObject.encode(content))
    kv.reads = 0
    page = await verbs.list(
        Target(served, "default"), ListOptions(labels=LabelSelector.parse("rare=7"), limit=100)
    )
    if len(page.items) != 100:
        raise LookupError(f"{len(page.items)} of 100 were found")
    return kv.reads
