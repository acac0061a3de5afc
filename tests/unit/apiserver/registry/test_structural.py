"""Structural schemas: rule C-7."""

from typing import Any

import pytest

from kinformer.apiserver.registry._structural import check_structural


def problems(schema: dict[str, Any]) -> list[str]:
    root = {"type": "object", "properties": {"a": schema}}
    return [str(problem).removeprefix("s.properties[a]") for problem in check_structural(root, "s")]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string"},
        {"x-kubernetes-int-or-string": True},
        {"x-kubernetes-preserve-unknown-fields": True},
        {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        {"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "atomic"},
        {"type": "object", "additionalProperties": True},
    ],
)
def test_structural_schemas_have_nothing_against_them(schema: dict[str, Any]) -> None:
    assert problems(schema) == []


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({}, ".type: Required value: must not be empty for specified object fields"),
        ({"type": "text"}, '.type: Unsupported value: "text"'),
        ({"type": "string", "$ref": "#/x"}, ".$ref: Forbidden: $ref is not supported"),
        ({"type": "array"}, ".items: Required value: must be specified"),
        (
            {"type": "array", "items": [{"type": "string"}]},
            ".items: Forbidden: items must be a schema object",
        ),
        ({"type": "array", "items": {}}, ".items: Required value"),
        ({"type": "array", "items": {"type": "string"}, "uniqueItems": True}, ".uniqueItems: Forbidden"),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"},
            '.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "map", "set"',
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            ".x-kubernetes-list-map-keys: Required value",
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "loose"},
            '.x-kubernetes-map-type: Unsupported value: "loose": supported values: "atomic", "granular"',
        ),
        ({"type": "object", "additionalProperties": False}, ".additionalProperties: Forbidden"),
        (
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "properties": {"x": {"type": "string"}},
            },
            ".additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            {"type": "string", "pattern": "("},
            '.pattern: Invalid value: "(": must be a valid regular expression',
        ),
        ({"type": "object", "properties": {"x": {}}}, ".properties[x].type: Required value"),
    ],
)
def test_what_is_not_structural_is_named(schema: dict[str, Any], found: str) -> None:
    assert any(problem.startswith(found) for problem in problems(schema)), problems(schema)


def test_the_root_is_an_object() -> None:
    assert [str(problem) for problem in check_structural({"type": "string"}, "s")] == [
        's.type: Invalid value: "string": must be object at the root'
    ]
