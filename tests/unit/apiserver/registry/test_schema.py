"""Validation by schema: the table of rule C-9."""

from typing import Any

import pytest

from kinformer.apiserver.registry._schema import validate


@pytest.mark.parametrize(
    ("schema", "value", "reason", "text"),
    [
        ({"type": "integer"}, "x", "TypeInvalid", 'Invalid value: "string": a in body must be of type integer: "string"'),
        ({"type": "integer"}, True, "TypeInvalid", 'Invalid value: "boolean": a in body must be of type integer: "boolean"'),
        ({"type": "integer"}, 1.5, "TypeInvalid", 'Invalid value: "number": a in body must be of type integer: "number"'),
        ({"type": "string"}, None, "TypeInvalid", 'Invalid value: "null": a in body must be of type string: "null"'),
        (
            {"x-kubernetes-int-or-string": True},
            [],
            "TypeInvalid",
            'Invalid value: "array": a in body must be of type integer,string: "array"',
        ),
        ({"enum": ["x", "y"]}, "z", "NotSupported", 'Unsupported value: "z": supported values: "x", "y"'),
        ({"maxLength": 2}, "abc", "TooLong", "Too long: may not be more than 2 bytes"),
        ({"minLength": 2}, "a", "Invalid", 'Invalid value: "a": a in body should be at least 2 chars long'),
        ({"pattern": "^a$"}, "b", "Invalid", "Invalid value: \"b\": a in body should match '^a$'"),
        ({"minimum": 1}, 0, "Invalid", "Invalid value: 0: a in body should be greater than or equal to 1"),
        ({"minimum": 1, "exclusiveMinimum": True}, 1, "Invalid", "Invalid value: 1: a in body should be greater than 1"),
        ({"maximum": 5}, 6, "Invalid", "Invalid value: 6: a in body should be less than or equal to 5"),
        ({"maximum": 5, "exclusiveMaximum": True}, 5, "Invalid", "Invalid value: 5: a in body should be less than 5"),
        ({"multipleOf": 2}, 3, "Invalid", "Invalid value: 3: a in body should be a multiple of 2"),
        ({"maxItems": 1}, [1, 2], "TooMany", "Too many: 2: must have at most 1 items"),
        ({"minItems": 1}, [], "Invalid", "Invalid value: []: a in body should have at least 1 items"),
        ({"maxProperties": 0}, {"x": 1}, "TooMany", "Too many: 1: must have at most 0 items"),
        ({"minProperties": 1}, {}, "Invalid", "Invalid value: {}: a in body should have at least 1 properties"),
        ({"format": "date-time"}, "x", "Invalid", 'Invalid value: "x": a in body must be of type date-time: "x"'),
        ({"format": "ipv4"}, "300.1.1.1", "Invalid", 'Invalid value: "300.1.1.1": a in body must be of type ipv4: "300.1.1.1"'),
        (
            {"oneOf": [{"minimum": 1}, {"minimum": 2}]},
            3,
            "Invalid",
            "Invalid value: 3: a in body must validate one and only one schema (oneOf)",
        ),
        (
            {"anyOf": [{"minimum": 5}, {"minimum": 7}]},
            3,
            "Invalid",
            "Invalid value: 3: a in body must validate at least one schema (anyOf)",
        ),
        ({"not": {"minimum": 1}}, 3, "Invalid", "Invalid value: 3: a in body must not validate the schema (not)"),
        ({"allOf": [{"maximum": 1}]}, 3, "Invalid", "Invalid value: 3: a in body should be less than or equal to 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_value(schema: dict[str, Any], value: Any, reason: str, text: str) -> None:
    (problem,) = validate(value, schema, "a")
    assert (problem.field, problem.reason, problem.text) == ("a", f"FieldValue{reason}", text)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "number"}, 1),
        ({"type": "integer"}, 2.0),
        ({"type": "string", "nullable": True}, None),
        ({"x-kubernetes-int-or-string": True}, "http"),
        ({"format": "date-time"}, "2026-01-01T00:00:00Z"),
        ({"format": "of-our-own"}, "x"),
        ({}, {"anything": [1, None]}),
    ],
)
def test_what_is_fine(schema: dict[str, Any], value: Any) -> None:
    assert not list(validate(value, schema, "a"))


def test_problems_name_their_place() -> None:
    item = {"type": "object", "required": ["name"], "properties": {"size": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {"items": {"type": "array", "items": item}},
        "additionalProperties": {"type": "string"},
    }
    found = list(validate({"items": [{"name": "a"}, {"size": "x"}], "other": 1}, schema))
    assert [problem.field for problem in found] == ["items[1].name", "items[1].size", "other"]
    assert str(found[0]) == "items[1].name: Required value"


@pytest.mark.parametrize(
    ("kind", "value", "repeated"),
    [
        ({"x-kubernetes-list-type": "set"}, ["x", "x"], '"x"'),
        ({"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}, [{"k": 1}, {"k": 1, "v": 2}], '{"k":1}'),
    ],
)  # fmt: skip
def test_members_of_sets_and_keyed_lists_must_differ(
    kind: dict[str, Any], value: list[Any], repeated: str
) -> None:
    (problem,) = validate(value, {"type": "array", **kind}, "a")
    assert (problem.field, problem.text) == ("a[1]", f"Duplicate value: {repeated}")
