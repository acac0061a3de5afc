import pytest

from kinformer.client._refreshes import Refreshes, Step
from kinformer.errors import TransportError


def refreshed(refreshes: Refreshes[str], value: str) -> None:
    refreshes.lead()
    refreshes.begin()
    refreshes.succeed(value)
    refreshes.leave()


def test_the_first_question_leads() -> None:
    refreshes = Refreshes[str]()
    assert refreshes.value is None
    assert refreshes.next_step(refreshes.ask()) is Step.LEAD


def test_a_refresh_answers_all_who_asked_before_it_began() -> None:
    refreshes = Refreshes[str]()
    first = refreshes.ask()
    refreshes.lead()
    second = refreshes.ask()
    assert refreshes.next_step(second) is Step.WAIT
    refreshes.begin()
    late = refreshes.ask()
    refreshes.succeed("new")
    refreshes.leave()
    assert [refreshes.next_step(ticket) for ticket in (first, second)] == [Step.ANSWER] * 2
    assert refreshes.next_step(late) is Step.LEAD
    assert refreshes.value == "new"


def test_two_do_not_lead_at_once() -> None:
    refreshes = Refreshes[str]()
    refreshes.lead()
    with pytest.raises(RuntimeError, match="somebody refreshes already"):
        refreshes.lead()


def test_a_failure_is_that_of_all_who_asked_before_and_keeps_the_value() -> None:
    refreshes, failure = Refreshes[str](), TransportError("reset")
    refreshed(refreshes, "old")
    ticket = refreshes.ask()
    refreshes.lead()
    refreshes.begin()
    refreshes.fail(failure)
    refreshes.leave()
    assert refreshes.next_step(ticket) is Step.FAIL
    assert refreshes.next_step(refreshes.ask()) is Step.LEAD
    assert (refreshes.value, refreshes.failure) == ("old", failure)


@pytest.mark.parametrize("begins", [False, True])
def test_who_leaves_without_a_result_lets_another_lead(begins: bool) -> None:
    refreshes = Refreshes[str]()
    ticket = refreshes.ask()
    refreshes.lead()
    if begins:
        refreshes.begin()
    refreshes.leave()
    assert refreshes.next_step(ticket) is Step.LEAD


def test_what_was_outdated_meanwhile_is_not_learnt() -> None:
    refreshes = Refreshes[str]()
    ticket = refreshes.ask()
    refreshes.lead()
    refreshes.begin()
    refreshes.invalidate()
    refreshes.succeed("outdated")
    refreshes.leave()
    assert refreshes.value is None
    assert refreshes.next_step(ticket) is Step.LEAD


def test_what_is_known_can_be_forgotten() -> None:
    refreshes = Refreshes[str]()
    ticket = refreshes.ask()
    refreshed(refreshes, "known")
    refreshes.invalidate()
    assert refreshes.value is None
    assert refreshes.next_step(ticket) is Step.LEAD
    refreshed(refreshes, "new")
    assert refreshes.value == "new"
