"""Tracing against the plainest model: which events, and which call before, each reconcile follows from."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

pytest.importorskip("opentelemetry.sdk", reason="needs opentelemetry-sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import get_current_span

from kinformer.hooks import KeyTaken, KeyTriggered, ReconcileFinished, ReconcileResult, ReconcileStarted
from kinformer.meta import ObjectKey
from kinformer.observe import Tracing
from kinformer.testing import FakeClock

KEYS = st.sampled_from([ObjectKey("n", "a"), ObjectKey("n", "b")])


class Following(RuleBasedStateMachine):
    """One worker takes keys that events bring, or that failed; ``origins`` are the span ids that each run follows from."""

    def __init__(self) -> None:
        super().__init__()
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracing = Tracing(provider, clock=FakeClock())
        self.events: dict[ObjectKey, list[int]] = {}
        self.failed: dict[ObjectKey, int] = {}
        self.running: ObjectKey | None = None
        self.origins: list[int] = []
        self.calls = 0

    def last(self) -> int:
        context = self.exporter.get_finished_spans()[-1].context
        assert context is not None
        found: int = context.span_id
        return found

    @rule(key=KEYS)
    def trigger(self, key: ObjectKey) -> None:
        events = self.events.setdefault(key, [])
        before = len(self.exporter.get_finished_spans())
        self.tracing.key_triggered(KeyTriggered("c", "", key, "updated", "pods", str(key)))
        is_told = len(self.exporter.get_finished_spans()) > before
        assert is_told == (len(events) < 9)
        if is_told:
            events.append(self.last())

    @precondition(lambda self: self.running is None)
    @rule(key=KEYS, waited=st.sampled_from([0.0, 1.5]))
    def start(self, key: ObjectKey, waited: float) -> None:
        self.calls += 1
        self.tracing.key_taken(KeyTaken("c", 0, waited))
        self.tracing.reconcile_started(ReconcileStarted("c", "", key, 1, str(self.calls)))
        self.running = key
        self.origins = self.events.pop(key, [])
        if key in self.failed:
            self.origins = [*self.origins, self.failed.pop(key)]
            self.has_event = len(self.origins) > 1
        else:
            self.has_event = bool(self.origins)
        queue = self.exporter.get_finished_spans()[-1]
        self.queue = self.last()
        assert queue.start_time is not None
        assert queue.end_time is not None
        assert queue.end_time - queue.start_time == waited * 1e9
        assert (queue.parent.span_id if queue.parent else None) == (
            self.origins[0] if self.has_event else None
        )

    @precondition(lambda self: self.running is not None)
    @rule(result=st.sampled_from(ReconcileResult))
    def finish(self, result: ReconcileResult) -> None:
        key, self.running = self.running, None
        assert key is not None
        error = ValueError() if result is ReconcileResult.ERROR else None
        self.tracing.reconcile_finished(ReconcileFinished("c", key, result, 0.1, error, "", str(self.calls)))
        span = self.exporter.get_finished_spans()[-1]
        assert span.name == "reconcile c"
        assert span.parent is not None
        assert span.parent.span_id == self.queue
        links = [link.context.span_id for link in span.links]
        assert links == (self.origins[1:] if self.has_event else self.origins)
        if error is not None:
            self.failed[key] = self.last()

    @invariant()
    def the_present_span_is_that_of_the_running_call(self) -> None:
        assert get_current_span().get_span_context().is_valid == (self.running is not None)
        assert len(self.tracing._open) == (self.running is not None)

    def teardown(self) -> None:
        if self.running is not None:
            self.finish(ReconcileResult.CANCELLED)


TestFollowing = Following.TestCase
TestFollowing.settings = settings(max_examples=20)
