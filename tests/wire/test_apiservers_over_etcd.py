"""Two servers over one real etcd."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import msgspec
import pytest

from kinformer.apiserver import ApiServer
from kinformer.meta import Resource
from kinformer.testing import AppTransport
from tests.etcd import running_or_skipped

pytestmark = pytest.mark.wire

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[str]:
    with running_or_skipped(tmp_path) as endpoint:
        yield endpoint


async def test_what_is_written_through_one_is_watched_through_the_other(etcd: str) -> None:
    from kinformer.apiserver.storage.etcd import EtcdKV

    async with (
        EtcdKV(etcd) as one,
        EtcdKV(etcd) as two,
        ApiServer(storage=one) as left,
        ApiServer(storage=two) as right,
        left.serve() as written,
        right.serve() as watched,
        httpx.AsyncClient(base_url=written.url) as writer,
        httpx.AsyncClient(base_url=watched.url) as watcher,
    ):
        before = (await watcher.get(CONFIG_MAPS)).json()["metadata"]["resourceVersion"]
        async with watcher.stream("GET", f"{CONFIG_MAPS}?watch=true&resourceVersion={before}") as lines:
            made = await writer.post(CONFIG_MAPS, json={"metadata": {"name": "shared"}, "data": {"x": "1"}})
            reply = await writer.put(f"{CONFIG_MAPS}/shared", json={**made.json(), "data": {"x": "2"}})
            assert (made.status_code, reply.status_code) == (201, 200)
            assert (await writer.delete(f"{CONFIG_MAPS}/shared")).status_code == 200
            seen = []
            async for line in lines.aiter_lines():
                seen.append(msgspec.json.decode(line))
                if seen[-1]["type"] == "DELETED":
                    break
        assert [(event["type"], event["object"]["data"]["x"]) for event in seen] == [
            ("ADDED", "1"),
            ("MODIFIED", "2"),
            ("DELETED", "2"),
        ]
        page = (await watcher.get("/api/v1/namespaces?limit=2")).json()
        assert (len(page["items"]), page["metadata"]["remainingItemCount"]) == (2, 2)


async def test_a_list_is_as_new_as_what_was_written_through_another(etcd: str) -> None:
    """By the cache, where etcd can be believed how far it is; and by etcd itself where not, as before 3.4.31."""
    from kinformer.apiserver.storage.etcd import EtcdKV

    async with (
        EtcdKV(etcd) as one,
        EtcdKV(etcd) as two,
        ApiServer(storage=one) as left,
        ApiServer(storage=two) as right,
        httpx.AsyncClient(transport=AppTransport(left.app), base_url="http://left") as writer,
        httpx.AsyncClient(transport=AppTransport(right.app), base_url="http://right") as reader,
    ):
        for number in range(5):
            await writer.post(CONFIG_MAPS, json={"metadata": {"name": f"new-{number}"}})
            listed = (await reader.get(CONFIG_MAPS)).json()
            assert [item["metadata"]["name"] for item in listed["items"]] == [
                f"new-{each}" for each in range(number + 1)
            ]
        metrics = right.cacher(Resource.builtin("ConfigMap")).metrics
        read, held = metrics.get("apiserver_storage_list_total"), metrics.get("apiserver_cache_list_total")
        assert (read, held) == ((0, 5) if await two.tells_progress() else (5, 0))
