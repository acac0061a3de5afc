"""Custom resources under definitions that keep changing, against the plain content cut by the present schema."""

import asyncio
from random import Random
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.apiserver.registry import Registry, Served
from kinformer.apiserver.rest import ListOptions, PatchKind, Target, Verbs, WriteOptions
from kinformer.apiserver.storage import MemoryKV
from kinformer.testing import FakeClock

FIELDS = ("x", "y", "z")
VERSIONS = ("v1", "v2")


class ShownMachine(RuleBasedStateMachine):
    """Nothing is stored anew when a schema changes; everything is shown by what it says now, in each version."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.registry = Registry()
        self.verbs = Verbs(MemoryKV(), self.registry, clock=FakeClock(), random=Random(1))
        self.loop.run_until_complete(self.verbs.bootstrap())
        self.writes = 0
        self.stored: dict[str, set[str]] = {}
        self.schemas: dict[str, set[str]] = {}
        self.define({version: set(FIELDS) for version in VERSIONS})

    def define(self, schemas: dict[str, set[str]]) -> None:
        self.schemas = schemas
        self.registry.put_custom("sites.e.dev", [served(version, schemas[version]) for version in VERSIONS])

    def target(self, version: str, name: str = "") -> Target:
        found = self.registry.find("e.dev", version, "sites")
        assert found is not None
        return Target(found, "default", name)

    @rule(version=st.sampled_from(VERSIONS), fields=st.sets(st.sampled_from(FIELDS)))
    def change_a_schema(self, version: str, fields: set[str]) -> None:
        self.define(self.schemas | {version: fields})

    @rule(
        version=st.sampled_from(VERSIONS), name=st.sampled_from("ab"), fields=st.sets(st.sampled_from(FIELDS))
    )
    def write(self, version: str, name: str, fields: set[str]) -> None:
        content: dict[str, Any] = {
            "kind": "Site",
            "apiVersion": f"e.dev/{version}",
            "metadata": {"name": name},
        }
        self.writes += 1
        content |= {"writes": self.writes, **dict.fromkeys(fields, "1")}
        work: Any
        if name not in self.stored:
            self.stored[name] = set()
            work = self.verbs.create(self.target(version), content, WriteOptions())
        else:
            work = self.verbs.patch(self.target(version, name), PatchKind.MERGE, content, WriteOptions())
            self.stored[name] &= self.schemas[version]  # a patch is made of what the version shows
        self.loop.run_until_complete(work)
        self.stored[name] |= fields & self.schemas[version]

    @invariant()
    def everything_is_shown_by_the_present_schemas(self) -> None:
        for version in VERSIONS:
            expected = {name: fields & self.schemas[version] for name, fields in self.stored.items()}
            listed = self.loop.run_until_complete(self.verbs.list(self.target(version), ListOptions()))
            assert {one.content["metadata"]["name"]: shown(one.content) for one in listed.items} == expected
            for name in self.stored:
                got = self.loop.run_until_complete(self.verbs.get(self.target(version, name)))
                assert shown(got.content) == expected[name]

    def teardown(self) -> None:
        self.loop.close()


def served(version: str, fields: set[str]) -> Served:
    properties = {"writes": {"type": "integer"}, **{field: {"type": "string"} for field in fields}}
    schema = {"type": "object", "properties": properties}
    return Served("e.dev", version, "sites", "Site", is_custom=True, schema=schema, storage_version="v1")


def shown(content: dict[str, Any]) -> set[str]:
    return content.keys() & set(FIELDS)


TestShown = ShownMachine.TestCase
TestShown.settings = settings(max_examples=20, stateful_step_count=15)
