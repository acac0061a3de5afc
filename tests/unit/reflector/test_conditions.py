"""Conditions say what is true, and since when."""

import pytest

from kinformer.errors import (
    DecodeError,
    ForbiddenError,
    NotFoundError,
    ServerError,
    ThrottledError,
    TransportError,
    UnauthorizedError,
)
from kinformer.reflector._conditions import Condition, Conditions, condition_of


def true(conditions: Conditions) -> set[str]:
    return {str(name) for name, condition in conditions.view.items() if condition.status}


def test_nothing_is_claimed_at_first() -> None:
    conditions = Conditions(3.0)
    assert set(conditions.view.values()) == {Condition(False, 3.0)}


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (UnauthorizedError(401), "Forbidden"),
        (ForbiddenError(403), "Forbidden"),
        (NotFoundError(404), "KindMissing"),
        (ThrottledError(429), "Throttled"),
        (DecodeError("a Table"), "Decoding"),
        (ServerError(500), "Disconnected"),
        (TransportError("reset"), "Disconnected"),
        (RuntimeError("a plugin crashed"), "Disconnected"),
    ],
    ids=repr,
)
def test_each_error_makes_one_condition_true_with_its_message(error: Exception, name: str) -> None:
    conditions = Conditions(0.0)
    assert condition_of(error) == name
    conditions.fail(error, 1.0)
    assert true(conditions) == {name}
    assert conditions.view[name] == Condition(True, 1.0, str(error))
    conditions.succeed(2.0)
    assert true(conditions) == set()
    assert conditions.view[name] == Condition(False, 2.0, str(error)), "what was last is still worth knowing"


def test_since_moves_with_the_status_and_not_with_the_message() -> None:
    conditions = Conditions(0.0)
    conditions.fail(ForbiddenError(403, "Forbidden", "no"), 1.0)
    conditions.fail(ForbiddenError(403, "Forbidden", "still no"), 2.0)
    assert conditions.view["Forbidden"].since == 1.0
    assert "still no" in conditions.view["Forbidden"].message


def test_the_last_failure_replaces_the_one_before() -> None:
    conditions = Conditions(0.0)
    conditions.fail(ForbiddenError(403), 1.0)
    conditions.fail(NotFoundError(404), 2.0)
    assert true(conditions) == {"KindMissing"}


def test_synced_stays_through_trouble() -> None:
    conditions = Conditions(0.0)
    conditions.sync(1.0, "2 objects", [])
    conditions.fail(TransportError("reset"), 2.0)
    assert true(conditions) == {"Synced", "Disconnected"}
    assert conditions.view["Synced"] == Condition(True, 1.0, "2 objects")


def test_an_object_that_cannot_be_read_is_named_until_it_can() -> None:
    conditions = Conditions(0.0)
    conditions.sync(1.0, "", [])
    conditions.quarantine("default/a", 2.0)
    conditions.quarantine("default/b", 3.0)
    assert conditions.view["Decoding"] == Condition(True, 2.0, "2 cannot be read: default/a, default/b")
    conditions.read({"default/a", "default/c"}, 4.0)
    conditions.succeed(5.0)
    assert conditions.view["Decoding"] == Condition(True, 2.0, "1 cannot be read: default/b")
    conditions.read({"default/b"}, 6.0)
    assert conditions.view["Decoding"] == Condition(False, 6.0, "1 cannot be read: default/b")


def test_a_snapshot_starts_the_quarantine_anew() -> None:
    conditions = Conditions(0.0)
    conditions.quarantine("", 1.0)
    conditions.sync(2.0, "", ["x/1", "x/2", "x/3", "x/4"])
    assert conditions.view["Decoding"].message == "4 cannot be read: x/1, x/2, x/3, ..."
    conditions.sync(3.0, "", [])
    assert not conditions.has_unread
    assert not conditions.view["Decoding"].status
