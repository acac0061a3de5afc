"""Shared refreshes against a list of all that happened."""

from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from kinformer.client._refreshes import Refreshes, Step
from kinformer.errors import TransportError


@dataclass
class Refresh:
    """One refresh of the model."""

    began: int
    outcome: str = "under way"
    value: int = 0


class RefreshesMachine(RuleBasedStateMachine):
    """Time is the number of what happened so far; a question is answered by what began after it."""

    questions = Bundle("questions")

    def __init__(self) -> None:
        super().__init__()
        self.refreshes = Refreshes[int]()
        self.now = 0
        self.refreshed: list[Refresh] = []
        self.is_led = False
        self.current: Refresh | None = None
        self.asked: list[tuple[int, int]] = []

    def tick(self) -> int:
        self.now += 1
        return self.now

    @rule(target=questions)
    def ask(self) -> tuple[int, int]:
        question = (self.refreshes.ask(), self.tick())
        self.asked.append(question)
        return question

    @rule(question=consumes(questions))
    def give_up(self, question: tuple[int, int]) -> None:
        self.asked.remove(question)

    @precondition(lambda self: not self.is_led)
    @rule()
    def lead(self) -> None:
        self.refreshes.lead()
        self.is_led = True

    @precondition(lambda self: self.is_led and self.current is None)
    @rule()
    def begin(self) -> None:
        self.refreshes.begin()
        self.current = Refresh(self.tick())
        self.refreshed.append(self.current)

    @precondition(lambda self: self.current is not None)
    @rule(outcome=st.sampled_from(["succeeded", "succeeded", "failed", "abandoned"]))
    def end(self, outcome: str) -> None:
        assert self.current is not None
        if outcome == "succeeded":
            self.refreshes.succeed(self.now)
        elif outcome == "failed":
            self.refreshes.fail(TransportError(str(self.now)))
        if self.current.outcome == "under way" or outcome == "failed":
            self.current.outcome, self.current.value = outcome, self.now
        self.leave()

    @precondition(lambda self: self.is_led)
    @rule()
    def leave(self) -> None:
        self.refreshes.leave()
        self.is_led, self.current = False, None

    @rule()
    def invalidate(self) -> None:
        self.refreshes.invalidate()
        for refresh in self.refreshed:
            if refresh.outcome in {"succeeded", "under way"}:
                refresh.outcome = "outdated"

    def expected_step(self, asked: int) -> Step:
        outcomes = {refresh.outcome for refresh in self.refreshed if refresh.began > asked}
        if "succeeded" in outcomes:
            return Step.ANSWER
        if "failed" in outcomes:
            return Step.FAIL
        return Step.WAIT if self.is_led else Step.LEAD

    @invariant()
    def every_question_takes_its_step(self) -> None:
        for ticket, asked in self.asked:
            assert self.refreshes.next_step(ticket) is self.expected_step(asked)

    @invariant()
    def the_value_is_the_last_that_counts(self) -> None:
        values = [refresh.value for refresh in self.refreshed if refresh.outcome == "succeeded"]
        assert self.refreshes.value == (values[-1] if values else None)


TestRefreshes = RefreshesMachine.TestCase
