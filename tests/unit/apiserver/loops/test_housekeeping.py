import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx
import pytest

from kinformer.apiserver import ApiServer
from kinformer.apiserver.registry import StatusError
from kinformer.apiserver.storage import CompactedError, KeyRange, MemoryKV, ReadResult, UnavailableError
from kinformer.testing import AppTransport, FakeClock, settle

CONFIG_MAPS = "/api/v1/namespaces/a/configmaps"
NAMESPACES = "/api/v1/namespaces"
MERGE = {"Content-Type": "application/merge-patch+json"}


@asynccontextmanager
async def client_of(
    storage: MemoryKV | None = None, clock: FakeClock | None = None
) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        ApiServer(storage=storage, clock=clock or FakeClock()) as server,
        httpx.AsyncClient(transport=AppTransport(server.app), base_url="http://test") as client,
    ):
        if storage is None or (await client.get(f"{NAMESPACES}/a")).status_code == 404:
            await client.post(NAMESPACES, json={"metadata": {"name": "a"}})
        yield client


async def create(
    client: httpx.AsyncClient, name: str, *owners: dict[str, Any], **metadata: Any
) -> dict[str, Any]:
    body = {"metadata": {"name": name, "ownerReferences": list(owners), **metadata}}
    reply = await client.post(CONFIG_MAPS, json=body)
    assert reply.status_code == 201, reply.text
    created: dict[str, Any] = reply.json()
    return created


def owned_by(owner: dict[str, Any], *, block: bool = False) -> dict[str, Any]:
    metadata = owner["metadata"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"]}
    return {**reference, "blockOwnerDeletion": block}


async def delete(client: httpx.AsyncClient, name: str, policy: str = "Background") -> None:
    reply = await client.request("DELETE", f"{CONFIG_MAPS}/{name}", json={"propagationPolicy": policy})
    assert reply.status_code == 200
    await settle()


async def names(client: httpx.AsyncClient) -> list[str]:
    items = (await client.get(CONFIG_MAPS)).json()["items"]
    return [item["metadata"]["name"] for item in items]


async def test_dependents_follow_their_owner_g_2() -> None:
    async with client_of() as client:
        owner = await create(client, "owner")
        child = await create(client, "child", owned_by(owner))
        await create(client, "grandchild", owned_by(child))
        await create(client, "other")
        await delete(client, "owner")
        assert await names(client) == ["other"]


async def test_dependents_survive_an_owner_that_orphans_them_g_4() -> None:
    async with client_of() as client:
        owner = await create(client, "owner")
        await create(client, "child", owned_by(owner))
        await delete(client, "owner", "Orphan")
        assert await names(client) == ["child"]
        child = (await client.get(f"{CONFIG_MAPS}/child")).json()
        assert not child["metadata"].get("ownerReferences")


async def test_an_owner_in_the_foreground_waits_for_what_blocks_it_g_3() -> None:
    async with client_of() as client:
        owner = await create(client, "owner")
        await create(client, "child", owned_by(owner, block=True), finalizers=["example.dev/mine"])
        await delete(client, "owner", "Foreground")
        assert await names(client) == ["child", "owner"]
        waiting = (await client.get(f"{CONFIG_MAPS}/owner")).json()["metadata"]
        assert waiting["finalizers"] == ["foregroundDeletion"]
        await client.patch(f"{CONFIG_MAPS}/child", content=b'{"metadata":{"finalizers":null}}', headers=MERGE)
        await settle()
        assert await names(client) == []


async def test_a_dependent_of_two_loses_one_and_then_goes_with_the_other_g_5() -> None:
    async with client_of() as client:
        first, second = await create(client, "first"), await create(client, "second")
        await create(client, "child", owned_by(first), owned_by(second))
        await delete(client, "first")
        child = (await client.get(f"{CONFIG_MAPS}/child")).json()
        assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["second"]
        await delete(client, "second")
        assert await names(client) == []


async def test_two_that_own_each_other_go_together() -> None:
    async with client_of() as client:
        first = await create(client, "first")
        second = await create(client, "second", owned_by(first, block=True))
        patch = {"metadata": {"ownerReferences": [owned_by(second, block=True)]}}
        await client.patch(f"{CONFIG_MAPS}/first", json=patch, headers=MERGE)
        await delete(client, "first", "Foreground")
        assert await names(client) == []


async def test_an_owner_of_a_kind_that_comes_later_is_waited_for() -> None:
    reference = {"apiVersion": "example.dev/v1", "kind": "Site", "name": "s", "uid": "gone"}
    async with client_of() as client:
        await create(client, "child", reference)
        await settle()
        assert await names(client) == ["child"]
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": {"type": "object"}},
        }
        spec = {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": "sites", "kind": "Site"},
            "versions": [version],
        }
        body = {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "sites.example.dev"},
            "spec": spec,
        }
        reply = await client.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", json=body)
        assert reply.status_code == 201, reply.text
        await settle()
        assert await names(client) == []


async def test_a_namespace_goes_with_all_that_is_in_it_n_2() -> None:
    async with client_of() as client:
        await create(client, "first")
        await create(client, "second", finalizers=["example.dev/mine"])
        answer = (await client.delete(f"{NAMESPACES}/a")).json()
        assert answer["status"]["phase"] == "Terminating"
        await settle()
        assert await names(client) == ["second"]
        refused = await client.post(CONFIG_MAPS, json={"metadata": {"name": "third"}})
        assert refused.status_code == 403
        await client.patch(
            f"{CONFIG_MAPS}/second", content=b'{"metadata":{"finalizers":null}}', headers=MERGE
        )
        await settle()
        assert (await client.get(f"{NAMESPACES}/a")).status_code == 404


async def test_an_empty_namespace_goes_at_once_unless_somebody_else_holds_it_n_2() -> None:
    async with client_of() as client:
        await client.post(NAMESPACES, json={"metadata": {"name": "b", "finalizers": ["example.dev/mine"]}})
        for name in "ab":
            await client.delete(f"{NAMESPACES}/{name}")
        await settle()
        assert (await client.get(f"{NAMESPACES}/a")).status_code == 404
        held = (await client.get(f"{NAMESPACES}/b")).json()
        assert not held["spec"].get("finalizers")


async def test_what_was_left_undone_is_done_at_the_next_start() -> None:
    storage = MemoryKV()
    async with client_of(storage) as client:
        owner = await create(client, "owner")
        await create(client, "child", owned_by(owner))
    found = await storage.range(KeyRange.prefix("/registry/core/configmaps/a/owner"))
    await storage.delete(found.items[0].key)
    async with client_of(storage) as client:
        await settle()
        assert await names(client) == []


class Forgetful(MemoryKV):
    """A storage that compacts away what the watch of the whole has not seen yet, once; and may be away then."""

    def __init__(self) -> None:
        super().__init__()
        self.forgets = False
        self.is_away = False

    async def range(
        self, keys: KeyRange, *, revision: int = 0, limit: int = 0, count_only: bool = False
    ) -> ReadResult:
        if self.is_away and keys.start == "/registry/":
            raise UnavailableError("away")
        return await super().range(keys, revision=revision, limit=limit, count_only=count_only)

    @asynccontextmanager
    async def watch(self, keys: KeyRange, from_revision: int) -> AsyncIterator[Any]:
        async with super().watch(keys, from_revision) as watch:
            yield _ForgetfulWatch(self, watch) if keys.start == "/registry/" else watch


class _ForgetfulWatch:
    def __init__(self, storage: Forgetful, watch: Any) -> None:
        self.storage = storage
        self.watch = watch

    def __aiter__(self) -> "_ForgetfulWatch":
        return self

    async def __anext__(self) -> Any:
        batch = await anext(self.watch)
        if self.storage.forgets:
            self.storage.forgets = False
            raise CompactedError(1, 2)
        return batch


async def test_falling_behind_starts_over(caplog: pytest.LogCaptureFixture) -> None:
    storage = Forgetful()
    async with client_of(storage) as client:
        owner = await create(client, "owner")
        await create(client, "child", owned_by(owner))
        await settle()
        storage.forgets = True
        with caplog.at_level(logging.WARNING, "kinformer.apiserver"):
            await delete(client, "owner")
        assert await names(client) == []
    assert "starts over" in caplog.text


async def test_a_storage_that_is_away_when_it_starts_over_is_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    storage, clock = Forgetful(), FakeClock()
    async with client_of(storage, clock) as client:
        owner = await create(client, "owner")
        await create(client, "child", owned_by(owner))
        await settle()
        storage.forgets = storage.is_away = True
        with caplog.at_level(logging.WARNING, "kinformer.apiserver"):
            await delete(client, "owner")
            await clock.advance(3.5)
        assert await names(client) == ["child"]
        assert caplog.text.count("waits for the storage: away") == 1
        storage.is_away = False
        await clock.advance(0.5)
        assert await names(client) == []


async def test_a_server_does_not_begin_without_its_storage() -> None:
    storage = Forgetful()
    storage.is_away = True
    with pytest.raises(UnavailableError, match="away"):
        async with client_of(storage):
            pass


class Refusing(MemoryKV):
    """A storage that cannot delete for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.refuses: str = "nothing"
        self.error: Exception = StatusError(500, "InternalError", "not now")

    async def get(self, key: str, *, revision: int = 0) -> Any:
        if key.endswith(self.refuses):
            raise self.error
        return await super().get(key, revision=revision)


@pytest.mark.parametrize(
    "error", [StatusError(500, "InternalError", "not now"), UnavailableError("not now")], ids=repr
)
async def test_an_action_that_fails_is_tried_again_after_a_second(
    caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    storage, clock = Refusing(), FakeClock()
    storage.error = error
    async with client_of(storage, clock) as client:
        owner = await create(client, "owner")
        await create(client, "child", owned_by(owner))
        storage.refuses = "/child"
        with caplog.at_level(logging.WARNING, "kinformer.apiserver"):
            await delete(client, "owner")
        assert await names(client) == ["child"]
        assert "could not Delete: not now" in caplog.text
        storage.refuses = "nothing"
        await clock.advance(0.9)
        assert await names(client) == ["child"]
        await clock.advance(0.2)
        await settle()
        assert await names(client) == []


async def test_what_is_no_object_is_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    storage = MemoryKV()
    async with client_of(storage):
        with caplog.at_level(logging.WARNING, "kinformer.apiserver"):
            await storage.put("/registry/odd", b"odd")
            await settle()
            await storage.delete("/registry/odd")
            await settle()
    assert "/registry/odd" in caplog.text


async def test_cancelling_it_leaves_no_watch() -> None:
    storage = MemoryKV()
    async with anyio.create_task_group() as tasks:

        async def hold() -> None:
            async with client_of(storage):
                await anyio.Event().wait()

        tasks.start_soon(hold)
        await settle()
        tasks.cancel_scope.cancel()
    assert storage.watches == 0
