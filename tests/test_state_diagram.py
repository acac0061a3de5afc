"""The drawing and the table of the reflector's states come from the function that decides them."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import docs.reflector_states as script
from kinformer.reflector import Listing, State, Waiting
from kinformer.reflector._machine import Closed, Outcome, PageExpired, advance
from tests.unit.reflector.test_machine import OUTCOMES, TABLE

PAGE = Path(script.__file__).parent / "explanation" / "reflector.md"


Decide = Callable[[State, Outcome], State]


def shown(decide: Decide = advance) -> set[tuple[str, str, str]]:
    found = script.steps(decide, script.OUTCOMES, script.VALUES)
    return {(step.state, step.outcome, step.then) for step in found}


def test_the_page_shows_the_drawing_and_the_table_where_its_marker_is() -> None:
    built = script.on_page_markdown(PAGE.read_text())
    assert script.MARKER not in built
    drawing = ET.fromstring(built[built.index("<svg") : built.index("</svg>") + len("</svg>")])
    words = {text.text for text in drawing.iter() if text.text}
    assert {"Listing", "Streaming", "Watching", "Waiting"} <= words
    assert set(script.OUTCOMES) <= words
    assert "| `Listing` | listed | watch from there |" in built


def test_other_pages_are_left_alone() -> None:
    assert script.on_page_markdown("# Queues", page=None, config={}) == "# Queues"


def test_each_row_of_the_tested_table_is_shown() -> None:
    names = {"closed short": "closed at once"}
    for state, row in TABLE:
        for name in row:
            after = type(advance(state, OUTCOMES[name])).__name__
            assert (type(state).__name__, names.get(name, name), after) in shown()


def test_what_the_function_decides_otherwise_is_shown_otherwise() -> None:
    def decide(state: State, outcome: Outcome) -> State:
        match state, outcome:
            case Listing(), PageExpired():
                return Waiting(Listing("5"), state, script.LOST)
            case Waiting(), Closed():
                return state.then
            case _:
                return advance(state, outcome)

    assert shown() - shown(decide) == {("Listing", "page expired", "Listing")}
    assert ("Waiting", "closed", "Watching") in shown(decide)


def test_an_outcome_that_the_script_has_no_example_of_fails_the_build() -> None:
    for name in ("silent", "busy"):
        outcomes = {other: outcome for other, outcome in script.OUTCOMES.items() if other != name}
        with pytest.raises(RuntimeError, match="OUTCOMES has no example of"):
            list(script.steps(advance, outcomes, script.VALUES))


def test_a_field_that_the_script_has_no_values_for_fails_the_build() -> None:
    values = {name: values for name, values in script.VALUES.items() if name != "has_rested"}
    with pytest.raises(RuntimeError, match=r"VALUES has no values for Watching\.has_rested"):
        list(script.steps(advance, script.OUTCOMES, values))


def test_a_wait_says_what_comes_after_it() -> None:
    rows = script.table(list(script.steps(advance, script.OUTCOMES, script.VALUES))).splitlines()
    assert "| `Watching` | lost | wait, then watch |" in rows
    assert "| `Watching` | expired | begin a cycle; or wait, then begin a cycle |" in rows
