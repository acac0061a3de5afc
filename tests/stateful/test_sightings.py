"""What is news about a definition, against a memory of everything that was seen of it."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.reflector._sightings import Sighting, Sightings
from kinformer.testing import added, deleted, modified
from tests.unit.reflector.definitions import WEBSITES, definition


class SightingsMachine(RuleBasedStateMachine):
    """A definition that is written, deleted and made anew, whole or not, seen by somebody who looks now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.sightings = Sightings(WEBSITES)
        self.uid = 1
        self.generation = 1
        self.is_there = False
        self.is_served = self.is_established = True
        self.seen: list[tuple[bool, int, int]] = []
        self.news = 0
        self.changes = 1

    @rule(is_served=st.booleans())
    def change_the_wish(self, is_served: bool) -> None:
        self.generation += 1
        self.changes += 1
        self.is_served = is_served

    @rule(is_established=st.booleans())
    def change_the_status(self, is_established: bool) -> None:
        self.changes += is_established != self.is_established
        self.is_established = is_established

    @rule()
    def flicker(self) -> None:
        """Serve no more and then again, with nothing else changed."""
        for is_established in (True, False, True):
            self.change_the_status(is_established)
            self.show(is_first=False)

    @rule()
    def delete(self) -> None:
        self.changes += self.is_there
        self.is_there = False
        self.look(is_deleted=True)
        self.uid += 1
        self.generation = 1

    @rule(is_first=st.booleans())
    def show(self, is_first: bool) -> None:
        self.is_there = True
        self.look(is_first=is_first)

    @rule()
    def show_another(self) -> None:
        assert self.sightings.see(added(definition(name="gadgets.example.dev"))) is Sighting.ABSENT

    def look(self, *, is_first: bool = False, is_deleted: bool = False) -> None:
        found = definition(
            versions={"v1": self.is_served},
            established=str(self.is_established),
            uid=f"u{self.uid}",
            generation=self.generation,
        )
        event = deleted(found) if is_deleted else added(found) if is_first else modified(found)
        sighting = self.sightings.see(event)
        is_served = self.is_served and self.is_established and not is_deleted
        now = (is_served, self.uid, self.generation)
        if not is_served:
            assert sighting is Sighting.ABSENT
        else:
            assert (sighting is Sighting.KNOWN) == (bool(self.seen) and self.seen[-1] == now)
        self.news += sighting is Sighting.NEWS
        self.seen.append(now)

    @invariant()
    def there_is_no_more_news_than_changes(self) -> None:
        assert self.news <= self.changes


TestSightings = SightingsMachine.TestCase
