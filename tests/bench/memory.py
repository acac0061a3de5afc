"""What a cache of pods takes of the memory, as a multiple of their JSON, and what it costs the garbage collector.

``python -m tests.bench.memory CACHE COUNT`` fills one, in a process of its own. Nobody but the cache keeps the pods. Ours are
whole informers with their indexes. The others hold models and nothing else, by key; they are measured with a tenth of
the pods, since what they take grows evenly with them.
"""

import asyncio
import gc
import json
import math
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import NamedTuple

import anyio

from kinformer.informer import SharedInformer
from tests.bench.pods import pod
from tests.bench.stalls import CLOCK, Fleet

COLLECTION = 0.010
"""Seconds that a full collection may take of 100,000 pods cached."""


class Cache(NamedTuple):
    """What is measured."""

    name: str
    what: str
    needs: str
    fewer: int = 1
    """It is measured with so many times fewer pods."""
    bound: float = math.inf
    """The multiple of their JSON that it may take."""


CACHES = (
    Cache("plain", "SharedInformer", "kinformer", bound=1.25),
    Cache("compact", "SharedInformer(compact=True)", "zstandard", bound=0.55),
    Cache("kubernetes_asyncio", "models of kubernetes-asyncio", "kubernetes_asyncio", 10),
    Cache("kubernetes", "cache of the official client", "kubernetes", 10),
)


class Found(NamedTuple):
    """What one process has found."""

    json: int
    """Bytes of all JSON, unpruned."""
    resident: int
    """Bytes by which the process has grown."""
    filling: float
    """Seconds of CPU time in which the pods were made, sent and cached."""
    collection: float
    """Seconds of CPU time that a full collection takes of the cache."""


def run(*, quick: bool) -> bool:
    """Measure each in turn, print a table, and say whether the bounds of ours hold.

    The quick run looks at few pods, where the fixed costs of an informer count, so it lets the bounds be half more, and a
    collection, which is a fraction of a millisecond then, take three times as long.
    """
    size, slack, patience = (5_000, 1.5, 3.0) if quick else (100_000, 1.0, 1.0)
    print(
        f"{'a cache of pods':<40} {'pods':>8} {'JSON':>8} {'resident':>9} {'filled in':>10} {'a full collection':>18}"
    )
    results = [_shown(cache, size // cache.fewer, slack, patience) for cache in CACHES if _is_there(cache)]
    return all(results)


def _is_there(cache: Cache) -> bool:
    return find_spec(cache.needs) is not None


def _shown(cache: Cache, size: int, slack: float, patience: float) -> bool:
    command = [sys.executable, "-m", "tests.bench.memory", cache.name, str(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = Found(*json.loads(done.stdout))
    ratio, collection = found.resident / found.json, found.collection * 100_000 / size
    figures = (
        f"{cache.what:<40} {size:8,} {found.json / size:6.0f} B {found.resident / size:7.0f} B "
        f"{found.filling / size * 1e6:7.0f} us {collection * 1e3:9.1f} ms/100,000  ratio {ratio:5.2f}"
    )
    if cache.bound == math.inf:
        print(figures)
        return True
    bound, within = cache.bound * slack, COLLECTION * patience
    holds = ratio <= bound and collection <= within
    print(f"{figures}  (at most {bound:g}, {within * 1e3:g} ms){'' if holds else '  FAILED'}")
    return holds


class NoisyFleet(Fleet):
    """A source of pods that differ in all that real ones differ in, 6 KB each."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.sent = 0
        """Bytes of JSON."""

    def line(self, index: int) -> bytes:
        """The line of a watch that brings it."""
        return b'{"type":"ADDED","object":%s}' % self.raw(index, 1)

    def raw(self, index: int, version: int) -> bytes:
        """The JSON of the pod of this number."""
        content, random = pod(index), Random(index)
        images = [random.randbytes(32).hex() for _ in range(4)]
        content["status"]["containerStatuses"] = [
            {
                "name": name,
                "containerID": f"containerd://{images[2 * at]}",
                "imageID": f"registry.example.com/team/{name}@sha256:{images[2 * at + 1]}",
                "image": "app",
                "ready": True,
                "restartCount": random.randrange(3),
                "state": {
                    "running": {"startedAt": f"2026-01-{random.randrange(10, 28)}T00:{index % 60:02}:00Z"}
                },
            }
            for at, name in enumerate(("app", "sidecar"))
        ]
        raw = json.dumps(content, separators=(",", ":")).encode()
        self.sent += len(raw)
        return raw


Filled = Callable[[NoisyFleet], AbstractAsyncContextManager[None]]
"""Holds a cache of all pods of a fleet."""


def informer(*, compact: bool) -> Filled:
    """A whole informer, once it has synced and cleared away what it needed for that."""

    @asynccontextmanager
    async def filled(fleet: NoisyFleet) -> AsyncIterator[None]:
        cache = SharedInformer(fleet, compact=compact)
        async with anyio.create_task_group() as tasks:
            await tasks.start(cache.run)
            await CLOCK.sleep(0.1)
            assert len(cache.store) == fleet.size
            yield
            tasks.cancel_scope.cancel()

    return filled


@asynccontextmanager
async def of_kubernetes_asyncio(fleet: NoisyFleet) -> AsyncIterator[None]:
    """A dict of what a watch of kubernetes-asyncio gives; it has no cache of its own."""
    from kubernetes_asyncio.watch import Watch

    cache, watch = {}, Watch()
    for index in range(fleet.size):
        model = watch.unmarshal_event(fleet.line(index).decode(), "V1Pod")["object"]
        cache[f"{model.metadata.namespace}/{model.metadata.name}"] = model
    yield


@asynccontextmanager
async def of_kubernetes(fleet: NoisyFleet) -> AsyncIterator[None]:
    """The cache that informers of the official client fill, with what its watch gives."""
    cache = import_module("kubernetes.informer").ObjectCache()
    watch = import_module("kubernetes.watch").Watch()
    for index in range(fleet.size):
        cache._put(watch.unmarshal_event(fleet.line(index).decode(), "V1Pod")["object"])
    yield


FILLED: dict[str, Filled] = {
    "plain": informer(compact=False),
    "compact": informer(compact=True),
    "kubernetes_asyncio": of_kubernetes_asyncio,
    "kubernetes": of_kubernetes,
}


async def measure(filled: Filled, size: int) -> Found:
    """Look at the process before and after; a few pods go first, so that everything is imported."""
    async with filled(NoisyFleet(20)):
        pass
    gc.collect()
    gc.freeze()  # what is there already is no concern of a cache
    fleet, resident, began = NoisyFleet(size), _resident(), time.process_time()
    async with filled(fleet):
        filling = time.process_time() - began
        return Found(fleet.sent, _resident() - resident, filling, _collection())


def _collection() -> float:
    """The CPU time of a full collection with nothing to collect; the least counts, since what else goes on only adds."""
    gc.collect()
    times = []
    for _ in range(5):
        began = time.process_time()
        gc.collect()
        times.append(time.process_time() - began)
    return min(times)


def _resident() -> int:
    """Bytes of memory that the process holds."""
    told = Path("/proc/self/status").read_text()
    return int(told.partition("VmRSS:")[2].split()[0]) * 1024


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(FILLED[sys.argv[1]], int(sys.argv[2])))))
