"""Failures against a list of all that went wrong, of which the last different ones are looked at."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.hooks import (
    EventDropped,
    HandlerFailed,
    HookFailed,
    LeaderSeen,
    LoopBlocked,
    ObjectQuarantined,
    ReconcileFinished,
    ReconcileResult,
    ReflectorFailed,
    WarningReceived,
    WriteUnseen,
)
from kinformer.meta import ObjectKey
from kinformer.observe._failures import Failure, Failures
from kinformer.testing import FakeClock

KEY = ObjectKey("default", "x")
MOST = 4
ERRORS = st.sampled_from([ValueError("a"), ValueError("b"), ValueError("c" * 900), ValueError()])


class Failing(RuleBasedStateMachine):
    """Things fail one after the other, a second apart; more of them than are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.failures = Failures(MOST, clock=self.clock)
        self.holders: dict[str, str] = {}
        self.told: list[tuple[str, str, str, float]] = []

    def tell(self, source: str, subject: str, message: str) -> None:
        self.told.append((source, subject, message[:500], self.clock.monotonic()))
        self.clock._now += 1.0

    @rule(error=ERRORS, name=st.sampled_from("pq"))
    def fail_a_reconcile(self, error: Exception, name: str) -> None:
        self.failures.reconcile_finished(ReconcileFinished(name, KEY, ReconcileResult.ERROR, 1.0, error))
        self.tell("reconcile", f"{name}: default/x", repr(error))

    @rule()
    def let_a_reconcile_be_good(self) -> None:
        self.failures.reconcile_finished(ReconcileFinished("p", KEY, ReconcileResult.SUCCESS, 1.0))

    @rule(error=ERRORS)
    def fail_a_cache(self, error: Exception) -> None:
        self.failures.reflector_failed(ReflectorFailed("pods", "Listing", "Listing", error, 1.0))
        self.tell("cache", "pods", str(error) or repr(error))

    @rule(error=ERRORS, key=st.sampled_from(["a/b", ""]))
    def fail_an_object(self, error: Exception, key: str) -> None:
        self.failures.object_quarantined(ObjectQuarantined("pods", key, error))
        self.tell("object", f"pods: {key or 'an object'}", str(error) or repr(error))

    @rule(error=ERRORS)
    def fail_a_handler_and_a_hook(self, error: Exception) -> None:
        self.failures.handler_failed(HandlerFailed("pods", "h", error))
        self.tell("handler", "pods: h", repr(error))
        self.failures.hook_failed(HookFailed("key_done", error))
        self.tell("hook", "key_done", repr(error))

    @rule()
    def fail_otherwise(self) -> None:
        self.failures.loop_blocked(LoopBlocked("task", 2.0))
        self.tell("event loop", "task", "it stood still for 2.0 s")
        self.failures.write_unseen(WriteUnseen("p", "pods", KEY, 60.0))
        self.tell("consistency", "p: default/x", "the cache of pods did not show an own write for 60 s")
        self.failures.event_dropped(EventDropped("p", "Created"))
        self.tell("event", "p", "the event Created was not written")
        self.failures.warning_received(WarningReceived("/x", "old"))
        self.tell("warning", "/x", "old")

    @rule(name=st.sampled_from("ef"), holder=st.sampled_from("xy"))
    def see_a_leader(self, name: str, holder: str) -> None:
        self.failures.leader_seen(LeaderSeen(name, "me", holder))
        self.holders[name] = holder
        assert self.failures.holders == self.holders

    @invariant()
    def the_last_different_ones_are_shown_with_their_counts(self) -> None:
        now = self.clock.monotonic()
        expected: list[Failure] = []
        for source, subject, message, when in reversed(self.told):
            what = (source, subject, message)
            if what in {(each.source, each.subject, each.message) for each in expected}:
                continue
            if len(expected) < MOST:
                expected.append(Failure(*what, self.count_since_forgotten(what), now - when))
        assert list(self.failures.shown()) == expected

    def count_since_forgotten(self, what: tuple[str, str, str]) -> int:
        """One that had to go is new when it comes again."""
        count, others = 0, set[tuple[str, str, str]]()
        for source, subject, message, _ in self.told:
            if (source, subject, message) == what:
                count = count + 1 if len(others) < MOST else 1
                others.clear()
            else:
                others.add((source, subject, message))
        return count


TestFailing = Failing.TestCase
TestFailing.settings = settings(max_examples=20)
