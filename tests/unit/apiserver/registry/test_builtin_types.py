"""The types of metadata and of built-in kinds: what a real server could not decode is refused."""

from typing import Any

import pytest

from kinformer.apiserver.registry import Registry, Served, StatusError, check_types

SERVED = {served.plural: served for served in Registry().served()}
WIDGETS = Served("example.com", "v1", "widgets", "Widget", is_custom=True)


@pytest.mark.parametrize(
    ("plural", "content", "path"),
    [
        ("configmaps", {"metadata": {"name": 3}}, "ConfigMap.metadata.name of type string"),
        ("configmaps", {"metadata": {"labels": [1]}}, "ConfigMap.metadata.labels of type map"),
        ("configmaps", {"metadata": {"finalizers": "a"}}, "ConfigMap.metadata.finalizers of type slice"),
        ("configmaps", {"metadata": {"ownerReferences": {"a": 1}}}, "metadata.ownerReferences of type slice"),
        ("configmaps", {"data": {"a": 1}}, "ConfigMap.data.a of type string"),
        ("secrets", {"stringData": [1]}, "Secret.stringData of type map"),
        ("services", {"spec": {"ports": [{"port": "80"}]}}, "Service.spec.ports[0].port of type int64"),
        ("namespaces", {"spec": True}, "Namespace.spec of type map"),
        ("pods", {"status": {"containerStatuses": [1]}}, "Pod.status.containerStatuses[0] of type map"),
        ("deployments", {"spec": {"replicas": "1"}}, "Deployment.spec.replicas of type int64"),
        ("ingresses", {"spec": []}, "Ingress.spec of type map"),
        (
            "customresourcedefinitions",
            {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"properties": {"a": {"enum": 1}}}}}]}},
            "spec.versions[0].schema.openAPIV3Schema.properties.a.enum of type slice",
        ),
    ],
)
def test_a_field_of_a_wrong_type_is_refused_by_its_path(
    plural: str, content: dict[str, Any], path: str
) -> None:
    with pytest.raises(StatusError) as caught:
        check_types(SERVED[plural], content)
    assert caught.value.code == 400
    assert path in caught.value.message


def test_of_a_custom_kind_only_the_metadata_is_judged() -> None:
    check_types(WIDGETS, {"metadata": {"name": "a"}, "spec": 5, "status": "x"})
    with pytest.raises(StatusError, match="of type string"):
        check_types(WIDGETS, {"metadata": {"labels": {"a": 1}}})
