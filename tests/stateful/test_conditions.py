"""Conditions, of reflectors and in a status, against a story that is read from its beginning."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.controller import get_condition, set_condition
from kinformer.errors import (
    DecodeError,
    ForbiddenError,
    NotFoundError,
    ServerError,
    ThrottledError,
    TransportError,
)
from kinformer.reflector._conditions import Conditions, condition_of

KEYS = st.sampled_from(["", "n/a", "n/b", "n/c", "n/d"])
ERRORS = st.sampled_from(
    [
        ForbiddenError(403),
        NotFoundError(404),
        ThrottledError(429),
        ServerError(500),
        TransportError("reset"),
        DecodeError("no JSON"),
    ]
)


class ConditionsMachine(RuleBasedStateMachine):
    """What is true follows from the last failure, the last success and the objects that cannot be read."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.conditions = Conditions(0.0)
        self.is_synced = False
        self.failure: Exception | None = None
        self.unread: set[str] = set()
        self.is_answer_illegible = False
        self.history: dict[str, list[tuple[float, bool]]] = {
            name: [(0.0, False)] for name in self.conditions.view
        }

    @rule(seconds=st.integers(1, 9))
    def pass_time(self, seconds: int) -> None:
        self.now += seconds

    @rule(keys=st.sets(KEYS))
    def sync(self, keys: set[str]) -> None:
        self.conditions.sync(self.now, "2 objects", keys)
        self.is_synced, self.unread, self.is_answer_illegible = True, set(keys), False
        self.look()

    @rule(key=KEYS)
    def quarantine(self, key: str) -> None:
        self.conditions.quarantine(key, self.now)
        self.unread.add(key)
        self.is_answer_illegible = False
        self.look()

    @rule(keys=st.sets(KEYS.filter(bool)))
    def read(self, keys: set[str]) -> None:
        self.conditions.read(keys, self.now)
        self.unread -= keys
        self.is_answer_illegible = False
        self.look()

    @rule()
    def succeed(self) -> None:
        self.conditions.succeed(self.now)
        self.failure, self.is_answer_illegible = None, False
        self.look()

    @rule(error=ERRORS)
    def fail(self, error: Exception) -> None:
        self.conditions.fail(error, self.now)
        self.failure = error
        self.is_answer_illegible = self.is_answer_illegible or isinstance(error, DecodeError)
        self.look()

    def look(self) -> None:
        for name in self.history:
            self.history[name].append((self.now, self.is_true(name)))

    def is_true(self, name: str) -> bool:
        if name == "Synced":
            return self.is_synced
        if name == "Decoding":
            return bool(self.unread) or self.is_answer_illegible
        return self.failure is not None and condition_of(self.failure) == name

    def turned(self, name: str) -> float:
        """When the last stretch of one status began."""
        moments = [
            moment
            for (_, before), (moment, after) in pairwise([(0.0, None), *self.history[name]])
            if before != after
        ]
        return moments[-1]

    @invariant()
    def each_is_what_the_story_makes_it_and_since_when_it_last_turned(self) -> None:
        assert self.conditions.has_unread == bool(self.unread)
        for name, condition in self.conditions.view.items():
            status = self.is_true(name)
            assert condition.status == status
            assert condition.since == self.turned(name)

    @invariant()
    def the_message_names_who_cannot_be_read(self) -> None:
        if self.unread and not self.is_answer_illegible:
            message = self.conditions.view["Decoding"].message
            assert message.startswith(f"{len(self.unread)} cannot be read: ")
            assert sum(key in message for key in self.unread if key) >= min(len(self.unread), 3) - (
                "" in self.unread
            )


TestConditions = ConditionsMachine.TestCase


class StatusMachine(RuleBasedStateMachine):
    """``set_condition`` against one entry for each type, in order of their first coming."""

    def __init__(self) -> None:
        super().__init__()
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.status: dict[str, Any] = {"phase": "New"}
        self.entries: dict[str, dict[str, Any]] = {}

    @rule(seconds=st.integers(1, 9))
    def pass_time(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @rule(
        kind=st.sampled_from(["Ready", "Synced"]),
        value=st.sampled_from(["True", "False", "Unknown"]),
        reason=st.sampled_from(["Good", "Bad"]),
        message=st.sampled_from(["", "so it is"]),
        generation=st.sampled_from([None, 1, 2]),
    )
    def set(self, kind: str, value: Any, reason: str, message: str, generation: int | None) -> None:
        before = self.entries.get(kind, {})
        has_turned = before.get("status") != value
        entry: dict[str, Any] = {
            "type": kind,
            "status": value,
            "reason": reason,
            "message": message,
            "lastTransitionTime": f"{self.now:%Y-%m-%dT%H:%M:%SZ}"
            if has_turned
            else before["lastTransitionTime"],
        }
        if generation is not None:
            entry["observedGeneration"] = generation
        shown = self.status.get("conditions")
        has_changed = set_condition(
            self.status,
            kind,
            value,
            reason=reason,
            message=message,
            observed_generation=generation,
            now=self.now,
        )
        assert has_changed == (entry != before)
        assert has_changed or self.status.get("conditions") is shown
        self.entries[kind] = entry

    @invariant()
    def the_status_holds_the_entries(self) -> None:
        assert self.status.get("conditions", []) == list(self.entries.values())
        assert self.status["phase"] == "New"
        for kind in ("Ready", "Synced"):
            assert get_condition(self.status, kind) == self.entries.get(kind)


StatusMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=20)
TestStatus = StatusMachine.TestCase
