"""Tally and Histogram against a list of what was told, which is counted anew each time."""

import math

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.hooks import (
    KeyAdded,
    KeyDone,
    KeyRetried,
    KeyTaken,
    ReconcileFinished,
    ReconcileResult,
    RequestFinished,
)
from kinformer.meta import ObjectKey
from kinformer.observe._histogram import Histogram
from kinformer.observe._tally import RECONCILE_BOUNDS, Tally

NAMES = st.sampled_from(["a", "b"])
SECONDS = st.sampled_from([0.0, 0.004, 0.005, 0.006, 1.0, 1.1, 60.0, 61.0, 1e6])
KEY = ObjectKey("default", "x")


class Counting(RuleBasedStateMachine):
    """Controllers of two names, at work."""

    def __init__(self) -> None:
        super().__init__()
        self.tally = Tally()
        self.reconciles: list[tuple[str, str, float]] = []
        self.requests: list[tuple[str, str, float, bool]] = []
        self.queued: list[tuple[str, str, float]] = []

    @rule(name=NAMES, result=st.sampled_from(ReconcileResult), seconds=SECONDS)
    def reconcile(self, name: str, result: ReconcileResult, seconds: float) -> None:
        self.tally.reconcile_finished(ReconcileFinished(name, KEY, result, seconds))
        self.reconciles.append((name, result, seconds))

    @rule(code=st.sampled_from([0, 200, 409]), host=NAMES, seconds=SECONDS, is_stream=st.booleans())
    def request(self, code: int, host: str, seconds: float, is_stream: bool) -> None:
        self.tally.request_finished(RequestFinished("GET", "/x", code, seconds, 1, host, is_stream))
        self.requests.append((str(code or "<error>"), host, seconds, is_stream))

    @rule(name=NAMES, seconds=SECONDS, what=st.sampled_from(["added", "taken", "done", "retried"]))
    def move_a_key(self, name: str, seconds: float, what: str) -> None:
        match what:
            case "added":
                self.tally.key_added(KeyAdded(name, 1))
            case "taken":
                self.tally.key_taken(KeyTaken(name, 0, seconds))
            case "done":
                self.tally.key_done(KeyDone(name, seconds))
            case _:
                self.tally.key_retried(KeyRetried(name, seconds))
        self.queued.append((name, what, seconds))

    @invariant()
    def each_is_counted_under_its_names(self) -> None:
        for name in "ab":
            for result in ReconcileResult:
                told = [each for each in self.reconciles if each[:2] == (name, result)]
                assert self.tally.reconciles[name, result] == len(told)
            for code in ("<error>", "200", "409"):
                asked = [each for each in self.requests if each[:2] == (code, name)]
                assert self.tally.requests[code, "GET", name] == len(asked)
            assert self.tally.adds[name] == len(self.times_of(name, "added"))
            assert self.tally.retries[name] == len(self.times_of(name, "retried"))

    @invariant()
    def times_are_in_their_buckets(self) -> None:
        for name in "ab":
            self.check(
                self.tally.reconcile_time[name], [each[2] for each in self.reconciles if each[0] == name]
            )
            self.check(self.tally.queue_time[name], self.times_of(name, "taken"))
            self.check(self.tally.work_time[name], self.times_of(name, "done"))
            answers = [each[2] for each in self.requests if each[1] == name and not each[3]]
            self.check(self.tally.request_time["GET", name], answers)

    def times_of(self, name: str, what: str) -> list[float]:
        return [each[2] for each in self.queued if each[:2] == (name, what)]

    def check(self, histogram: Histogram, times: list[float]) -> None:
        bounds = [bound for bound, _ in histogram.accumulated()]
        assert bounds == sorted(bounds)
        assert bounds[-1] == math.inf
        for bound, count in histogram.accumulated():
            assert count == sum(time <= bound for time in times)
        assert histogram.count == len(times)
        assert math.isclose(histogram.total, math.fsum(times))


TestCounting = Counting.TestCase
TestCounting.settings = settings(max_examples=15)


def test_the_bounds_are_those_of_controller_runtime() -> None:
    assert len(RECONCILE_BOUNDS) == 40
    assert sorted(set(RECONCILE_BOUNDS)) == list(RECONCILE_BOUNDS)
