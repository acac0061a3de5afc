"""A server without HTTP: verbs over memory, time that moves by hand, chance that repeats."""

from collections.abc import Callable
from random import Random

import pytest

from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import Target, Verbs
from kinformer.apiserver.storage import MemoryKV
from kinformer.testing import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def kv() -> MemoryKV:
    return MemoryKV()


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.fixture
async def verbs(kv: MemoryKV, registry: Registry, clock: FakeClock) -> Verbs:
    verbs = Verbs(kv, registry, clock=clock, random=Random(7))
    await verbs.bootstrap()
    return verbs


@pytest.fixture
def at(registry: Registry) -> Callable[..., Target]:
    """``at("pods", "default", "a", "status")``: the target of a request, by the plural of what is served."""

    def target(
        plural: str, namespace: str = "", name: str = "", subresource: str = "", version: str = ""
    ) -> Target:
        found = [
            each for each in registry.served() if each.plural == plural and version in {"", each.version}
        ]
        return Target(found[0], namespace, name, subresource)

    return target
