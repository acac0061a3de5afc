"""The history of keys, against one list for each."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.controller import Reason
from kinformer.controller._history import History
from kinformer.meta import ObjectKey, Resource

CONFIG_MAPS = Resource.builtin("ConfigMap")
KEYS = st.sampled_from("abc")
PLACES = [ObjectKey("default", name) for name in "xyz"]
REASONS = st.sampled_from(
    [Reason("triggered"), Reason("retried"), Reason("requeued")]
    + [Reason("added", CONFIG_MAPS, key) for key in PLACES]
    + [Reason("updated", CONFIG_MAPS, key) for key in PLACES]
    + [Reason("deleted", CONFIG_MAPS, key) for key in PLACES]
)
MANY = 8


class HistoryMachine(RuleBasedStateMachine):
    """The model keeps everything."""

    def __init__(self) -> None:
        super().__init__()
        self.history = History[str]()
        self.reasons: dict[str, list[Reason]] = {key: [] for key in "abc"}
        self.errors: dict[str, str] = {}

    @rule(key=KEYS, reasons=st.lists(REASONS, max_size=12))
    def add(self, key: str, reasons: list[Reason]) -> None:
        for reason in reasons:
            self.history.add(key, reason)
            self.reasons[key].append(reason)

    @rule(key=KEYS)
    def take(self, key: str) -> None:
        first = list(dict.fromkeys(self.reasons[key]))[:MANY]
        assert self.history.take(key) == tuple(first)
        self.reasons[key] = []

    @rule(key=KEYS, number=st.integers(0, 3))
    def fail(self, key: str, number: int) -> None:
        self.history.failed(key, ValueError(number))
        self.errors[key] = f"ValueError({number})"

    @rule(key=KEYS)
    def succeed(self, key: str) -> None:
        self.history.succeeded(key)
        self.errors.pop(key, None)

    @invariant()
    def it_knows_the_last_error_and_nothing_of_keys_that_are_well(self) -> None:
        assert {key: self.history.last_error(key) for key in "abc"} == {
            key: self.errors.get(key, "") for key in "abc"
        }
        assert len(self.history) == len(self.errors) + sum(map(bool, self.reasons.values()))


TestHistory = HistoryMachine.TestCase
TestHistory.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
