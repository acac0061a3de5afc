"""Idle connections against a plain list of all that were ever put."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.client._stream._idle import IdleConnections

LIMIT, AGE = 3, 10.0
KEYS = st.sampled_from("ab")


class Line:
    def __init__(self, key: str, since: float) -> None:
        self.key, self.since = key, since
        self.is_open = True
        self.where = "held"  # then "taken", or "given back"


class Idling(RuleBasedStateMachine):
    """Each connection that was put is held, taken, or given back to be closed: one of the three, once, and for a reason."""

    def __init__(self) -> None:
        super().__init__()
        self.idle = IdleConnections[str, Line](limit=LIMIT, age=AGE)
        self.lines: list[Line] = []  # in the order in which they were put
        self.now = 0.0

    def held(self) -> list[Line]:
        return [line for line in self.lines if line.where == "held"]

    def sees_given_back(self, outdated: list[Line]) -> None:
        wanted = [line for line in self.held() if not line.is_open or self.now - line.since >= AGE]
        kept = [line for line in self.held() if line not in wanted]
        wanted += kept[: max(0, len(kept) - LIMIT)]
        assert {id(line) for line in outdated} == {id(line) for line in wanted}
        assert len(outdated) == len(wanted)
        for line in wanted:
            line.where = "given back"

    @rule(key=KEYS)
    def put(self, key: str) -> None:
        line = Line(key, self.now)
        self.lines.append(line)
        self.sees_given_back(self.idle.put(key, line, self.now))

    @rule(key=KEYS)
    def take(self, key: str) -> None:
        taken, outdated = self.idle.take(key, self.now)
        self.sees_given_back(outdated)
        fitting = [line for line in self.held() if line.key == key]
        assert taken is (fitting[-1] if fitting else None)
        if taken is not None:
            taken.where = "taken"

    @rule(delay=st.sampled_from([0.0, 1.0, 4.0, 9.0, 30.0]))
    def time_passes(self, delay: float) -> None:
        self.now += delay

    @precondition(lambda self: self.held())
    @rule(data=st.data())
    def a_server_hangs_up(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.held())).is_open = False

    @invariant()
    def no_more_are_held_than_may_be(self) -> None:
        assert len(self.idle) == len(self.held()) <= LIMIT


TestIdling = Idling.TestCase
