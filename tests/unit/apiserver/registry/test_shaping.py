"""Pruning, nulls and defaults: rule C-8."""

from typing import Any

import pytest

from kinformer.apiserver.registry._shaping import apply_defaults, drop_nulls, prune


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
NUMBER, LISTED = {"type": "integer"}, {"type": "array", "items": obj(x={"type": "integer"})}


@pytest.mark.parametrize(
    ("schema", "value", "pruned", "dropped"),
    [
        (obj(a=NUMBER), {"a": 1, "b": 2}, {"a": 1}, ["b"]),
        (obj(a=obj(x=NUMBER)), {"a": {"x": 1, "y": 2}}, {"a": {"x": 1}}, ["a.y"]),
        (obj(a=LISTED), {"a": [{"x": 1}, {"y": 2}]}, {"a": [{"x": 1}, {}]}, ["a[1].y"]),
        (obj(a=OPEN), {"a": {"x": {"y": 1}}}, {"a": {"x": {"y": 1}}}, []),
        (obj(a={**OPEN, **obj(x=obj())}), {"a": {"x": {"y": 1}, "z": 1}}, {"a": {"x": {}, "z": 1}}, ["a.x.y"]),
        (
            obj(a={"type": "object", "additionalProperties": obj(x=NUMBER)}),
            {"a": {"k": {"x": 1, "y": 2}}},
            {"a": {"k": {"x": 1}}},
            ["a.k.y"],
        ),
        (
            obj(a={"type": "object", "x-kubernetes-embedded-resource": True}),
            {"a": {"kind": "X", "metadata": {"name": "n"}, "spec": 1}},
            {"a": {"kind": "X", "metadata": {"name": "n"}}},
            ["a.spec"],
        ),
        (obj(), {"kind": "X", "apiVersion": "v1", "metadata": {"name": "n"}, "x": 1},
         {"kind": "X", "apiVersion": "v1", "metadata": {"name": "n"}}, ["x"]),
    ],
)  # fmt: skip
def test_unknown_fields_are_pruned_and_named(
    schema: dict[str, Any], value: dict[str, Any], pruned: dict[str, Any], dropped: list[str]
) -> None:
    assert prune(value, schema) == dropped
    assert value == pruned
    assert prune(value, schema) == []


def test_defaults_fill_what_is_missing_inside_what_exists() -> None:
    schema = obj(
        a=obj(x={"type": "integer", "default": 1}),
        b=obj(y={"type": "integer", "default": 2}),
        c={"type": "object", "default": {"z": []}},
        d={"type": "array", "items": obj(x={"type": "integer", "default": 3})},
    )
    value: dict[str, Any] = {"a": {}, "d": [{}, {"x": 9}]}
    apply_defaults(value, schema)
    assert value == {"a": {"x": 1}, "c": {"z": []}, "d": [{"x": 3}, {"x": 9}]}
    value["c"]["z"].append(1)
    other: dict[str, Any] = {}
    apply_defaults(other, schema)
    assert other["c"] == {"z": []}


def test_a_null_is_dropped_unless_it_is_allowed_and_defaulted_where_there_is_a_default() -> None:
    schema = obj(
        a={"type": "string"},
        b={"type": "string", "nullable": True},
        c={"type": "string", "default": "x"},
        d={"type": "string", "default": "x", "nullable": True},
    )
    value: dict[str, Any] = {"a": None, "b": None, "c": None, "d": None}
    drop_nulls(value, schema)
    apply_defaults(value, schema)
    assert value == {"b": None, "c": "x", "d": None}
