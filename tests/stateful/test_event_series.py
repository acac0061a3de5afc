"""What is told, against a server that keeps Events: nothing that may be written is lost, and nothing is made up."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.controller._event_series import EventSeries, EventWrite, Told

START = datetime(2026, 1, 1, tzinfo=UTC)
PODS = st.sampled_from(["web", "db"])
NOTES = st.sampled_from(["started", "stopped"])


def told(pod: str, note: str) -> Told:
    regarding = (("kind", "Pod"), ("namespace", "ns"), ("name", pod), ("uid", pod))
    return Told(regarding, (), "Normal", "Run", "Changed", note)


class EventSeriesMachine(RuleBasedStateMachine):
    """The model counts what was told, and the server's Events are counted in the end."""

    def __init__(self) -> None:
        super().__init__()
        self.series = EventSeries("c", "i")
        self.now = 0.0
        self.number = 0
        self.events: dict[str, dict[str, Any]] = {}  # on the server
        self.told: dict[Told, int] = {}
        self.under_way: EventWrite | None = None

    @rule(pod=PODS, note=NOTES, times=st.sampled_from([1, 1, 2, 30]))
    def tell(self, pod: str, note: str, times: int) -> None:
        for _ in range(times):
            self.number += 1
            wall = START + timedelta(seconds=self.now)
            if self.series.tell(told(pod, note), str(self.number), self.now, wall):
                self.told[told(pod, note)] = self.told.get(told(pod, note), 0) + 1

    @rule(seconds=st.sampled_from([1.0, 100.0, 361.0, 10_000.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.under_way is None)
    @rule()
    def send(self) -> None:
        self.under_way = self.series.next()

    @precondition(lambda self: self.under_way is not None)
    @rule(fate=st.sampled_from(["stored", "stored", "stored", "deleted", "refused"]))
    def arrive(self, fate: str) -> None:
        write, self.under_way = self.under_way, None
        assert write is not None
        if fate == "refused":
            self.series.failed(write)
            self.refused = True
        elif write.is_new:
            assert write.key.name not in self.events, "its name is new"
            self.events[write.key.name] = write.content
            self.series.succeeded(write)
        elif fate == "deleted":
            self.events.pop(write.key.name)
            self.series.vanished(write)
        else:
            before = self.events[write.key.name].get("series", {"count": 1})["count"]
            assert write.content["series"]["count"] == write.counted > before
            self.events[write.key.name] = self.events[write.key.name] | write.content
            self.series.succeeded(write)

    refused = False

    @precondition(lambda self: self.under_way is None and not self.refused)
    @rule()
    def flush(self) -> None:
        """Where the server takes everything, all that was told is there, in as few Events as there were series."""
        self.series.flush()
        while (write := self.series.next()) is not None:
            if not write.is_new:
                assert write.key.name in self.events
            self.events[write.key.name] = self.events.get(write.key.name, {}) | write.content
            self.series.succeeded(write)
        found: dict[str, int] = {}
        for content in self.events.values():
            place = f"{content['regarding']['name']} {content['note']}"
            found[place] = found.get(place, 0) + content.get("series", {"count": 1})["count"]
        wanted = {f"{dict(one.regarding)['name']} {one.note}": count for one, count in self.told.items()}
        assert found == wanted

    @invariant()
    def what_waits_is_bounded(self) -> None:
        assert len(self.series) <= 4


TestEventSeries = EventSeriesMachine.TestCase
TestEventSeries.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
