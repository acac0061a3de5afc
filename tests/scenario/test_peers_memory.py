"""Memory, tasks and decoding that other clients wasted; named after public reports."""

import asyncio
import gc
import logging
import threading
import tracemalloc
from collections.abc import Iterator
from itertools import repeat

import anyio
import httpx
import pytest

from kinformer.client import Client
from kinformer.errors import DecodeError
from kinformer.informer import SharedInformer
from kinformer.meta import ObjectKey
from kinformer.testing import HOLD, FakeClock, settle
from tests.scenario.peers_stage import (
    PODS,
    URL,
    Answer,
    ScriptedServer,
    Stage,
    added,
    bookmark,
    page,
    pod,
)


async def test_a_body_is_decoded_when_somebody_reads_it_and_not_before() -> None:
    """Scenario 33: kubernetes-client/python#1231, #1867 and #2284, where half of the time went into models."""
    body = b'{"type":"ADDED","object":{"metadata":{"name":"a","namespace":"default"},"spec":{"far":1e999}}}\n'
    stage = Stage(streams=[[body, bookmark(10, ends=True), HOLD]])
    async with stage.running():
        obj = stage.informer.lister.get(ObjectKey("default", "a"))
        assert obj is not None
        assert (obj.metadata.name, b"1e999" in obj.raw) == ("a", True)
        with pytest.raises(DecodeError, match="out of range"):
            obj["spec"]


async def test_a_list_of_any_length_is_read_in_the_memory_of_a_few_pages() -> None:
    """Scenario 34: skypilot-org/skypilot#7469, kr8s-org/kr8s#727."""
    text = {"text": "x" * 10_000}

    def pages() -> Iterator[Answer]:
        for number in range(50):
            pods = [pod(f"p{number}-{place}", 1, annotations=text) for place in range(20)]
            yield page(*pods, version=10, token=str(number + 1) if number < 49 else "")

    server = ScriptedServer(FakeClock(), (), pages(), ())
    async with Client(URL, transport=server) as client:
        count = 0
        tracemalloc.start()
        try:
            async for each in client.resource(PODS).pages(limit=20):
                server.requests.clear()
                count += len(each.items)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert count == 1000  # of 10 kB each
    assert peak < 4_000_000


@pytest.mark.parametrize(
    "answer",
    [
        [added("a", 1), bookmark(10, ends=True), HOLD],
        [added("a", 1), HOLD],
        HOLD,
        httpx.ConnectError("refused"),
    ],
    ids=["that follow", "in the midst of a watch-list", "that wait for an answer", "that wait to try again"],
)
async def test_a_thousand_informers_that_start_and_stop_leave_nothing_behind(
    answer: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    """Scenario 35: kubernetes-client/python#545, jupyterhub/kubespawner#165, where each watch left threads behind."""
    caplog.set_level(logging.ERROR, "kinformer")  # pytest keeps what is logged, and with it the errors
    server = ScriptedServer(FakeClock(), repeat(answer), (), ())
    async with Client(URL, transport=server) as client:

        async def start_and_stop(times: int) -> None:
            for _ in range(times):
                informer = SharedInformer(client.resource(PODS))
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(informer.run)
                    await settle()
                    informer.close()
            server.requests.clear()

        await start_and_stop(20)
        before, objects = helpers(), known_objects()
        await start_and_stop(250)  # and as many for each of the others
        assert server.open == 0
        assert helpers() == before
        assert known_objects() < objects + 100


def helpers() -> tuple[int, int]:
    """Tasks and threads."""
    return len(asyncio.all_tasks()), threading.active_count()


def known_objects() -> int:
    """Objects that the garbage collector knows and cannot collect."""
    gc.collect()
    return len(gc.get_objects())
