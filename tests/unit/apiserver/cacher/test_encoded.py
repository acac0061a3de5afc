"""Made once for all: ``TestCachingObject`` and ``TestCachingDeleteEvents`` upstream."""

from collections.abc import Callable

import pytest

from kinformer.apiserver.cacher._encoded import Bookmark, Forms
from tests.unit.apiserver.cacher.watching import encoded, is_on


def test_each_form_is_made_once_and_when_it_is_asked_for() -> None:
    forms, made = Forms(), []

    def make(name: str) -> Callable[[Forms], str]:
        def make_it(of: Forms) -> str:
            assert of is forms
            made.append(name)
            return name.upper()

        return make_it

    for name in ("json", "table", "json", "table"):
        assert forms.form(name, make(name)) == name.upper()
    assert made == ["json", "table"]


def test_a_failure_is_met_by_whoever_asks_next_too() -> None:
    def fail(of: Forms) -> str:
        raise LookupError("bug")

    forms = Forms()
    for _ in range(2):
        with pytest.raises(LookupError):
            forms.form("json", fail)
    assert forms.form("json", lambda _: "fine") == "fine"


def test_all_who_see_a_change_as_the_same_share_it() -> None:
    under_way = encoded(5, "yes", "yes")
    everybody = under_way.select(None)
    assert everybody is not None
    assert under_way.select(is_on) is everybody
    assert (everybody.type, everybody.version, repr(everybody)) == (
        "MODIFIED",
        5,
        "<MODIFIED /registry/core/pods/default/a at 5>",
    )


def test_who_sees_it_differently_gets_another() -> None:
    under_way = encoded(5, "no", "yes")
    everybody, left = under_way.select(None), under_way.select(is_on)
    assert everybody is not None
    assert left is not None
    assert (everybody.type, everybody.element.labels["on"]) == ("MODIFIED", "no")
    assert (left.type, left.element.labels["on"], left.version) == ("DELETED", "yes", 5)


def test_a_deletion_shows_the_last_state_at_its_own_version() -> None:
    gone = encoded(7, None, "yes").select(None)
    assert gone is not None
    assert (gone.type, gone.element.revision, gone.version) == ("DELETED", 6, 7)


def test_what_is_not_selected_is_not_seen() -> None:
    assert encoded(5, "no", "no").select(is_on) is None


def test_a_bookmark_says_what_it_is() -> None:
    assert repr(Bookmark(4)) == "<BOOKMARK at 4>"
    assert repr(Bookmark(4, ends_initial_events=True)) == "<BOOKMARK at 4, of initial events>"
