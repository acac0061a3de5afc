"""The failures that a cluster for tests keeps, against all that it heard, read from the end."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.hooks import ReconcileFinished, ReconcileResult
from kinformer.meta import ObjectKey
from kinformer.testing._failures import Failures
from tests.stateful.heard import Diary


class FailuresMachine(RuleBasedStateMachine):
    """What counts is how each key ended when it was last heard of, the latest last."""

    def __init__(self) -> None:
        super().__init__()
        self.hooks = Diary()
        self.failures = Failures(self.hooks)
        self.story: list[ReconcileFinished] = []

    @rule(controller=st.sampled_from("xy"), name=st.sampled_from("abc"), fails=st.booleans())
    def finish(self, controller: str, name: str, fails: bool) -> None:
        error = ValueError(len(self.story)) if fails else None
        result = ReconcileResult.ERROR if fails else ReconcileResult.SUCCESS
        event = ReconcileFinished(controller, ObjectKey("n", name), result, 0.1, error)
        self.story.append(event)
        self.failures.reconcile_finished(event)

    @invariant()
    def it_tells_the_last_failure_of_each_key_that_still_fails(self) -> None:
        newest: dict[tuple[str, ObjectKey], ReconcileFinished] = {}
        for event in reversed(self.story):
            newest.setdefault((event.controller, event.key), event)
        failing = [event for event in reversed(newest.values()) if event.error is not None]
        lines = [f"  {event.controller}, {event.key}: {event.error!r}" for event in failing]
        assert str(self.failures).splitlines() == (["reconciles failed:", *lines] if lines else [])
        assert self.failures.last is (failing[-1].error if failing else None)
        assert self.hooks.events == self.story


TestFailures = FailuresMachine.TestCase
TestFailures.settings = settings(max_examples=40, stateful_step_count=20)
