"""What two contents differ by, and how that is said."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import Object, ObjectKey, Record, Resource
from kinformer.reflector._difference import Difference, compare

PODS = Resource.builtin("Pod")


def record(name: str, version: str = "1", **body: Any) -> Record:
    content = {"metadata": {"namespace": "default", "name": name, "resourceVersion": version}, **body}
    return Object.from_mapping(content, PODS).record


def keys(*names: str) -> list[ObjectKey]:
    return [ObjectKey("default", name) for name in names]


@pytest.mark.parametrize(
    ("found", "expected", "difference"),
    [
        ([], [], Difference([], [], [])),
        ([record("a"), record("b")], [record("b"), record("a")], Difference([], [], [])),
        ([record("a", kind="Pod", apiVersion="v1")], [record("a")], Difference([], [], [])),
        ([record("b")], [record("c"), record("b"), record("a")], Difference(keys("a", "c"), [], [])),
        ([record("b"), record("a")], [], Difference([], keys("a", "b"), [])),
        ([record("a", "1")], [record("a", "2")], Difference([], [], keys("a"))),
        ([record("a", spec={"x": 1})], [record("a", spec={"x": 2})], Difference([], [], keys("a"))),
    ],
    ids=["nothing", "order", "kind left out", "missing", "surplus", "version", "body"],
)
def test_a_difference_is_by_key(found: list[Record], expected: list[Record], difference: Difference) -> None:
    assert compare(found, expected) == difference
    assert bool(difference) == (difference != Difference([], [], []))


CONTENT = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("12"))


@given(ours=CONTENT, theirs=CONTENT)
def test_what_differs_are_the_keys_that_a_plain_comparison_finds(
    ours: Mapping[str, str], theirs: Mapping[str, str]
) -> None:
    difference = compare(map(record, ours, ours.values()), map(record, theirs, theirs.values()))
    assert list(difference.missing) == keys(*sorted(set(theirs) - set(ours)))
    assert list(difference.surplus) == keys(*sorted(set(ours) - set(theirs)))
    assert list(difference.changed) == keys(
        *sorted(name for name in set(ours) & set(theirs) if ours[name] != theirs[name])
    )


def test_a_difference_names_a_few_of_its_keys() -> None:
    shown = str(Difference(keys(*"abcdefg"), [], keys("x")))
    assert shown == (
        "missing: default/a, default/b, default/c, default/d, default/e and 2 more; changed: default/x"
    )
    assert str(Difference([], [], [])) == "no difference"
