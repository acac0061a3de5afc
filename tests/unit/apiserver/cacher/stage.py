"""A watch cache over a storage in memory, on a clock that moves by hand."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import anyio
import msgspec

from kinformer.apiserver.cacher import Attributes, CacheEvent, CacheOptions, Cacher, Metrics
from kinformer.apiserver.storage import KV, KeyRange, KeyValue
from kinformer.testing import FakeClock

PREFIX = "/registry/core/pods/"
ALL = KeyRange.prefix(PREFIX)


class Told:
    """A dispatcher that writes down what it hears."""

    def __init__(self) -> None:
        self.events: list[CacheEvent] = []
        self.progressed: list[int] = []
        self.restarts = 0

    async def dispatch(self, event: CacheEvent) -> None:
        self.events.append(event)

    def progress(self, revision: int) -> None:
        self.progressed.append(revision)

    def restart(self) -> None:
        self.restarts += 1


def labels_in_value(value: KeyValue) -> Attributes:
    """Objects whose body is their labels."""
    return Attributes(
        msgspec.json.decode(value.value or b"{}"), {"metadata.name": value.key.rpartition("/")[2]}
    )


def make(
    kv: KV, clock: FakeClock, options: CacheOptions | None = None, *, looks_back: bool = False
) -> tuple[Cacher, Told]:
    """A cache that does not run yet, and what it tells; it begins with the present unless it looks back."""
    cacher = Cacher(
        kv,
        PREFIX,
        labels_in_value,
        metrics=Metrics("", "pods"),
        clock=clock,
        options=replace(options or CacheOptions(), looks_back=looks_back),
    )
    cacher.dispatcher = told = Told()
    return cacher, told


@asynccontextmanager
async def running(
    kv: KV, clock: FakeClock, options: CacheOptions | None = None, *, looks_back: bool = False
) -> AsyncIterator[tuple[Cacher, Told]]:
    """A cache that is ready, until the block ends."""
    cacher, told = make(kv, clock, options, looks_back=looks_back)
    async with anyio.create_task_group() as tasks:
        await tasks.start(cacher.run)
        yield cacher, told
        cacher.close()
