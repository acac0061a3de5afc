"""Handlers that come late, go early, are slow, or want it short."""

import asyncio
import copy
import gc
import weakref
from typing import Any

import anyio
import pytest

from kinformer.informer import Added, Handlers, Notification
from kinformer.meta import Object
from kinformer.testing import (
    HOLD,
    added,
    modified,
    settle,
)
from tests.unit.informer.stage import Log, MakeBench, pod, snapshot


async def test_what_comes_with_one_read_wakes_a_handler_once(make: MakeBench) -> None:
    """When its first call comes, the rest of the read waits already."""
    changes = [added(pod(f"{number}", 10 + number)) for number in range(20)]
    bench = make([*snapshot(9), 1.0, changes, HOLD])
    backlogs: list[int] = []
    registration = bench.informer.add_handler(lambda told: backlogs.append(registration.backlog))
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(1)
        bench.informer.close()
    assert backlogs == list(reversed(range(20)))


async def test_a_late_handler_gets_what_is_there_and_then_every_change(make: MakeBench) -> None:
    bench = make([*snapshot(5, pod("a", 1), pod("b", 2)), 1.0, modified(pod("a", 10)), HOLD])
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        registration = bench.informer.add_handler(bench.log)
        flags = [registration.is_synced]
        await settle()
        assert [*flags, registration.is_synced] == [False, True]
        await bench.clock.advance(1)
        assert bench.log.take() == ["add a(1) initially", "add b(2) initially", "update a(1) to a(10)"]
        bench.informer.close()


async def test_the_handlers_that_are_told_are_listed_in_their_order(make: MakeBench) -> None:
    bench = make([HOLD])
    assert [registration.name for registration in bench.informer.handlers] == []
    for name in ("b", "a", "c"):
        bench.informer.add_handler(bench.log, name=name)
    bench.informer.remove_handler(bench.informer.handlers[1])
    assert [registration.name for registration in bench.informer.handlers] == ["b", "c"]


async def test_one_handler_may_be_added_twice(make: MakeBench) -> None:
    bench = make([*snapshot(5, pod("a", 1)), 1.0, modified(pod("a", 10)), HOLD])
    first, second = (
        bench.informer.add_handler(bench.log),
        bench.informer.add_handler(bench.log, name="second"),
    )
    assert (first.name, second.name) == ("Log", "second")
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.remove_handler(first)
        await bench.clock.advance(1)
        assert bench.log.take() == ["add a(1) initially", "add a(1) initially", "update a(1) to a(10)"]
        bench.informer.close()


async def test_a_removed_handler_finishes_its_call_and_gets_no_other(make: MakeBench) -> None:
    gate = anyio.Event()
    calls: list[str] = []

    async def blocked(told: Notification[Object]) -> None:
        calls.append("begun")
        await gate.wait()
        calls.append("ended")

    bench = make([*snapshot(5, pod("a", 1), pod("b", 2)), HOLD])
    registration = bench.informer.add_handler(blocked)
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.remove_handler(registration)
        bench.informer.remove_handler(registration)
        gate.set()
        await settle()
        bench.informer.close()
    assert calls == ["begun", "ended"]
    assert len(bench.log.take()) == 2


async def test_a_removal_may_wait_until_the_present_call_is_over(make: MakeBench) -> None:
    gate = anyio.Event()
    story: list[str] = []

    async def blocked(told: Notification[Object]) -> None:
        story.append("begun")
        await gate.wait()
        story.append("ended")

    bench = make([*snapshot(9, pod("a", 1), pod("b", 2)), HOLD])
    registration = bench.informer.add_handler(blocked)

    async def remove() -> None:
        bench.informer.remove_handler(registration)
        await registration.wait_ended()
        story.append("removed")

    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        tasks.start_soon(remove)
        await settle()
        gate.set()
        await settle()
        bench.informer.close()
    assert story == ["begun", "ended", "removed"]


async def test_a_registration_of_another_informer_is_no_matter(make: MakeBench) -> None:
    bench, other = make([*snapshot(5, pod("a", 1)), HOLD]), make()
    bench.informer.add_handler(bench.log)
    bench.informer.remove_handler(other.informer.add_handler(bench.log))
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.close()
    assert bench.log.take() == ["add a(1) initially"]


async def test_a_slow_handler_delays_nobody(make: MakeBench) -> None:
    async def stuck(told: Notification[Object]) -> None:
        await anyio.sleep_forever()

    changes = [modified(pod("a", version)) for version in range(10, 200)]
    bench = make([*snapshot(5, pod("a", 1)), 1.0, changes, HOLD])
    registration = bench.informer.add_handler(stuck)
    bench.informer.add_handler(bench.log)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(1)
        assert bench.content == {"a(199)"}
        assert len(bench.log.take()) == 191
        assert registration.backlog == 190
        bench.informer.close()


async def test_a_coalescing_handler_gets_what_is_left_of_a_burst(make: MakeBench) -> None:
    gate = anyio.Event()
    log = Log()

    async def slow(told: Notification[Object]) -> None:
        log(told)
        await gate.wait()

    changes = [modified(pod("a", version)) for version in range(10, 200)]
    bench = make([*snapshot(5, pod("a", 1)), 1.0, changes, HOLD])
    registration = bench.informer.add_handler(slow, coalesce=True)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(1)
        assert registration.backlog == 1
        gate.set()
        await settle()
        assert log.take() == ["add a(1) initially", "update a(1) to a(199)"]
        bench.informer.close()


async def test_each_handler_is_given_an_object_of_its_own(make: MakeBench) -> None:
    """What a handler does to it, even past the wrappers, no other one sees, nor who asks the lister."""
    bench = make([*snapshot(5, pod("a", 1)), HOLD])
    seen: list[Any] = []

    def spoil(told: Added[Object]) -> None:
        seen.append(copy.deepcopy(told.obj.body["spec"]))
        dict.clear(told.obj.body["spec"])

    for _ in range(2):
        bench.informer.add_handler(Handlers[Object](on_add=spoil))
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await settle()
        bench.informer.close()
    seen += [obj["spec"] for obj in bench.informer.lister.list()]
    assert seen == [{"replicas": 1}] * 3


@pytest.mark.parametrize("waits", [False, True], ids=["and returns", "and waits"])
async def test_a_handler_that_cancels_its_own_task_ends_nothing(make: MakeBench, waits: bool) -> None:
    told: list[Notification[Object]] = []

    async def cancel(notification: Notification[Object]) -> None:
        told.append(notification)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancel()
        if waits:
            await anyio.sleep_forever()

    bench = make([*snapshot(5, pod("a", 1)), 1.0, added(pod("b", 6)), HOLD])
    registration = bench.informer.add_handler(cancel)
    async with anyio.create_task_group() as tasks:
        await tasks.start(bench.informer.run)
        await bench.clock.advance(2)
        assert len(told) == 2
        assert registration.is_synced
        assert not bench.informer.is_closed
        bench.informer.close()


def test_a_handler_that_was_removed_is_let_go(make: MakeBench) -> None:
    bench = make()
    handler = Log()
    seen = weakref.ref(handler)
    bench.informer.remove_handler(bench.informer.add_handler(handler, resync=5.0))
    del handler
    gc.collect()
    assert seen() is None
