"""Whether a cache shows what the storage holds."""

import pytest

from kinformer.apiserver.cacher import CacheEvent, CacheOptions, Cacher, Content, Element, difference
from kinformer.apiserver.storage import (
    CompactedError,
    KeyRange,
    KeyValue,
    MemoryKV,
    ReadResult,
    UnavailableError,
)
from kinformer.testing import FakeClock, settle
from tests.unit.apiserver.cacher.stage import ALL, PREFIX, labels_in_value, running


async def filled(kv: MemoryKV) -> Content:
    """A cache of a and b, at revision 3."""
    for name in "ab":
        await kv.put(f"{PREFIX}{name}", b"{}")
    async with running(kv, FakeClock()) as (cacher, _):
        return cacher.content


def element(name: str, revision: int) -> Element:
    return Element(KeyValue(PREFIX + name, b"{}", revision, revision, 1), labels_in_value)


async def test_equal_sides_have_no_difference_whatever_happens_later() -> None:
    kv = MemoryKV()
    content = await filled(kv)
    assert await difference(kv, content, ALL) == ""
    await kv.put(f"{PREFIX}a", b"{}")
    await kv.delete(f"{PREFIX}b")
    assert await difference(kv, content, ALL) == ""


@pytest.mark.parametrize(
    ("lie", "text"),
    [
        pytest.param(
            CacheEvent.of(4, f"{PREFIX}a", element("a", 4), element("a", 2), time=0.0),
            f"the cache has {PREFIX}a of revision 4, the storage {PREFIX}a of revision 2",
            id="another state",
        ),
        pytest.param(
            CacheEvent.of(4, f"{PREFIX}b", None, element("b", 3), time=0.0),
            f"the cache has nothing more, the storage {PREFIX}b of revision 3",
            id="missing",
        ),
        pytest.param(
            CacheEvent.of(4, f"{PREFIX}c", element("c", 4), None, time=0.0),
            f"the cache has {PREFIX}c of revision 4, the storage nothing more",
            id="made up",
        ),
    ],
)
async def test_the_first_difference_is_named(lie: CacheEvent, text: str) -> None:
    kv = MemoryKV()
    content = await filled(kv)
    await kv.put("/elsewhere", b"")
    content.apply(lie)
    assert await difference(kv, content, ALL) == f"at revision 4 {text}"


async def test_large_collections_are_compared_to_their_end() -> None:
    kv = MemoryKV(history=20_000)
    for number in range(10_001):
        await kv.put(f"{PREFIX}{number:05}", b"{}")
    async with running(kv, FakeClock()) as (cacher, _):
        assert await difference(kv, cacher.content, ALL) == ""
        assert await difference(kv, cacher.content, KeyRange.prefix(f"{PREFIX}1")) == ""


async def test_of_a_revision_that_is_gone_nobody_can_say() -> None:
    kv = MemoryKV()
    content = await filled(kv)
    await kv.put("/elsewhere", b"")
    await kv.compact(4)
    with pytest.raises(CompactedError):
        await difference(kv, content, ALL)


async def test_while_they_differ_the_past_is_read_from_the_storage(caplog: pytest.LogCaptureFixture) -> None:
    kv, clock = Away(), FakeClock()
    await kv.put(f"{PREFIX}a", b"{}")
    async with running(kv, clock, CacheOptions(check_period=300.0)) as (cacher, _):
        await clock.advance(299.0)
        assert outcomes(cacher) == (0, 0, 0)
        await clock.advance(1.0)
        assert outcomes(cacher) == (1, 0, 0)
        right = cacher.content.get(f"{PREFIX}a")
        assert right is not None
        now = await kv.put("/elsewhere", b"")
        cacher.content.apply(CacheEvent.of(now.mod_revision, right.key, None, right, time=0.0))
        await clock.advance(300.0)
        assert outcomes(cacher) == (1, 1, 0)
        assert f"the cache of {PREFIX} is wrong: at revision 3 the cache has nothing more" in caplog.text
        assert not cacher.content.has(3)
        now = await kv.put(f"{PREFIX}a", b"{}")
        await clock.advance(300.0)
        assert outcomes(cacher) == (2, 1, 0)
        assert not cacher.content.has(now.mod_revision)
        kv.is_away = True
        await clock.advance(300.0)
        assert outcomes(cacher) == (2, 1, 1)
        await kv.put(f"{PREFIX}b", b"{}")
        await settle()
        assert cacher.content.has(await kv.revision())


class Away(MemoryKV):
    """A storage that can be away."""

    is_away = False

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        if self.is_away:
            raise UnavailableError("away")
        return await super().range(keys, revision=revision, limit=limit, count_only=count_only)


def outcomes(cacher: Cacher) -> tuple[float, float, float]:
    name = "apiserver_storage_consistency_checks_total"
    return (
        cacher.metrics.get(name, status="success"),
        cacher.metrics.get(name, status="failure"),
        cacher.metrics.get(name, status="error"),
    )
