import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.meta import prune_managed_fields

MANAGED = [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
names = st.sampled_from(["name", "labels", "managedFields", "spec", "metadata", "x"])
values = st.recursive(
    st.just(MANAGED) | st.text(max_size=3) | st.just('"managedFields":[]'),
    lambda inner: st.dictionaries(names, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)


def compact(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


@given(
    st.permutations(["kind", "metadata", "spec"]),
    st.dictionaries(names, values, max_size=4),
    values,
    st.booleans(),
)
def test_only_the_managed_fields_of_the_metadata_go(
    order: list[str], metadata: dict[str, Any], spec: Any, spaced: bool
) -> None:
    whole = {"kind": "K", "metadata": metadata, "spec": spec}
    content = {name: whole[name] for name in order}
    raw = json.dumps(content).encode() if spaced else compact(content)
    expected = json.loads(raw)
    expected["metadata"].pop("managedFields", None)
    assert json.loads(prune_managed_fields(raw)) == expected


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"name": "a", "managedFields": MANAGED}, {"name": "a"}),
        ({"managedFields": MANAGED, "name": "a"}, {"name": "a"}),
        ({"name": "a", "managedFields": MANAGED, "uid": "u"}, {"name": "a", "uid": "u"}),
        ({"managedFields": MANAGED}, {}),
        ({"managedFields": None, "name": "a"}, {"name": "a"}),
    ],
    ids=["last", "first", "middle", "only", "null"],
)
def test_the_member_goes_with_one_comma(before: dict[str, Any], after: dict[str, Any]) -> None:
    raw = compact({"kind": "K", "metadata": before, "spec": {}})
    assert prune_managed_fields(raw) == compact({"kind": "K", "metadata": after, "spec": {}})


@pytest.mark.parametrize(
    "raw",
    [
        b'{"metadata":{"name":"a"}}',
        b'{"spec":{"managedFields":[]}}',
        b'{"managedFields"',
        b'["managedFields"]',
        b"",
    ],
)
def test_bytes_without_managed_fields_come_back_as_they_are(raw: bytes) -> None:
    assert prune_managed_fields(raw) is raw


def test_the_same_text_elsewhere_in_other_spacing_is_not_taken_for_it() -> None:
    raw = b'{"metadata":{"name":"a","managedFields": [1]},"spec":{"managedFields":[1]}}'
    assert json.loads(prune_managed_fields(raw)) == {
        "metadata": {"name": "a"},
        "spec": {"managedFields": [1]},
    }
