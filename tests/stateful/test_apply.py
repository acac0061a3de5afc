"""Server-side apply against the plainest model of ownership: for each field a value and the set of who wants it."""

import asyncio
from random import Random
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import PatchKind, StatusError, Target, Verbs, WriteOptions
from kinformer.apiserver.storage import MemoryKV
from kinformer.testing import FakeClock

MANAGERS, FIELDS, VALUES = ("m", "n", "o"), ("x", "y", "z"), ("1", "2")


class ApplyModel(RuleBasedStateMachine):
    """Managers apply and edit the data of one config map.

    The model: a field is there while it has a value; an apply wants what it names and nothing else; what it wanted
    before and nobody else wants is removed; another value for what others want is a conflict, or, by force, theirs no
    longer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {"anchor": "0"}
        self.wanted: dict[tuple[str, str], set[str]] = {("base", "Apply"): {"anchor"}}
        self.loop = asyncio.new_event_loop()
        registry = Registry()
        self.kv = MemoryKV()
        self.clock = FakeClock()
        self.verbs = Verbs(self.kv, registry, clock=self.clock, random=Random(1))
        served = registry.find("", "v1", "configmaps")
        assert served is not None
        self.target = Target(served, "default", "a")

    @initialize()
    def begin(self) -> None:
        self.call(self.verbs.bootstrap)
        self.patch("base", PatchKind.APPLY, {"anchor": "0"}, force=False)

    def teardown(self) -> None:
        self.loop.close()

    def call(self, verb: Any, *args: Any) -> Any:
        return self.loop.run_until_complete(verb(*args))

    def patch(self, manager: str, kind: PatchKind, data: dict[str, Any], *, force: bool | None) -> None:
        config: dict[str, Any] = {
            "kind": "ConfigMap",
            "apiVersion": "v1",
            "metadata": {"name": "a"},
            "data": data,
        }
        content = config if kind is PatchKind.APPLY else {"data": data}
        options = WriteOptions(field_manager=manager, force=force)
        self.call(self.verbs.patch, self.target, kind, content, options)

    def drop_idle(self) -> None:
        self.wanted = {who: fields for who, fields in self.wanted.items() if fields}

    @rule(
        manager=st.sampled_from(MANAGERS),
        data=st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(VALUES), min_size=1),
        force=st.booleans(),
    )
    def apply(self, manager: str, data: dict[str, str], force: bool) -> None:
        me = (manager, "Apply")
        changed = {field for field, value in data.items() if self.values.get(field) != value}
        contested = {field for who, fields in self.wanted.items() if who != me for field in fields & changed}
        before = self.call(self.kv.revision)
        if contested and not force:
            with pytest.raises(StatusError) as caught:
                self.patch(manager, PatchKind.APPLY, data, force=False)
            fields = {cause["field"] for cause in (caught.value.details or {})["causes"]}
            assert fields == {f".data.{field}" for field in contested}
            assert self.call(self.kv.revision) == before
            return
        is_same = not changed and self.wanted.get(me) == set(data)
        self.patch(manager, PatchKind.APPLY, data, force=force)
        assert (self.call(self.kv.revision) == before) is is_same
        for who in self.wanted:
            if who != me:
                self.wanted[who] = self.wanted[who] - changed
        given_up = self.wanted.get(me, set()) - set(data)
        self.wanted[me] = set(data)
        self.values.update(data)
        for field in given_up:
            if not any(field in fields for fields in self.wanted.values()):
                del self.values[field]
        self.drop_idle()

    @rule(
        manager=st.sampled_from(MANAGERS),
        data=st.dictionaries(st.sampled_from(FIELDS), st.none() | st.sampled_from(VALUES)),
    )
    def edit(self, manager: str, data: dict[str, str | None]) -> None:
        me = (manager, "Update")
        changed = {
            field for field, value in data.items() if value is not None and self.values.get(field) != value
        }
        removed = {field for field, value in data.items() if value is None and field in self.values}
        self.patch(manager, PatchKind.MERGE, data, force=None)
        self.wanted = {who: fields - changed - removed for who, fields in self.wanted.items()}
        self.wanted[me] = self.wanted.get(me, set()) | changed
        self.values = {**self.values, **{f: v for f, v in data.items() if v is not None}}
        for field in removed:
            del self.values[field]
        self.drop_idle()

    @invariant()
    def the_object_says_what_the_model_says(self) -> None:
        if self.call(self.kv.revision) == 1:
            return
        content = self.call(self.verbs.get, self.target).content
        assert content["data"] == self.values
        wanted = {
            (entry["manager"], entry["operation"]): {
                name.removeprefix("f:") for name in entry["fieldsV1"].get("f:data", {}) if name != "."
            }
            for entry in content["metadata"]["managedFields"]
        }
        assert wanted == self.wanted


TestApply = ApplyModel.TestCase
TestApply.settings = settings(max_examples=25)
