"""Watches: rules X-1 to X-10."""

from collections.abc import AsyncIterator, Callable, Sequence
from random import Random
from typing import Any

import anyio
import pytest

from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import (
    Event,
    ListOptions,
    StatusError,
    StoredObject,
    Target,
    Verbs,
    WriteOptions,
)
from kinformer.apiserver.storage import MemoryKV
from kinformer.meta import LabelSelector
from kinformer.testing import FakeClock, settle

At = Callable[..., Target]
WRITE = WriteOptions()


def config(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": labels}}


def body(event: Event) -> dict[str, Any]:
    return event.obj.content if isinstance(event.obj, StoredObject) else event.obj


def told(events: Sequence[Event]) -> list[tuple[str, str]]:
    return [(event.type, body(event)["metadata"].get("name", "")) for event in events]


class Follower:
    """Reads a stream to its end and keeps what it saw."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.has_ended = False

    async def __call__(self, stream: AsyncIterator[Sequence[Event]]) -> None:
        async for events in stream:
            self.events += events
        self.has_ended = True

    def take(self) -> list[tuple[str, str]]:
        taken, self.events = told(self.events), []
        return taken


async def test_x3_without_a_version_the_state_comes_first_and_then_what_happens(verbs: Verbs, at: At) -> None:
    for name in "ba":
        await verbs.create(at("configmaps", "default"), config(name), WRITE)
    follow = Follower()
    async with verbs.watch(at("configmaps"), ListOptions()) as stream, anyio.create_task_group() as tasks:
        tasks.start_soon(follow, stream)
        await settle()
        assert follow.take() == [("ADDED", "a"), ("ADDED", "b")]
        await verbs.create(at("configmaps", "default"), config("c"), WRITE)
        await verbs.create(at("secrets", "default"), config("other"), WRITE)
        await settle()
        assert follow.take() == [("ADDED", "c")]
        tasks.cancel_scope.cancel()


async def test_x3_from_a_version_only_later_events_come(verbs: Verbs, at: At) -> None:
    first = await verbs.create(at("configmaps", "default"), config("a"), WRITE)
    await verbs.create(at("configmaps", "default"), config("b"), WRITE)
    async with verbs.watch(at("configmaps"), ListOptions(version=str(first.version))) as stream:
        assert told(await anext(stream)) == [("ADDED", "b")]


async def test_x3_initial_events_end_with_a_marked_bookmark(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    await verbs.create(at("configmaps", "default"), config("a"), WRITE)
    await verbs.create(at("secrets", "default"), config("other"), WRITE)
    options = ListOptions(version_match="NotOlderThan")
    async with verbs.watch(at("configmaps"), options, bookmarks=True, initial_events=True) as stream:
        added, bookmark = await anext(stream)
    assert told([added]) == [("ADDED", "a")]
    assert body(bookmark) == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {
            "resourceVersion": str(await kv.revision()),
            "annotations": {"k8s.io/initial-events-end": "true"},
        },
    }
    assert bookmark.line.startswith(b'{"type":"BOOKMARK","object":{"kind":"ConfigMap"')
    assert bookmark.line.endswith(b"}\n")


async def test_x3_refused_initial_events_begin_with_now(verbs: Verbs, at: At) -> None:
    await verbs.create(at("configmaps", "default"), config("a"), WRITE)
    options = ListOptions(version_match="NotOlderThan")
    async with verbs.watch(at("configmaps"), options, initial_events=False) as stream:
        await verbs.create(at("configmaps", "default"), config("b"), WRITE)
        assert told(await anext(stream)) == [("ADDED", "b")]


async def test_x6_x7_objects_enter_and_leave_a_selection(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    target = at("configmaps", "default", "a")
    options = ListOptions(version=str(await kv.revision()), labels=LabelSelector.parse("on=yes"))
    await verbs.create(at("configmaps", "default"), config("a", on="no"), WRITE)
    await verbs.update(target, config("a", on="yes"), WRITE)
    await verbs.update(target, config("a", on="yes", more="x"), WRITE)
    left, _ = await verbs.update(target, config("a", on="no"), WRITE)
    await verbs.update(target, config("a", on="yes"), WRITE)
    async with verbs.watch(at("configmaps"), options) as stream:
        events = await anext(stream)
    assert [event.type for event in events] == ["ADDED", "MODIFIED", "DELETED", "ADDED"]
    gone = body(events[2])["metadata"]
    assert gone["labels"] == {"on": "yes", "more": "x"}
    assert gone["resourceVersion"] == str(left.version)


async def test_a_deletion_carries_the_last_state_and_its_own_version(
    verbs: Verbs, at: At, kv: MemoryKV
) -> None:
    created = await verbs.create(at("configmaps", "default"), config("a"), WRITE)
    async with verbs.watch(at("configmaps"), ListOptions(version=str(created.version))) as stream:
        await kv.delete(created_key(at, "a"))
        (event,) = await anext(stream)
    assert event.type == "DELETED"
    assert body(event)["metadata"]["resourceVersion"] == str(created.version + 1)


def created_key(at: At, name: str) -> str:
    return at("configmaps").served.key("default", name)


async def test_watchers_share_one_serialised_object(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    options = ListOptions(version=str(await kv.revision()))
    async with verbs.watch(at("configmaps"), options) as one, verbs.watch(at("configmaps"), options) as two:
        await verbs.create(at("configmaps", "default"), config("a"), WRITE)
        (first,), (second,) = await anext(one), await anext(two)
    assert first.obj is second.obj


async def test_x8_a_version_that_is_too_old_is_an_error_event_and_the_end(
    verbs: Verbs, at: At, kv: MemoryKV
) -> None:
    for name in "abcdef":
        await verbs.create(at("configmaps", "default"), config(name), WRITE)
    await kv.compact(9)
    async with verbs.watch(at("configmaps"), ListOptions(version="5")) as stream:
        (event,) = await anext(stream)
        assert event.type == "ERROR"
        assert (body(event)["code"], body(event)["message"]) == (410, "too old resource version: 5 (9)")
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


async def test_behaviour_21_a_watch_that_has_lost_its_history_ends_and_the_next_is_told_so(
    registry: Registry, clock: FakeClock
) -> None:
    kv = MemoryKV(history=10, queue=1)
    verbs = Verbs(kv, registry, clock=clock, random=Random(1))
    await verbs.bootstrap()
    served = registry.find("", "v1", "configmaps")
    assert served is not None
    begun = ListOptions(version=str(await kv.revision()))
    async with verbs.watch(Target(served), begun) as stream:
        for number in range(30):
            await kv.put(served.key("default", f"a{number}"), StoredObject.encode(stored(f"a{number}")))
        told = [event for events in [events async for events in stream] for event in events]
    assert {event.type for event in told} <= {"ADDED"}
    async with verbs.watch(Target(served), begun) as stream:
        (event,) = await anext(stream)
    assert body(event)["code"] == 410


def stored(name: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", **config(name)}


async def test_x8_too_large_a_version_with_initial_events_is_an_error_event(
    verbs: Verbs, at: At, clock: FakeClock
) -> None:
    follow = Follower()

    async def watch() -> None:
        options = ListOptions(version="999", version_match="NotOlderThan")
        async with verbs.watch(at("configmaps"), options, initial_events=True) as stream:
            await follow(stream)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(watch)
        await clock.advance(3.1)
    assert [body(event)["code"] for event in follow.events] == [504]


@pytest.mark.parametrize(
    ("version", "why"), [("abc", "invalid syntax"), ("9" * 20, "value out of range"), ("9" * 5000, "range")]
)
async def test_x8_a_bad_version_is_refused_at_once(verbs: Verbs, at: At, version: str, why: str) -> None:
    text = f'pods "" is invalid: resourceVersion: Invalid value: "{version}": strconv.*{why}'
    with pytest.raises(StatusError, match=text) as caught:
        async with verbs.watch(at("pods"), ListOptions(version=version)):
            pass
    assert caught.value.code == 422


@pytest.mark.parametrize(
    ("match", "initial", "text"),
    [
        ("", True, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        ("Exact", True, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        ("NotOlderThan", None, "forbidden for watch unless sendInitialEvents is provided"),
    ],
)
async def test_x2_bad_options_are_refused(
    verbs: Verbs, at: At, match: str, initial: bool | None, text: str
) -> None:
    with pytest.raises(StatusError, match=text):
        async with verbs.watch(at("pods"), ListOptions(version_match=match), initial_events=initial):
            pass


async def test_x9_bookmarks_come_about_every_minute_and_before_the_end(
    verbs: Verbs, at: At, clock: FakeClock, kv: MemoryKV
) -> None:
    follow = Follower()
    options = ListOptions(version=str(await kv.revision()))
    async with (
        verbs.watch(at("configmaps"), options, bookmarks=True, timeout=100) as stream,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(follow, stream)
        await clock.advance(1)
        await verbs.create(at("secrets", "default"), config("other"), WRITE)
        await clock.advance(57)
        assert follow.events == []
        await clock.advance(4)
        revision = str(await kv.revision())
        assert [body(event)["metadata"] for event in follow.events] == [{"resourceVersion": revision}]
        await clock.advance(98 - 62.5)
        assert len(follow.events) == 1
        await clock.advance(1.75)  # who is due is looked for each second, or a quarter later
        assert [event.type for event in follow.events] == ["BOOKMARK"] * 2
        assert not follow.has_ended
        await clock.advance(0.75)
        assert follow.has_ended
    assert clock.next_timer is None
    assert kv.watches == 0


async def test_x9_bookmarks_come_though_nothing_happens_and_only_to_those_who_asked(
    verbs: Verbs, at: At, clock: FakeClock, kv: MemoryKV
) -> None:
    quiet, unasked = Follower(), Follower()
    options = ListOptions(version=str(await kv.revision()))
    async with (
        verbs.watch(at("configmaps"), options, bookmarks=True, timeout=300) as one,
        verbs.watch(at("configmaps"), options, timeout=300) as two,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(quiet, one)
        tasks.start_soon(unasked, two)
        await clock.advance(200)
        assert [event.type for event in quiet.events] == ["BOOKMARK"] * 3
        assert unasked.events == []
        tasks.cancel_scope.cancel()


async def test_x10_without_a_timeout_a_watch_lasts_half_an_hour_to_an_hour(
    verbs: Verbs, at: At, clock: FakeClock
) -> None:
    follow = Follower()
    async with verbs.watch(at("configmaps"), ListOptions()) as stream, anyio.create_task_group() as tasks:
        tasks.start_soon(follow, stream)
        await clock.advance(1799)
        assert not follow.has_ended
        await clock.advance(1802)
        assert follow.has_ended


async def test_a_long_state_comes_in_pieces(verbs: Verbs, at: At) -> None:
    for number in range(600):
        await verbs.create(at("configmaps", "default"), config(f"a{number}"), WRITE)
    async with verbs.watch(at("configmaps"), ListOptions(), bookmarks=True) as stream:
        assert [len(await anext(stream)) for _ in range(2)] == [500, 101]


async def test_leaving_a_watch_leaves_no_timer_no_listener_and_no_watcher(
    verbs: Verbs, at: At, clock: FakeClock, kv: MemoryKV, registry: Registry
) -> None:
    async with anyio.create_task_group() as tasks:
        follow = Follower()

        async def watch() -> None:
            async with verbs.watch(at("configmaps"), ListOptions(), bookmarks=True) as stream:
                await follow(stream)

        tasks.start_soon(watch)
        await settle()
        tasks.cancel_scope.cancel()
    assert clock.next_timer is None
    assert kv.watches == 0
    assert not registry._listeners
