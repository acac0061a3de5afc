"""What makes a definition good, and what it makes served: rules C-1, C-2, C-7."""

from copy import deepcopy
from typing import Any

import pytest

from kinformer.apiserver.registry import (
    PrinterColumn,
    ScalePaths,
    prepare_definition,
    served_by,
    set_condition,
)
from kinformer.apiserver.registry._definitions import check_definition, check_definition_update

NOW = "2026-01-01T00:00:00Z"
GOOD: dict[str, Any] = {
    "metadata": {"name": "widgets.example.dev"},
    "spec": {
        "group": "example.dev",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget", "categories": ["all"]},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"spec": {"type": "object", "properties": {}}},
                    }
                },
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"},
                },
                "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
                "selectableFields": [{"jsonPath": ".spec.color"}],
            }
        ],
    },
}


def prepared() -> dict[str, Any]:
    content = deepcopy(GOOD)
    prepare_definition(content, taken=(), now=NOW)
    return content


def change(content: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    node: Any = content
    for part in parents:
        node = node[part]
    node[last] = value


def test_a_good_definition_has_no_problems_and_is_served() -> None:
    content = prepared()
    assert not list(check_definition(content))
    (served,) = served_by(content)
    assert served.api_version == "example.dev/v1"
    assert (served.singular, served.list_kind, served.categories) == ("widget", "WidgetList", ("all",))
    assert served.subresources == ("status", "scale")
    assert served.printer_columns == (PrinterColumn("Size", "integer", ".spec.size"),)
    assert served.scale == ScalePaths(".spec.size", ".status.size", "")
    assert served.traits.fields == ("spec.color",)
    assert served.resource.path("default") == "/apis/example.dev/v1/namespaces/default/widgets"


VERSION = "spec.versions.0"
SCHEMA = f"{VERSION}.schema.openAPIV3Schema"


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("metadata.name", "x", 'metadata.name: Invalid value: "x": must be spec.names.plural+"."+spec.group'),
        ("spec.group", "example", "should be a domain with at least one dot"),
        ("spec.scope", "Everywhere", 'spec.scope: Unsupported value: "Everywhere"'),
        ("spec.names.plural", "Widgets", "spec.names.plural: Invalid value"),
        ("spec.names.listKind", "Widget", "kind and listKind may not be the same"),
        (f"{VERSION}.storage", False, "must have exactly one version marked as storage version"),
        (f"{VERSION}.name", "1", "spec.versions[0].name: Invalid value"),
        (
            f"{VERSION}.schema",
            {},
            "spec.versions[0].schema.openAPIV3Schema: Required value: schemas are required",
        ),
        (f"{SCHEMA}.type", "array", "must be object at the root"),
        (
            f"{SCHEMA}.properties.spec",
            {},
            "properties[spec].type: Required value: must not be empty for specified",
        ),
        (f"{SCHEMA}.properties.spec", {"type": "thing"}, 'Unsupported value: "thing"'),
        (f"{SCHEMA}.$ref", "x", "$ref is not supported"),
        (f"{SCHEMA}.properties.spec", {"type": "array"}, "items: Required value: must be specified"),
        (
            f"{SCHEMA}.properties.spec",
            {"type": "string", "pattern": "("},
            "must be a valid regular expression",
        ),
        (f"{SCHEMA}.additionalProperties", False, "additionalProperties cannot be set to false"),
        (f"{VERSION}.additionalPrinterColumns.0.type", "text", 'Unsupported value: "text"'),
        (f"{VERSION}.additionalPrinterColumns.0.jsonPath", "", "jsonPath: Required value"),
        (f"{VERSION}.subresources.scale.specReplicasPath", ".x", "should be a json path under .spec"),
        (f"{VERSION}.selectableFields", [{"jsonPath": ".a"}] * 9, "Too many: 9: must have at most 8 items"),
    ],
)
def test_what_is_wrong_with_a_definition_is_named(path: str, value: Any, problem: str) -> None:
    content = prepared()
    change(content, path, value)
    assert any(problem in str(found) for found in check_definition(content)), list(check_definition(content))


def test_a_definition_without_a_spec_is_refused_without_a_fault() -> None:
    broken: list[Any] = [None, 3, {}]
    for spec in broken:
        content: dict[str, Any] = {"metadata": {"name": "x"}, "spec": spec}
        prepare_definition(content, taken=(), now=NOW)
        assert list(check_definition(content))


def test_a_stored_version_may_not_go() -> None:
    content = prepared()
    change(content, f"{VERSION}.name", "v2")
    (problem,) = check_definition_update(prepared(), content)
    assert problem.field == "status.storedVersions[0]"


def test_a_group_of_kubernetes_needs_an_approval() -> None:
    content = prepared()
    change(content, "spec.group", "apps.k8s.io")
    assert any("approval annotation" in str(found) for found in check_definition(content))


def test_versions_that_are_not_served_are_left_out_unless_all_are_asked_for() -> None:
    content = prepared()
    change(content, f"{VERSION}.served", False)
    assert served_by(content) == ()
    assert len(served_by(content, every_version=True)) == 1


def test_the_time_of_a_condition_moves_only_with_its_status() -> None:
    content = prepared()
    set_condition(content, "Established", True, "Other", "text", "later")
    established = content["status"]["conditions"][1]
    assert (established["reason"], established["lastTransitionTime"]) == ("Other", NOW)
    set_condition(content, "Established", False, "Other", "text", "later")
    assert content["status"]["conditions"][1]["lastTransitionTime"] == "later"
