"""A filtering handler that believes what it is told has what passes, and nothing else."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._filter import Filter
from kinformer.meta import ObjectKey

NAMES = st.sampled_from("ab")
NUMBERS = st.sampled_from([2, 8])


class FilterMachine(RuleBasedStateMachine):
    """The predicate is whimsical: what passes is changed on the way, and it raises where it is told to.

    So what is right is said of what it answered last, and of objects for which it could not say, what it said before.
    """

    def __init__(self) -> None:
        super().__init__()
        self.floor = 5
        self.is_broken = False
        self.filter = Filter(self.passes)
        self.world: dict[str, int] = {}
        self.passed: set[str] = set()
        self.told: dict[str, int] = {}

    def passes(self, number: int) -> bool:
        if self.is_broken:
            raise ValueError("broken")
        return number >= self.floor

    def happen(self, name: str, notification: Notification[int]) -> None:
        try:
            told = self.filter(ObjectKey("n", name), notification)
        except ValueError:
            assert self.is_broken
            return
        match notification:
            case Deleted():
                self.passed.discard(name)
            case Added(new) | Updated(_, new):
                (self.passed.add if new >= self.floor else self.passed.discard)(name)
        match told:
            case Added(new):
                assert name not in self.told
                self.told[name] = new
            case Updated(_, new):
                assert name in self.told
                self.told[name] = new
            case Deleted():
                del self.told[name]
            case None:
                assert name not in self.told

    @rule(name=NAMES, number=NUMBERS, is_broken=st.sampled_from([False, False, False, True]))
    def write(self, name: str, number: int, is_broken: bool) -> None:
        self.is_broken = is_broken
        old = self.world.get(name)
        self.world[name] = number
        self.happen(name, Added(number) if old is None else Updated(old, number))

    @rule(name=NAMES, last=st.none() | NUMBERS)
    def delete(self, name: str, last: int | None) -> None:
        if name in self.world:
            old = self.world.pop(name)
            self.happen(name, Deleted(old if last is None else last, is_tombstone=last is None))

    @rule()
    def resync(self) -> None:
        self.is_broken = False
        for name, number in self.world.items():
            self.happen(name, Updated(number, number))

    @rule(floor=st.sampled_from([1, 5, 9]))
    def change_its_mind(self, floor: int) -> None:
        self.floor = floor

    @invariant()
    def the_handler_has_what_passed_when_it_was_last_judged(self) -> None:
        assert self.told.keys() == self.passed
        assert self.told.keys() <= self.world.keys()

    def teardown(self) -> None:
        """Shown everything again by a predicate that can say, it has just what passes, as it is."""
        self.resync()
        assert self.told == {name: number for name, number in self.world.items() if number >= self.floor}


TestFilter = FilterMachine.TestCase
