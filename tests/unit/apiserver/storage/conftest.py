"""The storages that one suite runs over."""

import pytest

from kinformer.apiserver.storage import KV, MemoryKV


@pytest.fixture
def kv() -> KV:
    return MemoryKV()


@pytest.fixture
def at(request: pytest.FixtureRequest) -> str:
    """Where the keys of a test lie, which has the storage to itself only there."""
    return f"/{request.node.name}/"
