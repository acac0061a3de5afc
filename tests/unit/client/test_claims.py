from typing import Any

import pytest

from kinformer.client._claims import describe, has_condition, is_deleted
from kinformer.meta import Object, Resource

READY = {"type": "Ready", "status": "True"}


def thing(status: Any = None, *, generation: int = 2, **meta: Any) -> Object:
    metadata = {"name": "a", "namespace": "default", "resourceVersion": "7", "generation": generation, **meta}
    return Object.from_mapping({"metadata": metadata, "status": status}, Resource.builtin("Deployment"))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"conditions": [READY]}, True),
        ({"conditions": [{"type": "Other", "status": "False"}, READY]}, True),
        ({"conditions": [READY | {"status": "False"}]}, False),
        ({"conditions": [READY | {"status": "Unknown"}]}, False),
        ({"conditions": [READY | {"observedGeneration": 2}]}, True),
        ({"conditions": [READY | {"observedGeneration": 3}]}, True),
        ({"conditions": [READY | {"observedGeneration": 1}]}, False),
        ({"conditions": [READY], "observedGeneration": 1}, False),
        ({"conditions": [READY], "observedGeneration": 2}, True),
        ({"conditions": [READY | {"observedGeneration": 2}], "observedGeneration": 1}, True),
        ({"conditions": [READY | {"observedGeneration": None}]}, True),
        ({"conditions": [READY | {"observedGeneration": "1"}]}, True),
        ({"conditions": ["Ready", None, 7, READY]}, True),
        ({"conditions": {"Ready": "True"}}, False),
        ({"conditions": "Ready"}, False),
        ({"conditions": None}, False),
        ("Ready", False),
        (None, False),
    ],
)
def test_a_condition_is_true_of_the_object_as_it_is(status: Any, expected: bool) -> None:
    assert has_condition(thing(status), "Ready") is expected


def test_what_is_not_there_is_deleted() -> None:
    assert is_deleted(None)
    assert not is_deleted(thing())


def test_an_object_is_described_by_its_conditions() -> None:
    status = {"conditions": [READY, {"type": "Busy", "status": "False"}]}
    assert describe(thing(status)) == "version 7 with Ready=True, Busy=False"
    assert describe(thing({"conditions": "odd"})) == "version 7 with no conditions"
    going = thing(deletionTimestamp="2026-01-02T03:04:05Z")
    assert describe(going) == "version 7 with no conditions, being deleted"
    assert describe(None) == "no such object"
