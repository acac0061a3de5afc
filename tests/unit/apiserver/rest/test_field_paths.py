"""Field paths: rules P-9 and P-10."""

from typing import Any

import pytest

from kinformer.apiserver.registry import Registry, Shape
from kinformer.apiserver.rest._field_paths import compare, field_set, from_fields_v1, spelled, to_fields_v1

POD = next(each.shape for each in Registry().served() if each.plural == "pods")
FREE = Shape()


@pytest.mark.parametrize(
    ("value", "shape", "fields"),
    [
        pytest.param({"a": 1, "b": None}, FREE, {"f:a": {}, "f:b": {}}, id="scalars"),
        pytest.param({"a": {}}, FREE, {"f:a": {}}, id="an empty map"),
        pytest.param({"a": [1, 2]}, FREE, {"f:a": {}}, id="a list is one value"),
        pytest.param(
            {"a": {"b": {"c": 1}}}, FREE, {"f:a": {".": {}, "f:b": {".": {}, "f:c": {}}}}, id="free maps"
        ),
        pytest.param({"spec": {"a": {"b": 1}}}, POD, {"f:spec": {"f:a": {"f:b": {}}}}, id="structs"),
        pytest.param({"spec": {"containers": []}}, POD, {}, id="an empty keyed list"),
        pytest.param(
            {"metadata": {"finalizers": ["x"]}},
            POD,
            {"f:metadata": {"f:finalizers": {'v:"x"': {}}}},
            id="a set",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a"}]}},
            POD,
            {"f:spec": {"f:containers": {'k:{"name":"a"}': {".": {}, "f:name": {}}}}},
            id="a keyed list",
        ),
        pytest.param(
            {"spec": {"nodeSelector": {"a": "b"}}}, POD, {"f:spec": {"f:nodeSelector": {}}}, id="atomic map"
        ),
    ],
)
def test_p10_the_fields_of_a_configuration(value: Any, shape: Shape, fields: dict[str, Any]) -> None:
    paths = field_set(value, shape)
    assert to_fields_v1(paths) == fields
    assert from_fields_v1(fields) == paths


def test_comparing_counts_containers_that_are_on_one_side_only() -> None:
    difference = compare({"a": {"x": 1}, "b": 1}, {"a": {"x": 2}, "c": {"y": 1}}, FREE)
    assert difference.added == {("f:c",), ("f:c", "f:y")}
    assert difference.changed == {("f:a", "f:x")}
    assert difference.removed == {("f:b",)}


def test_structs_that_are_always_there_are_nobodys() -> None:
    difference = compare({}, {"metadata": {"labels": {"a": "b"}}, "spec": {"x": 1}}, POD)
    assert to_fields_v1(difference.added) == {
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {"f:x": {}},
    }


def test_the_order_of_a_keyed_list_is_no_difference() -> None:
    one = {"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}
    two = {"spec": {"containers": [{"name": "b"}, {"name": "a"}]}}
    difference = compare(one, two, POD)
    assert not difference.added | difference.changed | difference.removed


def test_a_map_that_becomes_a_scalar_loses_its_members() -> None:
    difference = compare({"a": {"x": 1}}, {"a": 1}, FREE)
    assert difference.changed == {("f:a",)}
    assert difference.removed == {("f:a", "f:x")}


def test_true_is_not_one() -> None:
    assert compare({"a": 1}, {"a": True}, FREE).changed == {("f:a",)}


def test_p13_paths_are_spelled_for_people() -> None:
    path = ("f:spec", "f:containers", 'k:{"name":"app"}', "f:args", 'v:"x"', "i:0")
    assert spelled(path) == '.spec.containers[name="app"].args[="x"][0]'


def test_what_is_no_fields_v1_is_refused() -> None:
    with pytest.raises(TypeError):
        from_fields_v1({"f:a": 1})
