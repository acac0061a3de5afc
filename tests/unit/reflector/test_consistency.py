"""Snapshots are compared with exact lists: what differs, and what happens when that cannot be told."""

import logging
from collections.abc import Iterable

import anyio
import pytest

from kinformer.errors import ExpiredError, InconsistencyError, ServerError
from kinformer.meta import Object, ObjectList, Record, Resource
from kinformer.reflector._consistency import ConsistencyDetector
from kinformer.testing import HOLD, After, FakeClock, ListAnswer, ScriptedSource

PODS = Resource.builtin("Pod")
GONE = ExpiredError(410, "Expired", "too old")
BROKEN = ServerError(500)


def record(name: str) -> Record:
    metadata = {"namespace": "default", "name": name, "resourceVersion": "1"}
    return Object.from_mapping({"metadata": metadata}, PODS).record


def page(*records: Record, version: str = "9") -> ObjectList[Object]:
    return ObjectList(tuple(map(Object, records)), version)


class Bench:
    """A detector over a script."""

    def __init__(self, *lists: ListAnswer) -> None:
        self.clock = FakeClock()
        self.source = ScriptedSource(PODS, lists=lists, clock=self.clock)
        self.detector = ConsistencyDetector(self.source, admit=self.admit, clock=self.clock)
        self.admitted = 0

    async def admit(self) -> None:
        self.admitted += 1

    async def run(self, delay: float = 10.0, notes: Iterable[tuple[float, list[Record], str]] = ()) -> None:
        """Run for a while, during which snapshots are noted."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.detector.run)
            for wait, records, version in notes:
                await self.clock.advance(wait)
                self.detector.note(records, version)
            await self.clock.advance(delay)
            group.cancel_scope.cancel()
        assert self.source.pending == 0
        assert self.clock.next_timer is None


async def test_a_snapshot_that_is_what_the_server_says_is_no_matter() -> None:
    bench = Bench(page(record("a")), page(record("b")))
    await bench.run(notes=[(0.0, [record("a")], "9"), (1.0, [record("b")], "12")])
    assert [(request.version, request.version_match, request.limit) for request in bench.source.requests] == [
        ("9", "Exact", 0),
        ("12", "Exact", 0),
    ]
    assert bench.admitted == 2


async def test_a_snapshot_that_is_not_raises_and_names_the_difference() -> None:
    bench = Bench(page(record("a"), record("b")))
    bench.detector.note([record("a")], "9")
    with pytest.raises(InconsistencyError, match=r"pods at version 9 differs.*missing: default/b$"):
        await bench.detector.run()


@pytest.mark.parametrize("version", ["", "0"])
async def test_a_snapshot_of_no_version_is_not_compared(version: str) -> None:
    bench = Bench()
    await bench.run(notes=[(0.0, [record("a")], version)])
    assert bench.source.requests == []


async def test_a_list_that_fails_is_tried_again_every_second() -> None:
    bench = Bench(BROKEN, RuntimeError("a plugin crashed"), page(record("a")))
    await bench.run(notes=[(0.0, [record("a")], "9")])
    assert [request.at for request in bench.source.requests] == [0.0, 1.0, 2.0]
    assert bench.admitted == 3


async def test_a_version_that_expired_cannot_be_compared_and_that_is_said(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, logger="kinformer.reflector")
    bench = Bench(GONE, page(record("a")))
    await bench.run(notes=[(0.0, [], "9"), (1.0, [record("a")], "12")])
    assert [request.version for request in bench.source.requests] == ["9", "12"]
    assert ["too late to compare" in message for message in caplog.messages] == [True]


async def test_only_the_newest_snapshot_waits_to_be_compared() -> None:
    bench = Bench(After(5.0, page(record("a"))), page(record("c")))
    notes = [(0.0, [record("a")], "9"), (1.0, [record("b")], "12"), (1.0, [record("c")], "15")]
    await bench.run(notes=notes)
    assert [request.version for request in bench.source.requests] == ["9", "15"]


@pytest.mark.parametrize(
    "lists", [[HOLD], [BROKEN], [After(3.0, BROKEN)]], ids=["list", "pause", "slow list"]
)
async def test_who_is_cancelled_compares_the_same_snapshot_when_it_runs_again(
    lists: list[ListAnswer],
) -> None:
    bench = Bench(*lists, page(record("b")))
    await bench.run(0.5, notes=[(0.0, [record("a")], "9")])
    with pytest.raises(InconsistencyError):
        await bench.detector.run()
