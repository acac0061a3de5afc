"""Shapes: how the parts of a kind merge: rules C-10, P-6, P-10."""

from typing import Any

import pytest

from kinformer.apiserver.registry import Registry
from kinformer.apiserver.registry._shapes import FREE, STRUCT, Shape, custom_shape

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ports": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["port", "protocol"],
            "items": {
                "type": "object",
                "properties": {"port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}},
            },
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "selector": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "additionalProperties": {"type": "string"},
        },
        "nested": {"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {}}}},
    },
}


def test_a_schema_says_how_its_parts_merge() -> None:
    shape = custom_shape(SCHEMA)
    ports = shape.child("ports")
    assert (ports.list_type, ports.keys, ports.key_defaults) == (
        "map",
        ("port", "protocol"),
        {"protocol": "TCP"},
    )
    assert shape.child("tags").list_type == "set"
    assert shape.child("selector").is_atomic
    assert shape.child("nested").child("any").declares("x")
    assert not shape.child("nested").declares("any")
    assert shape.child("unknown") is FREE


def test_items_are_told_apart_by_their_keys_defaults_included() -> None:
    ports = custom_shape(SCHEMA).child("ports")
    assert ports.identity({"port": 80}) == 'k:{"port":80,"protocol":"TCP"}'
    assert ports.identity({"protocol": "UDP", "port": 80}) == 'k:{"port":80,"protocol":"UDP"}'
    assert Shape(list_type="set").identity("x") == 'v:"x"'


@pytest.mark.parametrize(
    ("plural", "path", "keys", "merge_key"),
    [
        ("pods", "spec.containers", ("name",), "name"),
        ("pods", "spec.containers.*.ports", ("containerPort", "protocol"), "containerPort"),
        ("deployments", "spec.template.spec.volumes", ("name",), "name"),
        ("cronjobs", "spec.jobTemplate.spec.template.spec.containers.*.env", ("name",), "name"),
        ("services", "spec.ports", ("port", "protocol"), "port"),
        ("services", "status.conditions", ("type",), "type"),
        ("nodes", "status.addresses", ("type",), "type"),
        ("configmaps", "metadata.ownerReferences", ("uid",), "uid"),
    ],
)
def test_the_keyed_lists_of_built_in_kinds(
    plural: str, path: str, keys: tuple[str, ...], merge_key: str
) -> None:
    shape = next(each.shape for each in Registry().served() if each.plural == plural)
    for part in path.split("."):
        shape = shape.item if part == "*" else shape.child(part)
    assert (shape.list_type, shape.keys, shape.merge_key) == ("map", keys, merge_key)


def test_the_conditions_of_a_job_are_one_value_for_apply_and_keyed_for_a_patch() -> None:
    job = next(each.shape for each in Registry().served() if each.plural == "jobs")
    conditions = job.child("status").child("conditions")
    assert (conditions.list_type, conditions.merge_key) == ("atomic", "type")


def test_what_is_not_written_down_of_a_built_in_kind_is_a_struct() -> None:
    job = next(each.shape for each in Registry().served() if each.plural == "jobs")
    assert job.child("spec").child("anything") is STRUCT
    assert STRUCT.declares("x")
    assert not FREE.declares("x")
