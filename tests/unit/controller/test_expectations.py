from collections.abc import Callable

import pytest

from kinformer.controller import Expectations


def test_counting_waits_until_all_that_was_asked_for_has_been_seen() -> None:
    expectations: Expectations[str] = Expectations()
    expectations.expect_creations("set", 2, now=0)
    expectations.expect_deletions("set", ["u"], now=0)
    sights: list[Callable[[], None]] = [
        lambda: expectations.saw_creation("set"),
        lambda: expectations.saw_deletion("set", "u"),
        lambda: expectations.saw_creation("set"),
    ]
    for see in sights:
        assert not expectations.are_met("set", now=1)
        see()
    assert expectations.are_met("set", now=1)


def test_a_deletion_that_is_seen_twice_counts_once() -> None:
    expectations: Expectations[str] = Expectations()
    expectations.expect_deletions("set", ["u", "v"], now=0)
    expectations.saw_deletion("set", "u")
    expectations.saw_deletion("set", "u")
    assert not expectations.are_met("set", now=1)


def test_after_five_minutes_it_is_time_to_count_anyway() -> None:
    expectations: Expectations[str] = Expectations()
    expectations.expect_creations("set", 1, now=0)
    assert not expectations.are_met("set", now=299)
    assert expectations.are_met("set", now=300)


def test_a_negative_count_is_refused() -> None:
    with pytest.raises(ValueError, match="count=-1 must be zero or more"):
        Expectations[str]().expect_creations("set", -1, now=0)
