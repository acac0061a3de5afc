"""PriorityReady, against a model that searches lists; and the bound that ageing promises."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.workqueue import PriorityReady
from tests.stateful.queue_models import Levels

KEYS = st.sampled_from([bucket + number for bucket in "abc" for number in "123"])
PRIORITIES = st.integers(-1, 2)


def bucket_of(key: str) -> str:
    return key[0]


class PriorityReadyMachine(RuleBasedStateMachine):
    """Every key that is ready has a last take by which it must have been taken: that is the promise of ageing."""

    @initialize(ageing=st.integers(1, 4), has_buckets=st.booleans())
    def begin(self, ageing: int, has_buckets: bool) -> None:
        self.ageing = ageing
        self.ready = PriorityReady[str](ageing=ageing, bucket=bucket_of if has_buckets else None)
        self.model = Levels(ageing, bucket_of if has_buckets else lambda key: None)
        self.since: dict[str, float] = {}
        self.deadlines: dict[str, int] = {}  # the number of the take by which each ready key is taken
        self.takes = 0

    def promise(self) -> None:
        ready = set(self.model.queued)
        for key in ready - self.deadlines.keys():
            self.deadlines[key] = self.takes + self.ageing * len(ready)

    @rule(keys=st.lists(KEYS, min_size=1, max_size=4), priority=PRIORITIES)
    def add_some(self, keys: list[str], priority: int) -> None:
        for key in keys:
            self.add(key, priority)

    def add(self, key: str, priority: int) -> None:
        assert self.ready.add(key, priority) == self.model.add(key, priority)
        self.promise()

    @precondition(lambda self: self.model.queued)
    @rule()
    def take(self) -> None:
        self.takes += 1
        key = self.ready.take(float(self.takes))
        assert key not in self.model.held, "handed out twice"
        assert key == self.model.take()
        assert self.takes <= self.deadlines.pop(key)
        self.since[key] = float(self.takes)

    @precondition(lambda self: len(self.model.queued) > 1)
    @rule(number=st.integers(2, 6))
    def keep_taking_what_is_urgent(self, number: int) -> None:
        for _ in range(number):
            self.add("a1", 2)
            self.take()
            for key in sorted(self.model.held):
                self.done(key)

    @precondition(lambda self: not self.model.queued)
    @rule()
    def take_from_nothing(self) -> None:
        try:
            key = self.ready.take()
        except LookupError:
            return
        raise AssertionError(f"{key} was handed out, and nobody had asked for it")

    @rule(key=KEYS)
    def done(self, key: str) -> None:
        try:
            since = self.ready.done(key)
        except ValueError:
            assert key not in self.model.held
            return
        assert since == self.since.pop(key)
        self.model.done(key)
        self.promise()

    @invariant()
    def nothing_is_lost_and_nothing_is_there_twice(self) -> None:
        waiting = dict(self.ready.waiting())
        assert waiting == {wish.key: wish.priority for wish in self.model.wishes}
        assert sum(1 for _ in self.ready.waiting()) == len(self.ready) == len(waiting)
        assert list(waiting.values()) == sorted(waiting.values(), reverse=True)
        assert self.ready.running == self.since
        assert not waiting.keys() & self.since.keys()
        assert self.ready.depth == self.model.depth
        assert self.ready.is_idle == (not waiting and not self.since)

    @invariant()
    def every_key_can_be_asked_about(self) -> None:
        for bucket in "abc":
            for number in "123":
                key = bucket + number
                assert self.ready.wants(key) == (key in self.model.queued or key in self.model.again)
                assert (key in self.ready) == (key in self.model.queued or key in self.model.held)
        for key, priority in self.model.held.items():
            assert self.ready.priority(key) == priority

    @invariant()
    def the_heads_are_the_longest_ready_of_each_level(self) -> None:
        oldest: dict[int, str] = {}
        for wish in sorted(self.model.wishes, key=lambda wish: wish.age):
            oldest.setdefault(wish.priority, wish.key)
        assert sorted(self.ready.heads()) == sorted(oldest.items())

    @invariant()
    def no_level_and_no_bucket_is_empty(self) -> None:
        assert self.ready._priorities == sorted(self.ready._levels)
        assert all(level and all(level.values()) for level in self.ready._levels.values())
        assert set(self.ready._again) <= self.since.keys()


TestPriorityReady = PriorityReadyMachine.TestCase
