"""The owners of one object against a list of who owns it, and how."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.controller import set_owner
from kinformer.controller._sources import keys_of_owners
from kinformer.meta import Object, ObjectKey, Resource

CONFIG_MAPS = Resource.builtin("ConfigMap")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
NODES = Resource.builtin("Node")


class SetOwnerMachine(RuleBasedStateMachine):
    """Several controllers name themselves, again and again; an owner that was made anew is another one."""

    def __init__(self) -> None:
        super().__init__()
        self.content: dict[str, Any] = {"metadata": {"name": "page", "namespace": "default"}}
        self.owners: list[tuple[str, str, str, bool, bool]] = []  # kind, name, uid, controls, blocks

    @rule(
        resource=st.sampled_from([WEBSITES, WEBSITES, NODES]),
        namespace=st.sampled_from(["default", "default", "other"]),
        name=st.sampled_from("ab"),
        uid=st.sampled_from(["", "1", "2"]),
        controller=st.booleans(),
        blocks=st.booleans(),
    )
    def set(
        self, resource: Resource, namespace: str, name: str, uid: str, controller: bool, blocks: bool
    ) -> None:
        uid = uid and f"{resource.kind} {name} {uid}"
        metadata = {"name": name, "uid": uid} | ({} if resource is NODES else {"namespace": namespace})
        owner = Object.from_mapping({"metadata": metadata}, resource)
        others = [known for known in self.owners if known[2] != uid]
        is_elsewhere = resource is WEBSITES and namespace != "default"
        if not uid or is_elsewhere or (controller and any(known[3] for known in others)):
            before = deepcopy(self.content)
            with pytest.raises(ValueError, match=r"has no uid|cannot be owned by|is controlled by"):
                set_owner(self.content, owner, controller=controller, block_deletion=blocks)
            assert self.content == before
            return
        set_owner(self.content, owner, controller=controller, block_deletion=blocks)
        entry = (resource.kind, name, uid, controller, blocks)
        if len(others) == len(self.owners):
            self.owners.append(entry)
        else:
            self.owners = [entry if known[2] == uid else known for known in self.owners]

    @invariant()
    def the_object_names_its_owners_in_the_order_of_their_coming(self) -> None:
        obj = Object.from_mapping(self.content, CONFIG_MAPS)
        found = obj.metadata.owner_references
        assert [(one.kind, one.name, one.uid, one.controller, one.block_owner_deletion) for one in found] == (
            self.owners
        )
        assert sum(controls for *_, controls, _ in self.owners) <= 1

    @invariant()
    def the_owners_are_found_by_it(self) -> None:
        obj = Object.from_mapping(self.content, CONFIG_MAPS)
        for any_owner in (False, True):
            found = keys_of_owners(WEBSITES, any_owner=any_owner)(obj)
            assert found == [
                ObjectKey("default", name)
                for kind, name, _, controls, _ in self.owners
                if kind == "Website" and (any_owner or controls)
            ]


TestSetOwner = SetOwnerMachine.TestCase
TestSetOwner.settings = settings(max_examples=60, stateful_step_count=15)
