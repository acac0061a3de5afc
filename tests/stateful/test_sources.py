"""From events to keys: whoever looks again at each key that is told is never behind on what he looks at."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.controller import generation_changed
from kinformer.controller._sources import EventSource, keys_of_owners, priority_of
from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.meta import Object, ObjectKey, Resource
from kinformer.workqueue import LOW_PRIORITY

CONFIG_MAPS = Resource.builtin("ConfigMap")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
OWNERS = ("a", "b", "c")
NAMES = st.sampled_from("pqr")
OWNED_BY = st.lists(
    st.tuples(st.sampled_from(OWNERS), st.booleans()), max_size=2, unique_by=lambda one: one[0]
)
View = set[tuple[str, int, int]]


class SourcesMachine(RuleBasedStateMachine):
    """Pages come, go and change their owners. For each Website somebody keeps the pages it owns, by what they want."""

    @initialize(any_owner=st.booleans(), is_choosy=st.booleans())
    def begin(self, any_owner: bool, is_choosy: bool) -> None:
        self.any_owner, self.is_choosy = any_owner, is_choosy
        when = (generation_changed,) if is_choosy else ()
        self.source = EventSource(CONFIG_MAPS, keys_of_owners(WEBSITES, any_owner=any_owner), when)
        self.pages: dict[str, dict[str, Any]] = {}
        self.writes = 0
        self.views: dict[str, View] = {name: set() for name in OWNERS}

    def owned(self, owner: str) -> View:
        """The pages of a Website: their generation, and their version too where that is looked at."""
        return {
            (name, page["generation"], 0 if self.is_choosy else page["resourceVersion"])
            for name, page in self.pages.items()
            if any(
                one["name"] == owner and (self.any_owner or one["controller"])
                for one in page["ownerReferences"]
            )
        }

    def make(self, name: str, owners: list[tuple[str, bool]], generation: int) -> None:
        self.writes += 1
        self.pages[name] = {
            "name": name,
            "namespace": "default",
            "uid": name,
            "generation": generation,
            "resourceVersion": self.writes,
            "ownerReferences": [
                {
                    "apiVersion": "example.dev/v2",
                    "kind": "Website",
                    "name": owner,
                    "uid": owner,
                    "controller": is_mine,
                }
                for owner, is_mine in owners
            ],
        }

    def show(self, name: str) -> Object:
        metadata = self.pages[name] | {"resourceVersion": str(self.pages[name]["resourceVersion"])}
        return Object.from_mapping({"metadata": metadata}, CONFIG_MAPS)

    def tell(self, notification: Notification[Object]) -> None:
        keys = list(self.source.keys_of(notification))
        assert len(set(keys)) == len(keys)
        for key in keys:
            assert key == ObjectKey("default", key.name)
            self.views[key.name] = self.owned(key.name)

    @rule(name=NAMES, owners=OWNED_BY, is_initial=st.booleans())
    def create(self, name: str, owners: list[tuple[str, bool]], is_initial: bool) -> None:
        if name not in self.pages:
            self.make(name, owners, 1)
            told = Added(self.show(name), is_initial)
            assert priority_of(told) == (LOW_PRIORITY if is_initial else 0)
            self.tell(told)

    @precondition(lambda self: self.pages)
    @rule(data=st.data(), owners=OWNED_BY)
    def change_what_is_wanted(self, data: st.DataObject, owners: list[tuple[str, bool]]) -> None:
        name = data.draw(st.sampled_from(sorted(self.pages)))
        old = self.show(name)
        self.make(name, owners, self.pages[name]["generation"] + 1)
        told = Updated(old, self.show(name))
        assert priority_of(told) == 0
        self.tell(told)

    @precondition(lambda self: self.pages)
    @rule(data=st.data())
    def report(self, data: st.DataObject) -> None:
        """Only the status changes: nobody who is choosy hears of it."""
        name = data.draw(st.sampled_from(sorted(self.pages)))
        old = self.show(name)
        self.writes += 1
        self.pages[name] = self.pages[name] | {"resourceVersion": self.writes}
        told = Updated(old, self.show(name))
        assert not (self.is_choosy and list(self.source.keys_of(told)))
        self.tell(told)

    @precondition(lambda self: self.pages)
    @rule(data=st.data())
    def resync(self, data: st.DataObject) -> None:
        """Every owner hears of it, choosy or not, when there is time."""
        page = self.show(data.draw(st.sampled_from(sorted(self.pages))))
        told = Updated(page, page)
        owners = {name for name in OWNERS if any(one[0] == page.key.name for one in self.owned(name))}
        assert {key.name for key in self.source.keys_of(told)} == owners
        assert priority_of(told) == LOW_PRIORITY

    @precondition(lambda self: self.pages)
    @rule(data=st.data(), is_tombstone=st.booleans())
    def delete(self, data: st.DataObject, is_tombstone: bool) -> None:
        name = data.draw(st.sampled_from(sorted(self.pages)))
        told = Deleted(self.show(name), is_tombstone)
        del self.pages[name]
        assert priority_of(told) == 0
        self.tell(told)

    @invariant()
    def nobody_is_behind(self) -> None:
        if hasattr(self, "views"):
            assert self.views == {name: self.owned(name) for name in OWNERS}


TestSources = SourcesMachine.TestCase
TestSources.settings = settings(max_examples=40, stateful_step_count=20)
