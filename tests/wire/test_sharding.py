"""Three processes share the keys of a controller, until one of them is killed."""

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from anyio.streams.text import TextReceiveStream

from kinformer.apiserver import ApiServer
from kinformer.client import Client
from kinformer.meta import Resource
from kinformer.system_clock import SystemClock
from kinformer.testing import config_map

pytestmark = [pytest.mark.wire, pytest.mark.timeout(60)]

SCRIPT = Path(__file__).with_name("sharding_member.py")
NAMES = {f"m{number}" for number in range(12)}
CLOCK = SystemClock()


@dataclass
class Process:
    """A member, and what it has told: for each key the moments at which reconciles began and ended."""

    kill: Callable[[], None]
    began: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NAMES})
    ended: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NAMES})

    def has_begun_since(self, moment: float) -> set[str]:
        return {name for name, times in self.began.items() if times and times[-1] > moment}

    def runs(self, name: str, until: float) -> list[tuple[float, float]]:
        """Each run of a key; one that has not ended was cut at that moment."""
        ended = [*self.ended[name], until]
        return list(zip(self.began[name], ended, strict=False))


@asynccontextmanager
async def member(url: str, identity: str) -> AsyncIterator[Process]:
    """Run one around a block, and kill it in the end."""

    async def listen(found: Process) -> None:
        assert process.stdout is not None
        rest = ""
        async for text in TextReceiveStream(process.stdout):
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                what, name, moment = line.split()
                (found.began if what == "begin" else found.ended)[name].append(float(moment))

    command = [sys.executable, str(SCRIPT), url, identity]
    async with await anyio.open_process(command, stderr=None) as process, anyio.create_task_group() as tasks:
        found = Process(process.kill)
        tasks.start_soon(listen, found)
        try:
            yield found
        finally:
            with suppress(ProcessLookupError):  # it was killed before
                process.kill()


async def until(claim: Callable[[], bool]) -> None:
    while not claim():
        await CLOCK.sleep(0.02)


async def test_no_key_is_in_two_processes_and_those_of_one_that_is_killed_are_taken_over() -> None:
    async with ApiServer() as server, server.serve() as endpoint:
        async with Client(endpoint.url) as client:
            for name in NAMES:
                await client.resource(Resource.builtin("ConfigMap")).create(
                    config_map(name), namespace="default"
                )
        async with (
            member(endpoint.url, "a") as a,
            member(endpoint.url, "b") as b,
            member(endpoint.url, "c") as c,
        ):
            everyone = [a, b, c]
            await until(lambda: all(each.has_begun_since(0) for each in everyone))
            shared = CLOCK.monotonic()
            await until(lambda: set().union(*(each.has_begun_since(shared) for each in everyone)) == NAMES)

            a.kill()
            killed = CLOCK.monotonic()
            await until(lambda: b.has_begun_since(killed) | c.has_begun_since(killed) == NAMES)
            assert CLOCK.monotonic() - killed > 1.0, "its Lease had to expire"
            now = CLOCK.monotonic()

    for name in NAMES:
        runs = sorted([*a.runs(name, killed), *b.runs(name, now), *c.runs(name, now)])
        for (_, end), (begin, _) in pairwise(runs):
            assert end <= begin, f"{name} was in two hands: {runs}"
