"""What a reflector tells, against its story read from the beginning: loud at each turn, quiet in between."""

import asyncio
import logging

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.errors import (
    DecodeError,
    ExpiredError,
    ForbiddenError,
    NotFoundError,
    ServerError,
    TransportError,
)
from kinformer.hooks import (
    ObjectQuarantined,
    ReflectorFailed,
    ReflectorListed,
    ReflectorWatched,
    WatchListDelayed,
)
from kinformer.meta import Object, Resource
from kinformer.reflector._conditions import Conditions, condition_of
from kinformer.reflector._machine import Listing, Watching
from kinformer.reflector._report import Report
from kinformer.testing import FakeClock, added
from tests.stateful.heard import Diary, Lines

PODS = Resource.builtin("Pod")
NAMES = st.sampled_from("abc")
ERRORS = st.sampled_from(
    [
        ExpiredError(410),
        ForbiddenError(403),
        NotFoundError(404),
        ServerError(500),
        TransportError("reset"),
        RuntimeError("a bug"),
    ]
)


class ReportMachine(RuleBasedStateMachine):
    """Each thing that happens goes to the conditions, the log and the hooks."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = FakeClock()
        self.hooks, self.log = Diary(), Lines("kinformer.reflector", logging.INFO)
        self.report = Report("pods", self.clock, self.hooks)
        # the model
        self.conditions = Conditions(0.0)
        self.since_recovery: list[Exception] = []  # the errors, but for versions that expired
        self.was_late = False
        self.events: list[object] = []
        self.lines: list[tuple[str, str]] = []

    @property
    def now(self) -> float:
        return self.clock.monotonic()

    @rule(seconds=st.integers(1, 9))
    def pass_time(self, seconds: int) -> None:
        self.runner.run(self.clock.advance(float(seconds)))

    @rule(error=ERRORS)
    def fail(self, error: Exception) -> None:
        self.report.failed(Watching("5"), Listing("5"), error, 1.25)
        self.conditions.fail(error, self.now)
        self.events.append(ReflectorFailed("pods", "Watching", "Listing", error, 1.25))
        if isinstance(error, ExpiredError):
            return
        before = [condition_of(known) for known in self.since_recovery[-1:]]
        if before != [condition_of(error)]:
            meaning = condition_of(error).meaning
            self.lines.append(("WARNING", f"pods: {meaning}; trying again in 1.2 s: {error}"))
        self.since_recovery.append(error)

    @rule()
    def recover(self) -> None:
        self.report.recovered()
        self.conditions.succeed(self.now)
        if self.since_recovery:
            self.lines.append(("INFO", "pods: recovered"))
        self.since_recovery.clear()
        self.was_late = False

    @rule(count=st.integers(0, 2), silence=st.sampled_from([10.0, 20.0]))
    def be_late(self, count: int, silence: float) -> None:
        self.report.delayed(count, silence)
        self.events.append(WatchListDelayed("pods", count, silence))
        if not self.was_late:
            words = f"nothing has come for {silence:.0f} s, and {count or 'no'} events before"
            self.lines.append(("WARNING", f"pods: the bookmark that ends the watch-list is late: {words}"))
        self.was_late = True

    def expect_quarantine(self, error: DecodeError) -> None:
        self.events.append(ObjectQuarantined("pods", error.key, error))
        self.lines.append(("WARNING", f"pods: cannot read {error.key}: {error}"))

    @rule(name=NAMES)
    def quarantine(self, name: str) -> None:
        error = DecodeError("labels is null", key=f"n/{name}")
        self.report.quarantined(error)
        self.conditions.quarantine(error.key, self.now)
        self.expect_quarantine(error)

    @rule(names=st.sets(NAMES), count=st.integers(0, 3), took=st.integers(0, 5))
    def finish_a_list(self, names: set[str], count: int, took: int) -> None:
        rejected = [DecodeError("labels is null", key=f"n/{name}") for name in sorted(names)]
        self.report.listed(count, "9", iter(rejected), began=self.now - took)
        self.conditions.sync(
            self.now, f"{count} objects as of version '9'", [error.key for error in rejected]
        )
        for error in rejected:
            self.expect_quarantine(error)
        self.events.append(ReflectorListed("pods", count, "9", float(took)))

    @rule(took=st.integers(0, 5))
    def end_a_watch(self, took: int) -> None:
        self.report.watched(3, "9", began=self.now - took)
        self.events.append(ReflectorWatched("pods", 3, "9", float(took)))

    @rule(name=NAMES)
    def apply(self, name: str) -> None:
        metadata = {"namespace": "n", "name": name}
        self.report.applied([added(Object.from_mapping({"metadata": metadata}, PODS))])
        if self.conditions.has_unread:
            self.conditions.read({f"n/{name}"}, self.now)

    @invariant()
    def conditions_log_and_hooks_tell_one_story(self) -> None:
        assert self.report.conditions.view == self.conditions.view
        assert self.hooks.events == self.events
        assert self.log.lines == self.lines

    def teardown(self) -> None:
        self.log.leave()
        self.runner.close()


TestReport = ReportMachine.TestCase
TestReport.settings = settings(max_examples=40, stateful_step_count=25)
