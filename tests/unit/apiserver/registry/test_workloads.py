from typing import Any

import pytest

from kinformer.apiserver.registry import Registry, Served, check_workloads

LABELS = {"app": "web"}
TEMPLATE = {"metadata": {"labels": LABELS}}


def served(group: str, plural: str) -> Served:
    found = Registry().find(group, "v1", plural)
    assert found is not None
    return found


def problems(content: dict[str, Any], plural: str = "replicasets", group: str = "apps") -> list[str]:
    return [str(problem) for problem in check_workloads(served(group, plural), content)]


def chosen(requirement: dict[str, Any], template: Any = TEMPLATE) -> dict[str, Any]:
    return {"selector": {"matchExpressions": [requirement]}, "template": template}


@pytest.mark.parametrize(
    "spec",
    [
        None,
        {},
        {"replicas": None, "selector": None, "template": None},
        {"replicas": 0, "selector": {"matchLabels": LABELS}, "template": TEMPLATE},
        {"selector": {"matchLabels": LABELS}},
        {"template": TEMPLATE},
        chosen({"key": "app", "operator": "Exists"}),
    ],
)
def test_nothing_is_wrong_with(spec: Any) -> None:
    assert problems({"spec": spec}) == []


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ({"replicas": -3}, "spec.replicas: Invalid value: -3: must be greater than or equal to 0"),
        ({"selector": {}}, "spec.selector: Invalid value: {}: empty selector is invalid for replicaset"),
        (
            {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE},
            'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
        ),
        (
            {"selector": {"matchLabels": LABELS}, "template": {}},
            "spec.template.metadata.labels: Invalid value: {}: `selector` does not match template `labels`",
        ),
    ],
    ids=["negative", "empty", "other labels", "no labels"],
)
def test_a_workload_chooses_its_own_pods(spec: dict[str, Any], complaint: str) -> None:
    assert problems({"spec": spec}) == [complaint]


@pytest.mark.parametrize(
    ("requirement", "complaint"),
    [
        ({"key": "app", "operator": "Like", "values": ["w"]}, "must be one of In, NotIn, Exists"),
        ({"key": "app", "operator": "In", "values": []}, "takes at least one value"),
    ],
)
def test_a_selector_must_make_sense(requirement: dict[str, Any], complaint: str) -> None:
    (found,) = problems({"spec": chosen(requirement)}, "deployments")
    assert found.startswith("spec.selector: Invalid value: ")
    assert complaint in found


def test_other_kinds_choose_as_they_like() -> None:
    assert problems({"spec": {"selector": {}, "replicas": -1}}, "services", "") == []
