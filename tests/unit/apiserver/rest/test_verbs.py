"""The verbs as a whole: what is routed where, and what a cancelled request leaves."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from random import Random
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import (
    DeleteOptions,
    ListOptions,
    PatchKind,
    StatusError,
    Target,
    Verbs,
    WriteOptions,
)
from kinformer.apiserver.storage import (
    Change,
    KeyRange,
    KeyValue,
    MemoryKV,
    ReadResult,
    Transaction,
    TransactionResult,
    Watch,
    WatchStream,
)
from kinformer.testing import FakeClock

At = Callable[..., Target]
WRITE, DELETE = WriteOptions(), DeleteOptions()


class PausingKV:
    """A storage that is somewhere else: every call pauses before and after it acts, and may be cut short there."""

    def __init__(self, kv: MemoryKV) -> None:
        self.kv = kv
        self.pauses_left = -1
        self.scope = anyio.CancelScope()

    async def pause(self) -> None:
        self.pauses_left -= 1
        if self.pauses_left == 0:
            self.scope.cancel()
        await checkpoint()

    async def revision(self) -> int:
        await self.pause()
        return await self.kv.revision()

    async def get(self, key: str, *, revision: int = 0) -> KeyValue | None:
        await self.pause()
        return await self.kv.get(key, revision=revision)

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        await self.pause()
        return await self.kv.range(keys, revision=revision, limit=limit, count_only=count_only)

    async def put(self, key: str, value: bytes, *, expected: int | None = None) -> KeyValue:
        await self.pause()
        result = await self.kv.put(key, value, expected=expected)
        await self.pause()
        return result

    async def delete(self, key: str, *, expected: int | None = None) -> Change | None:
        await self.pause()
        result = await self.kv.delete(key, expected=expected)
        await self.pause()
        return result

    @asynccontextmanager
    async def watch(self, keys: KeyRange, from_revision: int) -> AsyncIterator[Watch]:
        await self.pause()
        async with self.kv.watch(keys, from_revision) as watch:
            yield watch

    def watch_stream(self) -> AbstractAsyncContextManager[WatchStream]:
        return self.kv.watch_stream()

    async def transact(self, transaction: Transaction) -> TransactionResult:
        return await self.kv.transact(transaction)

    async def tells_progress(self) -> bool:
        return await self.kv.tells_progress()

    async def compact(self, revision: int) -> None:
        await self.kv.compact(revision)


def definition() -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": "widgets.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


def widget(name: str) -> dict[str, Any]:
    return {"kind": "Widget", "apiVersion": "example.dev/v1", "metadata": {"name": name}}


async def make_server() -> tuple[PausingKV, Registry, Verbs, Callable[..., Target]]:
    kv, registry = PausingKV(MemoryKV()), Registry()
    verbs = Verbs(kv, registry, clock=FakeClock(), random=Random(1))
    await verbs.bootstrap()

    def target(plural: str, namespace: str = "", name: str = "") -> Target:
        found = next(each for each in registry.served() if each.plural == plural)
        return Target(found, namespace, name)

    await verbs.create(target("customresourcedefinitions"), definition(), WRITE)
    for name in "ab":
        await verbs.create(target("widgets", "default"), widget(name), WRITE)
    await verbs.create(
        target("configmaps", "default"), {"metadata": {"name": "a"}, "data": {"x": "1"}}, WRITE
    )
    return kv, registry, verbs, target


Work = Callable[[Verbs, Callable[..., Target]], Awaitable[object]]


@pytest.mark.parametrize(
    "work",
    [
        pytest.param(
            lambda verbs, at: verbs.create(at("configmaps", "default"), {"metadata": {"name": "b"}}, WRITE),
            id="create",
        ),
        pytest.param(
            lambda verbs, at: verbs.patch(
                at("configmaps", "default", "a"), PatchKind.MERGE, {"data": {"x": "2", "y": "2"}}, WRITE
            ),
            id="patch",
        ),
        pytest.param(
            lambda verbs, at: verbs.patch(
                at("configmaps", "default", "a"),
                PatchKind.APPLY,
                {"kind": "ConfigMap", "apiVersion": "v1", "data": {"y": "2"}},
                WriteOptions(field_manager="m"),
            ),
            id="apply",
        ),
        pytest.param(lambda verbs, at: verbs.delete(at("configmaps", "default", "a"), DELETE), id="delete"),
    ],
)
async def test_a_write_that_is_cut_short_was_done_or_was_not(work: Work) -> None:
    kv, _, verbs, at = await make_server()
    await work(verbs, at)
    done = await shown(verbs, at)
    outcomes = []
    for cut in range(1, 20):
        kv, _, verbs, at = await make_server()
        undone = await shown(verbs, at)
        kv.pauses_left = cut
        with kv.scope:
            await work(verbs, at)
        kv.pauses_left = -1
        outcomes.append(await shown(verbs, at) == done)
        assert outcomes[-1] or await shown(verbs, at) == undone
        if not kv.scope.cancelled_caught:
            break
    assert True in outcomes
    assert False in outcomes


async def shown(verbs: Verbs, at: Callable[..., Target]) -> list[Any]:
    page = await verbs.list(at("configmaps", "default"), ListOptions())
    return [{**item.content, "metadata": item.content["metadata"]["name"]} for item in page.items]


async def test_the_end_of_a_definition_that_is_cut_short_goes_on_with_the_next_deletion() -> None:
    for cut in range(1, 40):
        kv, registry, verbs, at = await make_server()
        kv.pauses_left = cut
        with kv.scope:
            await verbs.delete(at("customresourcedefinitions", "", "widgets.example.dev"), DELETE)
        kv.pauses_left = -1
        try:
            await verbs.delete(at("customresourcedefinitions", "", "widgets.example.dev"), DELETE)
        except StatusError as error:
            if error.code != 404:
                raise
        await Verbs(kv, registry, clock=FakeClock(), random=Random(1)).bootstrap()
        left = await kv.range(KeyRange.prefix("/registry/example.dev/"))
        assert left.items == ()
        assert not (await verbs.list(at("customresourcedefinitions"), ListOptions())).items
        if not kv.scope.cancelled_caught:
            return
    raise AssertionError("it never came to an end")


async def test_bootstrapping_twice_changes_nothing(verbs: Verbs, kv: MemoryKV) -> None:
    before = await kv.revision()
    await verbs.bootstrap()
    assert await kv.revision() == before


@pytest.mark.parametrize("verb", ["get", "update", "patch"])
async def test_a_subresource_that_is_not_served_is_not_found(verbs: Verbs, at: At, verb: str) -> None:
    target = at("configmaps", "default", "a", "status")
    calls: dict[str, Callable[[], Awaitable[object]]] = {
        "get": lambda: verbs.get(target),
        "update": lambda: verbs.update(target, {}, WRITE),
        "patch": lambda: verbs.patch(target, PatchKind.MERGE, {}, WRITE),
    }
    with pytest.raises(StatusError, match="the server could not find the requested resource") as caught:
        await calls[verb]()
    assert caught.value.to_status()["details"] == {}


async def test_verbs_that_a_subresource_does_not_have_are_refused(verbs: Verbs, at: At) -> None:
    target = at("namespaces", "", "default", "finalize")
    calls: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: verbs.get(target),
        lambda: verbs.create(target, {}, WRITE),
        lambda: verbs.delete(target, DELETE),
    )
    for call in calls:
        with pytest.raises(StatusError) as caught:
            await call()
        assert caught.value.code == 405
