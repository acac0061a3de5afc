from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kinformer.controller._conditions import get_condition, set_condition

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=5)


def test_a_first_condition_is_written_with_its_moment() -> None:
    status: dict[str, Any] = {}
    assert set_condition(
        status, "Ready", True, reason="AllGood", message="ok", observed_generation=3, now=NOON
    )
    assert status == {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "AllGood",
                "message": "ok",
                "observedGeneration": 3,
                "lastTransitionTime": "2026-01-01T12:00:00Z",
            }
        ]
    }


def test_the_same_condition_again_changes_nothing() -> None:
    status: dict[str, Any] = {}
    set_condition(status, "Ready", True, reason="AllGood", now=NOON)
    before = status["conditions"]
    assert not set_condition(status, "Ready", True, reason="AllGood", now=LATER)
    assert status["conditions"] is before


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"reason": "Better"}, id="reason"),
        pytest.param({"reason": "AllGood", "message": "more"}, id="message"),
        pytest.param({"reason": "AllGood", "observed_generation": 4}, id="observed generation"),
    ],
)
def test_other_facts_change_without_a_new_moment(change: dict[str, Any]) -> None:
    status: dict[str, Any] = {}
    set_condition(status, "Ready", True, reason="AllGood", observed_generation=3, now=NOON)
    assert set_condition(status, "Ready", True, now=LATER, **change)
    assert status["conditions"][0]["lastTransitionTime"] == "2026-01-01T12:00:00Z"


def test_a_turn_of_the_value_has_a_new_moment() -> None:
    status: dict[str, Any] = {}
    set_condition(status, "Ready", True, reason="AllGood", now=NOON)
    assert set_condition(status, "Ready", "Unknown", reason="AllGood", now=LATER)
    assert status["conditions"][0]["lastTransitionTime"] == "2026-01-01T12:05:00Z"


def test_a_moment_of_another_zone_is_written_in_utc() -> None:
    status: dict[str, Any] = {}
    set_condition(status, "Ready", False, reason="No", now=NOON.astimezone(timezone(timedelta(hours=5))))
    assert status["conditions"][0]["lastTransitionTime"] == "2026-01-01T12:00:00Z"


def test_other_conditions_keep_their_places() -> None:
    status: dict[str, Any] = {"phase": "x", "conditions": [{"type": "A"}, {"type": "Ready"}, {"type": "B"}]}
    set_condition(status, "Ready", False, reason="Broken", now=NOON)
    assert [entry["type"] for entry in status["conditions"]] == ["A", "Ready", "B"]
    assert status["conditions"][1]["status"] == "False"
    assert status["phase"] == "x"


def test_a_null_list_counts_as_empty() -> None:
    status: dict[str, Any] = {"conditions": None}
    assert get_condition(status, "Ready") is None
    assert set_condition(status, "Ready", True, reason="AllGood", now=NOON)


def test_a_condition_is_found_by_its_type() -> None:
    status: dict[str, Any] = {}
    assert get_condition(status, "Ready") is None
    set_condition(status, "Ready", True, reason="AllGood", now=NOON)
    found = get_condition(status, "Ready")
    assert found is not None
    assert found["status"] == "True"


@pytest.mark.parametrize(
    ("value", "reason"), [("yes", "Fine"), (True, "not fine"), (True, ""), (True, "Colon:")]
)
def test_what_a_server_would_refuse_is_refused_at_once(value: Any, reason: str) -> None:
    status: dict[str, Any] = {}
    with pytest.raises(ValueError, match="condition Ready"):
        set_condition(status, "Ready", value, reason=reason, now=NOON)
    assert status == {}


def test_without_a_moment_the_real_time_is_taken() -> None:
    status: dict[str, Any] = {}
    set_condition(status, "Ready", True, reason="AllGood")
    datetime.strptime(status["conditions"][0]["lastTransitionTime"], "%Y-%m-%dT%H:%M:%S%z")
