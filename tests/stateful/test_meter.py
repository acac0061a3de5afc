"""Meter against a list of keys that want a run, and since when."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.hooks import KeyAdded, KeyDone, KeyParked, KeyResumed, KeyRetried, KeyTaken
from kinformer.workqueue._meter import Meter
from tests.stateful.heard import Diary

KEYS = st.sampled_from("abcd")


class MeterMachine(RuleBasedStateMachine):
    """As a queue tells it: each key is added once before it is taken; some come out that nobody saw going in."""

    def __init__(self) -> None:
        super().__init__()
        self.hooks = Diary()
        self.meter = Meter[str]("q", self.hooks)
        self.now = 0.0
        self.waiting: list[tuple[str, float]] = []
        self.events: list[object] = []

    def wanted(self, key: str) -> list[float]:
        return [since for known, since in self.waiting if known == key]

    @rule(seconds=st.integers(1, 9))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        if not self.wanted(key):
            self.waiting.append((key, self.now))
            self.meter.added(key, self.now)
            self.events.append(KeyAdded("q", len(self.waiting)))

    @rule(key=KEYS)
    def take(self, key: str) -> None:
        since = self.wanted(key)
        self.waiting = [(known, when) for known, when in self.waiting if known != key]
        self.meter.taken(key, self.now)
        self.events.append(KeyTaken("q", len(self.waiting), self.now - since[0] if since else 0.0))

    @rule(seconds=st.integers(0, 9))
    def tell_what_needs_no_memory(self, seconds: int) -> None:
        self.meter.done(float(seconds))
        self.meter.retried(float(seconds))
        self.meter.parked(seconds, 3, "no")
        self.meter.resumed(seconds)
        self.events += [
            KeyDone("q", seconds),
            KeyRetried("q", seconds),
            KeyParked("q", seconds, 3, "no"),
            KeyResumed("q", seconds),
        ]

    @rule(heads=st.lists(st.tuples(st.integers(0, 1), KEYS), max_size=8))
    def ask_for_the_oldest(self, heads: list[tuple[int, str]]) -> None:
        ages: dict[int, list[float]] = {}
        for priority, key in heads:
            ages.setdefault(priority, []).append(self.now - (self.wanted(key) or [self.now])[0])
        assert self.meter.oldest(iter(heads), self.now) == {p: max(found) for p, found in ages.items()}

    @invariant()
    def the_hooks_hear_all(self) -> None:
        assert self.hooks.events == self.events

    @invariant()
    def only_keys_that_want_a_run_are_held(self) -> None:
        assert self.meter._since == dict(self.waiting)


TestMeter = MeterMachine.TestCase
TestMeter.settings = settings(max_examples=40, stateful_step_count=20)
