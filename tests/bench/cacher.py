"""What the watch cache spends on its watchers: looking who is due for a bookmark, and one event for a thousand of them."""

import json
from collections.abc import Callable

from kinformer.apiserver.cacher import (
    Attributes,
    Bookmark,
    CacheEvent,
    CacheWatcher,
    Element,
    Encoded,
    InitialState,
    Selected,
    StoredObject,
)
from kinformer.apiserver.cacher._calendar import BOOKMARK_PERIOD, Calendar
from kinformer.apiserver.http._columns import columns_of
from kinformer.apiserver.http._watching import Frame, frame_object, table_frames
from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import Event
from kinformer.apiserver.storage import KeyValue
from kinformer.testing import FakeClock
from tests.bench.measure import Comparison
from tests.bench.pods import pod

MANY, FEW = 100_000, 1_000
LOOKS = 300
WATCHERS = 1_000
EVENTS = 5
"""How many one measurement has, since the first meets memory that a collection has just walked through."""


def comparisons() -> list[Comparison]:
    """An idle tick by the number of watchers; and encoding once against encoding for each.

    A line of JSON is what the storage holds with the version spliced in, so even for each it costs a tenth of encoding.
    """
    served = Registry().find("", "v1", "pods")
    if served is None:
        raise LookupError("pods are built in")
    columns, clock = columns_of(served), FakeClock()

    def tables() -> Frame:
        return table_frames(columns, version="v1", include="", clock=clock)

    count = EVENTS * WATCHERS
    return [
        Comparison("look who is due among 100,000 watchers : 1,000", looks(MANY), looks(FEW), LOOKS, 2.0),
        Comparison("event as 1,000 tables, encoded once : each", once(tables), each(tables), count, 0.02),
        Comparison("event as 1,000 lines, encoded once : json.dumps", once(lines), dumped(), count, 0.01),
        Comparison("event to 1,000 watchers, all of it : encoding for each", told(), each(lines), count, 0.5),
    ]


def looks(count: int) -> Callable[[], object]:
    calendar = Calendar[int](0.0)
    for watcher in range(count):
        calendar.add(watcher, 1.0 + watcher * BOOKMARK_PERIOD / count)
    return lambda: [(calendar.take(0.5), calendar.next_due) for _ in range(LOOKS)]


def lines() -> Frame:
    return frame_object


def change() -> CacheEvent:
    value = KeyValue("/registry/core/pods/team-1/web", StoredObject.encode(pod(1)), 5, 7, 2)
    element = Element(value, lambda _: Attributes({}, {}))
    return CacheEvent.of(7, value.key, element, element, time=0.0)


def event(selected: Selected | Bookmark) -> Event:
    if isinstance(selected, Bookmark):
        raise TypeError(f"{selected} is no change")
    value = selected.element.value.value
    return Event(selected.type, StoredObject(value, selected.version, kind="Pod", api_version="v1"))


def written(encoded: Encoded, frame: Frame) -> bytes:
    selected = encoded.select(None)
    return frame(selected.form("event", event)) if selected else b""


def once(make: Callable[[], Frame]) -> Callable[[], object]:
    """The streams of a thousand watchers write one event, which they share."""
    frames, happened = streams(make), change()

    def work() -> None:
        for _ in range(EVENTS):
            encoded = Encoded(happened)
            for frame in frames:
                written(encoded, frame)

    return work


def each(make: Callable[[], Frame]) -> Callable[[], object]:
    """The same, but none shares it with another."""
    frames, happened = streams(make), change()

    def work() -> None:
        for _ in range(EVENTS):
            for frame in frames:
                written(Encoded(happened), frame)

    return work


def dumped() -> Callable[[], object]:
    """A line of JSON made from the object for each of a thousand watchers."""
    shown = {"type": "MODIFIED", "object": pod(1)}
    return lambda: [json.dumps(shown) for _ in range(EVENTS * WATCHERS)]


def streams(make: Callable[[], Frame]) -> list[Frame]:
    """Those of a thousand watchers, which have written something already."""
    frames, before = [make() for _ in range(WATCHERS)], Encoded(change())
    for frame in frames:
        written(before, frame)
    return frames


def told() -> Callable[[], object]:
    """From the dispatcher's hands to the bytes of each."""
    watchers = [CacheWatcher(InitialState([], 0.0), 1, size=10) for _ in range(WATCHERS)]
    happened = change()

    def work() -> None:
        for _ in range(EVENTS):
            encoded = Encoded(happened)
            for watcher in watchers:
                watcher.offer(encoded)
            for watcher in watchers:
                for selected in watcher.take():
                    frame_object(selected.form("event", event))

    return work
