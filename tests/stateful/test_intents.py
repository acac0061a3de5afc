"""What is skipped, against the plainest model: the last intent of each object in full."""

import copy
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.controller._intents import Intents
from kinformer.meta import Object, Resource

CONFIG_MAPS = Resource.builtin("ConfigMap")
CAPACITY = 2
KEYS = st.sampled_from("abc")
DATA = st.sampled_from([{"x": "1"}, {"x": "1", "y": "1"}, {"y": "2"}, {}])


class IntentsMachine(RuleBasedStateMachine):
    """Objects are applied, changed and made anew behind the applier's back. What would be skipped must change nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.intents: Intents[str] = Intents(CAPACITY)
        self.objects: dict[str, dict[str, Any]] = {}
        self.last: dict[str, tuple[str, dict[str, str]]] = {}  # by key, the one that was used last at the end
        self.made = 0

    def obj(self, key: str) -> Object:
        return Object.from_mapping(copy.deepcopy(self.objects[key]), CONFIG_MAPS)

    @rule(key=KEYS, data=DATA)
    def want(self, key: str, data: dict[str, str]) -> None:
        wanted = {"metadata": {"name": key, "namespace": "default"}, "data": data}
        if key not in self.objects:
            self.made += 1
            metadata = wanted["metadata"] | {"uid": f"u{self.made}"}
            self.objects[key] = {"metadata": metadata, "data": dict(data)}
            self.noted(key, wanted)
            return
        found = self.objects[key]
        last = self.last.pop(key, None)
        if last is not None:
            self.last[key] = last
        is_last = last == (found["metadata"]["uid"], data)
        is_so = all(found["data"].get(name) == value for name, value in data.items())
        assert self.intents.are_met(key, wanted, self.obj(key)) == (is_last and is_so)
        if not (is_last and is_so):
            found["data"] = {**found["data"], **data}
            self.noted(key, wanted)

    def noted(self, key: str, wanted: dict[str, Any]) -> None:
        self.intents.note(key, wanted, self.obj(key))
        self.last.pop(key, None)
        self.last[key] = (self.objects[key]["metadata"]["uid"], wanted["data"])
        while len(self.last) > CAPACITY:
            del self.last[next(iter(self.last))]

    @rule(key=KEYS, data=DATA)
    def change(self, key: str, data: dict[str, str]) -> None:
        if key in self.objects:
            self.objects[key]["data"] |= data

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.objects.pop(key, None)

    @rule(key=KEYS)
    def forget(self, key: str) -> None:
        self.intents.forget(key)
        self.last.pop(key, None)

    @invariant()
    def it_is_bounded(self) -> None:
        assert len(self.intents) == len(self.last) <= CAPACITY


TestIntents = IntentsMachine.TestCase
TestIntents.settings = settings(max_examples=40, stateful_step_count=20, deadline=None)
