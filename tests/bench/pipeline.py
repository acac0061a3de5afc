"""What a watch event costs from the reflector's hands to a handler's, against ``json.loads`` of its line.

The client's decoding is measured on its own; here the records exist already, so what is left is the reflector, the
delta FIFO, the store with its indexes, and one listener.
"""

import asyncio
import json
from collections.abc import Sequence

from kinformer.client._codec import decode_event
from kinformer.informer import Notification, SharedInformer
from kinformer.meta import EventType, Object, Resource, WatchEvent
from kinformer.system_clock import SystemClock
from kinformer.testing import HOLD, ScriptedSource, StreamStep, bookmark
from tests.bench.measure import Comparison
from tests.bench.pods import pod, watch_line

PODS = Resource.builtin("Pod")
LINES = [watch_line(index) for index in range(2_000)]
EVENTS = [
    WatchEvent(EventType.MODIFIED, Object.from_mapping(pod(index), PODS).record, str(200_000 + index))
    for index in range(2_000)
]
BATCHES = [EVENTS[start : start + 10] for start in range(0, len(EVENTS), 10)]


def comparisons() -> list[Comparison]:
    """Decoding a line, and everything behind it."""
    count = len(LINES)
    return [
        Comparison("decoding a watch line : json.loads of it", _decode, _loads, count, 0.5),
        Comparison("reflector to handler : json.loads of the line", _reflect, _loads, count, 1.5),
    ]


def _decode() -> None:
    for line in LINES:
        decode_event(line, PODS)


def _loads() -> None:
    for line in LINES:
        json.loads(line)


def _reflect() -> None:
    asyncio.run(_run(BATCHES))


async def _run(batches: Sequence[Sequence[WatchEvent]]) -> None:
    heard = 0

    def handler(notification: Notification[Object]) -> None:
        nonlocal heard
        heard += 1
        if heard == len(EVENTS):
            informer.close()

    stream: list[StreamStep] = [bookmark("1", ends_initial_events=True), *batches, HOLD]
    informer = SharedInformer(ScriptedSource(PODS, watches=[stream], clock=SystemClock()))
    informer.add_handler(handler)
    await informer.run()
