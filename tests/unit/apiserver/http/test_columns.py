from datetime import UTC, datetime
from typing import Any

import pytest

from kinformer.apiserver.http._columns import columns_of
from kinformer.apiserver.registry import PrinterColumn, Served

NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
META = {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}


def cells(served: Served, content: dict[str, Any]) -> dict[str, Any]:
    return {column.name: column.cell({"metadata": META, **content}, NOW) for column in columns_of(served)}


def custom(*columns: PrinterColumn) -> Served:
    return Served("example.dev", "v1", "sites", "Site", is_custom=True, printer_columns=columns)


def test_a_kind_that_nobody_described_shows_name_and_age_t_5() -> None:
    assert cells(Served("", "v1", "limitranges", "LimitRange"), {}) == {"Name": "a", "Age": "60s"}


def test_a_custom_kind_without_columns_shows_name_and_age_c_14() -> None:
    assert cells(custom(), {}) == {"Name": "a", "Age": "60s"}


def test_the_name_column_is_marked_for_kubectl_t_3() -> None:
    first = columns_of(custom())[0].definition()
    assert (first["name"], first["type"], first["format"]) == ("Name", "string", "name")


def test_declared_columns_replace_age_and_keep_their_facts_c_14() -> None:
    served = custom(
        PrinterColumn("URL", "string", ".spec.url", description="where", format="uri", priority=1)
    )
    assert cells(served, {"spec": {"url": "x"}}) == {"Name": "a", "URL": "x"}
    assert columns_of(served)[1].definition() == {
        "name": "URL",
        "type": "string",
        "format": "uri",
        "description": "where",
        "priority": 1,
    }


@pytest.mark.parametrize(
    ("kind", "value", "cell"),
    [
        ("string", "x", "x"),
        ("string", 5, "5"),
        ("string", True, "true"),
        ("string", {"a": [1]}, '{"a":[1]}'),
        ("integer", 5, 5),
        ("integer", 5.0, 5),
        ("integer", True, None),
        ("integer", "5", None),
        ("number", 1.5, 1.5),
        ("boolean", False, False),
        ("boolean", "no", None),
        ("date", "2026-01-01T00:00:30Z", "30s"),
        ("date", 5, None),
        ("string", None, None),
    ],
)
def test_a_value_is_shown_by_its_columns_type_c_14(kind: str, value: Any, cell: Any) -> None:
    assert cells(custom(PrinterColumn("X", kind, ".spec.x")), {"spec": {"x": value}})["X"] == cell


@pytest.mark.parametrize("path", [".spec.missing", ".spec["])
def test_a_path_that_leads_nowhere_shows_nothing(path: str) -> None:
    assert cells(custom(PrinterColumn("X", "string", path)), {"spec": {}})["X"] is None


POD = Served("", "v1", "pods", "Pod")


def test_a_pod_shows_its_state() -> None:
    content = {
        "spec": {"containers": [{"name": "a"}, {"name": "b"}], "nodeName": "n"},
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "containerStatuses": [{"ready": True, "restartCount": 2}, {"ready": False, "restartCount": 1}],
        },
    }
    assert cells(POD, content) == {
        "Name": "a",
        "Ready": "1/2",
        "Status": "Running",
        "Restarts": 3,
        "Age": "60s",
        "IP": "10.0.0.1",
        "Node": "n",
    }


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ({"metadata": {**META, "deletionTimestamp": "x"}, "status": {"phase": "Running"}}, "Terminating"),
        (
            {
                "status": {
                    "phase": "Running",
                    "containerStatuses": [{"state": {"waiting": {"reason": "Back"}}}],
                }
            },
            "Back",
        ),
        (
            {
                "status": {
                    "phase": "Failed",
                    "containerStatuses": [{"state": {"terminated": {"reason": "E"}}}],
                }
            },
            "E",
        ),
        ({"status": {"phase": "Failed", "reason": "Evicted"}}, "Evicted"),
        ({}, ""),
    ],
)
def test_the_status_of_a_pod_is_what_tells_most(content: dict[str, Any], status: str) -> None:
    assert cells(POD, content)["Status"] == status


@pytest.mark.parametrize(
    ("served", "content", "expected"),
    [
        (
            Served("apps", "v1", "deployments", "Deployment"),
            {
                "spec": {
                    "replicas": 3,
                    "selector": {"matchLabels": {"app": "x"}},
                    "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}},
                },
                "status": {"readyReplicas": 1, "updatedReplicas": 2, "availableReplicas": 1},
            },
            {
                "Ready": "1/3",
                "Up-to-date": 2,
                "Available": 1,
                "Containers": "c",
                "Images": "i",
                "Selector": "app=x",
            },
        ),
        (
            Served("", "v1", "services", "Service"),
            {
                "spec": {
                    "clusterIP": "10.0.0.1",
                    "ports": [{"port": 80}, {"port": 53, "nodePort": 30000, "protocol": "UDP"}],
                }
            },
            {
                "Type": "ClusterIP",
                "Cluster-IP": "10.0.0.1",
                "External-IP": "<none>",
                "Port(s)": "80/TCP,53:30000/UDP",
            },
        ),
        (
            Served("", "v1", "services", "Service"),
            {"spec": {"type": "LoadBalancer"}},
            {"Type": "LoadBalancer", "External-IP": "<pending>", "Port(s)": "<none>", "Selector": "<none>"},
        ),
        (
            Served("", "v1", "services", "Service"),
            {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}, {"hostname": "h"}]}}},
            {"External-IP": "1.2.3.4,h"},
        ),
        (Served("", "v1", "namespaces", "Namespace"), {"status": {"phase": "Active"}}, {"Status": "Active"}),
        (Served("", "v1", "configmaps", "ConfigMap"), {"data": {"a": "b"}}, {"Data": 1}),
        (Served("", "v1", "secrets", "Secret"), {"data": None}, {"Type": "Opaque", "Data": 0}),
    ],
)
def test_built_in_kinds_show_what_people_look_for(
    served: Served, content: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert expected.items() <= cells(served, content).items()
