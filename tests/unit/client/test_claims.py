from typing import Any

import pytest

from kinformer.client._claims import checked_claim, describe, has_condition, holds, is_deleted
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


async def never(_: object) -> bool:
    return False


class Never:
    async def __call__(self, _: object) -> bool:
        return False


@pytest.mark.parametrize("claim", [never, Never()])
def test_an_async_claim_is_refused_before_anything_is_asked(claim: Any) -> None:
    with pytest.raises(TypeError, match="must be a plain function"):
        checked_claim(claim)


def test_a_claim_that_turns_out_to_be_async_does_not_pass_for_true() -> None:
    claim: Any = lambda obj: never(obj)  # noqa: E731, PLW0108 -- nothing tells from outside that it is async
    with pytest.raises(TypeError, match="must be a plain function"):
        holds(claim, None)


@pytest.mark.parametrize(("claim", "error"), [(3, TypeError), (None, TypeError), ("", ValueError)])
def test_what_is_no_claim_is_refused(claim: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="claim="):
        checked_claim(claim)


@pytest.mark.parametrize("claim", ["Ready", is_deleted, bool])
def test_a_condition_and_a_function_are_claims(claim: Any) -> None:
    assert checked_claim(claim) is claim
