from typing import Any

import httpx
import msgspec
import pytest

from kinformer.client import Client
from kinformer.errors import (
    DecodeError,
    NotFoundError,
    ThrottledError,
    TransportError,
)
from kinformer.meta import Object, ObjectKey, Record
from kinformer.testing import FakeClock
from tests.unit.client.resource_stage import MAPS, client, config_map, maps, page


class Meta(msgspec.Struct):
    name: str


class Map(msgspec.Struct):
    metadata: Meta
    data: dict[str, str] = {}


async def test_get_gives_a_handle(script: Any) -> None:
    script.answer(config_map())
    script.answer(config_map())
    async with client(script) as c:
        obj = await maps(c).get("default/a")
        await maps(c).get(ObjectKey("default", "a"), version="0")
    assert (obj.key, obj["data"], obj.metadata.resource_version) == (
        ObjectKey("default", "a"),
        {"x": "1"},
        "7",
    )
    path = "GET /api/v1/namespaces/default/configmaps/a"
    assert script.asked == [path, f"{path} resourceVersion=0"]


async def test_get_gives_the_model_that_was_asked_for(script: Any) -> None:
    script.answer(config_map())
    script.answer(config_map(data=7))
    async with client(script) as c:
        typed = c.resource(MAPS, Map)
        assert await typed.get("default/a") == Map(Meta("a"), {"x": "1"})
        with pytest.raises(DecodeError, match="is no Map") as caught:
            await typed.get("default/a")
        assert caught.value.key == "default/a"
        assert typed.model is Map
        assert typed.untyped.model is Object


async def test_what_is_missing_is_not_found(script: Any) -> None:
    script.status(404, "NotFound", message='configmaps "a" not found')
    async with client(script) as c:
        with pytest.raises(NotFoundError, match="not found"):
            await maps(c).get("default/a")


async def test_an_answer_of_another_kind_is_refused(script: Any) -> None:
    script.answer(config_map(kind="Secret"))
    script.answer(b"<html>welcome to the wifi</html>")
    async with client(script) as c:
        with pytest.raises(DecodeError, match="found Secret"):
            await maps(c).get("default/a")
        with pytest.raises(DecodeError, match=r"cannot be read|not a Kubernetes object"):
            await maps(c).get("default/a")


async def test_a_list_without_a_limit_is_one_request_for_all(script: Any) -> None:
    script.answer(page(config_map("a"), config_map("b")))
    async with client(script) as c:
        found = await maps(c).list(labels={"app": "web"}, fields="metadata.name!=z", version="0")
    assert [obj.key.name for obj in found.items] == ["a", "b"]
    assert found.version == "9"
    assert script.asked == [
        "GET /api/v1/configmaps labelSelector=app=web fieldSelector=metadata.name!=z resourceVersion=0"
    ]


async def test_a_list_with_a_limit_is_one_page(script: Any) -> None:
    script.answer(page(config_map("a"), token="t"))
    script.answer(page(config_map("b")))
    async with client(script) as c:
        first = await maps(c).list(namespace="default", limit=1, version="5", version_match="Exact")
        second = await maps(c).list(namespace="default", limit=1, continue_token=first.continue_token)
    assert [obj.key.name for obj in (*first.items, *second.items)] == ["a", "b"]
    path = "GET /api/v1/namespaces/default/configmaps"
    assert script.asked == [
        f"{path} resourceVersion=5 resourceVersionMatch=Exact limit=1",
        f"{path} limit=1 continue=t",
    ]


async def test_a_list_that_is_paged_unasked_is_still_whole(script: Any) -> None:
    script.answer(page(config_map("a"), token="t"))
    script.answer(page(config_map("b")))
    async with client(script) as c:
        found = await maps(c).list()
    assert [obj.key.name for obj in found.items] == ["a", "b"]
    assert found.continue_token == ""


async def test_a_typed_list_rejects_what_does_not_fit(script: Any) -> None:
    script.answer(page(config_map("a"), config_map("b", data=7)))
    async with client(script) as c:
        found = await c.resource(MAPS, Map).list()
    assert found.items == (Map(Meta("a"), {"x": "1"}),)
    assert [error.key for error in found.rejected] == ["default/b"]


async def test_pages_come_one_by_one(script: Any) -> None:
    script.answer(page(config_map("a"), token="t"))
    script.answer(page(config_map("b")))
    async with client(script) as c:
        seen = [obj.key.name async for found in maps(c).pages(limit=1, version="0") for obj in found.items]
    assert seen == ["a", "b"]
    assert script.asked == [
        "GET /api/v1/configmaps resourceVersion=0 limit=1",
        "GET /api/v1/configmaps limit=1 continue=t",
    ]


async def test_pages_begin_again_when_their_moment_is_forgotten(script: Any) -> None:
    script.answer(page(config_map("a"), token="t"))
    script.status(410, "Expired")
    script.answer(page(config_map("b"), config_map("c"), version="12"))
    async with client(script) as c:
        found = [page async for page in maps(c).pages()]
    assert [(page.version, len(page.items)) for page in found] == [("9", 1), ("12", 2)]
    assert script.asked[0] == "GET /api/v1/configmaps limit=500"
    assert script.asked[2] == "GET /api/v1/configmaps"


async def test_where_sets_what_is_meant_when_nothing_is_said(script: Any) -> None:
    for _ in range(3):
        script.answer(page())
    script.answer(config_map())
    async with client(script) as c:
        here = maps(c).where(namespace="default", labels="app=web")
        await here.list()
        await here.list(namespace="", labels="app=db")
        await here.where(labels="").list()
        await here.get("a")
        assert here.key("a") == ObjectKey("default", "a")
    assert script.asked == [
        "GET /api/v1/namespaces/default/configmaps labelSelector=app=web",
        "GET /api/v1/configmaps labelSelector=app=db",
        "GET /api/v1/namespaces/default/configmaps",
        "GET /api/v1/namespaces/default/configmaps/a",
    ]


async def test_only_without_retries_is_a_failure_told_at_once(script: Any) -> None:
    clock = FakeClock()
    async with Client("http://server", transport=script, clock=clock) as c:
        source = maps(c).where(namespace="default").without_retries()
        script.fail(httpx.ConnectError("refused"))
        with pytest.raises(TransportError):
            await source.list()
        script.answer(b"", 429, {"Retry-After": "1"})
        with pytest.raises(ThrottledError):
            await source.status.without_retries().get("a")
        assert len(script.requests) == 2
        script.answer(b"", 429, {"Retry-After": "0"})
        script.answer(page())
        await maps(c).list()
    assert len(script.requests) == 4


class Packing:
    """Writes bytes backwards."""

    def unpack(self, held: bytes, /) -> bytes:
        return held[::-1]


def backwards(record: Record) -> Record:
    return Record(record.resource, record.key, record.metadata, record.raw[::-1], Packing())


async def test_lists_may_be_packed_as_they_arrive(script: Any) -> None:
    for _ in range(2):
        script.answer(msgspec.json.encode(page(config_map(), config_map(), config_map())))
    async with client(script) as c:
        plain = await maps(c).list()
        packed = await maps(c).packing(backwards).where(namespace="").without_retries().list()
    assert packed == plain
    assert [record.packing is not None for record in packed.records] == [True, True, False]


async def test_a_resource_client_shows_what_it_is_about(script: Any) -> None:
    shown = repr(maps(client(script)).where(namespace="a", labels="b=c"))
    assert shown == "<client of configmaps namespace=a labels=b=c>"
    assert [maps(client(script)).where(namespace=name).namespace for name in ("a", "")] == ["a", ""]
