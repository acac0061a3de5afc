"""What several namespaces amount to."""

import math

from kinformer.informer import InformerStats
from kinformer.informer._totals import ages_of_all, conditions_of_all, stats_of_all
from kinformer.reflector import Ages, Condition, ConditionType

FORBIDDEN, SYNCED = ConditionType.FORBIDDEN, ConditionType.SYNCED


def health(**told: Condition) -> dict[str, Condition]:
    return {kind: told.get(kind.name.lower(), Condition(False, 0.0)) for kind in ConditionType}


def test_it_is_synced_once_the_last_one_is() -> None:
    early, late = Condition(True, 1.0, "2 objects"), Condition(True, 5.0, "3 objects")
    both = conditions_of_all({"a": health(synced=late), "b": health(synced=early)})
    assert both[SYNCED] == Condition(True, 5.0, "a: 3 objects; b: 2 objects")


def test_until_then_it_says_which_are_not() -> None:
    parts = {"a": health(synced=Condition(True, 4.0, "2 objects")), "b": health(), "c": health()}
    assert conditions_of_all(parts)[SYNCED] == Condition(False, 0.0, "")


def test_it_is_in_trouble_since_the_first_one_is() -> None:
    parts = {
        "a": health(forbidden=Condition(False, 9.0, "was refused")),
        "b": health(forbidden=Condition(True, 7.0, "no")),
        "c": health(forbidden=Condition(True, 3.0, "never")),
    }
    assert conditions_of_all(parts)[FORBIDDEN] == Condition(True, 3.0, "b: no; c: never")


def test_it_is_out_of_trouble_since_the_last_one_is() -> None:
    parts = {
        "a": health(forbidden=Condition(False, 9.0, "was refused")),
        "b": health(forbidden=Condition(False, 2.0)),
    }
    assert conditions_of_all(parts)[FORBIDDEN] == Condition(False, 9.0, "a: was refused")


def test_a_message_names_no_more_than_three() -> None:
    parts = {name: health(forbidden=Condition(True, 0.0, "no")) for name in "abcde"}
    assert conditions_of_all(parts)[FORBIDDEN].message == "a: no; b: no; c: no; and 2 more"


def test_nothing_is_claimed_before_all_run() -> None:
    assert conditions_of_all({"a": health(), "b": {}}) == {}


def test_the_newest_event_counts_and_the_oldest_bookmark() -> None:
    assert ages_of_all([Ages(3.0, 1.0), Ages(2.0, 60.0)]) == Ages(2.0, 60.0)
    assert ages_of_all([Ages(3.0, 1.0), Ages(math.inf, math.inf)]) == Ages(3.0, math.inf)


def test_numbers_are_added_but_for_high_water_and_age() -> None:
    first = InformerStats(1, 2, 3, 4, 5.0, 6, 7)
    second = InformerStats(10, 20, 30, 40, 50.0, 60, 70)
    assert stats_of_all([first, second]) == InformerStats(11, 22, 33, 40, 5.0, 66, 77)
