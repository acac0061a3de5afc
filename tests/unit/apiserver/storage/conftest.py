"""The storages that one suite runs over."""

from collections.abc import AsyncIterator, Iterator

import pytest

from kinformer.apiserver.storage import KV, MemoryKV
from tests.etcd import running_or_skipped


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a real etcd listens, which all tests share."""
    with running_or_skipped(tmp_path_factory.mktemp("etcd")) as endpoint:
        yield endpoint


@pytest.fixture(params=["memory", pytest.param("etcd", marks=pytest.mark.wire)])
async def kv(request: pytest.FixtureRequest) -> AsyncIterator[KV]:
    """Each storage in turn; a real etcd is shared by all tests, and skipped where there is none."""
    if request.param == "memory":
        yield MemoryKV()
        return
    endpoint = request.getfixturevalue("etcd")
    from kinformer.apiserver.storage.etcd import EtcdKV

    async with EtcdKV(endpoint) as kv:
        yield kv


@pytest.fixture
def at(request: pytest.FixtureRequest) -> str:
    """Where the keys of a test lie, which has the storage to itself only there."""
    return f"/{request.node.name}/"
