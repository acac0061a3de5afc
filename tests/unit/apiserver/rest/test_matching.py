"""Field selectors: rule Q-5."""

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.apiserver.registry import Served, Traits
from kinformer.apiserver.rest import ListOptions, StatusError, Target, Verbs, WriteOptions
from kinformer.apiserver.rest._matching import attributes
from kinformer.apiserver.storage import KeyValue
from kinformer.meta import FieldSelector, LabelSelector

At = Callable[..., Target]


@pytest.mark.parametrize(
    ("plural", "content", "fields", "matches"),
    [
        ("pods", {"spec": {"nodeName": "n"}}, "spec.nodeName=n", True),
        ("pods", {"spec": {"nodeName": "n"}}, "spec.host=n", True),
        ("pods", {"spec": {}}, "spec.nodeName=", True),
        ("pods", {"spec": {}}, "spec.hostNetwork=false", True),
        ("pods", {"spec": {"hostNetwork": True}}, "spec.hostNetwork=true", True),
        ("pods", {}, "status.phase=Pending", True),
        ("pods", {}, "status.phase!=Running,metadata.name=a", True),
        ("pods", {}, "metadata.namespace=other", False),
        ("secrets", {}, "type=Opaque", True),
        ("replicasets", {}, "status.replicas=0", True),
        ("events", {"source": {"component": "kubelet"}, "reason": "x"}, "source=kubelet,reason=x", True),
        ("events", {"involvedObject": {"name": "p"}}, "involvedObject.name=q", False),
    ],
)
async def test_objects_are_found_by_their_fields(
    verbs: Verbs, at: At, plural: str, content: dict[str, Any], fields: str, matches: bool
) -> None:
    await verbs.create(at(plural, "default"), {"metadata": {"name": "a"}, **content}, WriteOptions())
    page = await verbs.list(at(plural), ListOptions(fields=FieldSelector.parse(fields)))
    assert len(page.items) == matches


@pytest.mark.parametrize(
    ("plural", "field", "text"),
    [
        ("pods", "spec.x", "field label not supported: spec.x"),
        (
            "configmaps",
            "data.x",
            '"data.x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("clusterroles", "x", '"x" is not a known field selector: only "metadata.name"'),
    ],
)
async def test_other_fields_cannot_be_asked_for(
    verbs: Verbs, at: At, plural: str, field: str, text: str
) -> None:
    with pytest.raises(StatusError) as caught:
        await verbs.list(at(plural), ListOptions(fields=FieldSelector.parse(f"{field}=1")))
    assert (caught.value.code, caught.value.message) == (400, text)


async def test_labels_and_fields_must_both_match(verbs: Verbs, at: At) -> None:
    metadata = {"name": "a", "labels": {"x": "y"}}
    await verbs.create(at("configmaps", "default"), {"metadata": metadata}, WriteOptions())
    for labels, fields, found in (
        ("x=y", "metadata.name=a", 1),
        ("x=y", "metadata.name=b", 0),
        ("x!=y", "", 0),
    ):
        options = ListOptions(labels=LabelSelector.parse(labels), fields=FieldSelector.parse(fields))
        assert len((await verbs.list(at("configmaps"), options)).items) == found


def stored(served: Served, name: str, value: bytes) -> KeyValue:
    return KeyValue(served.key("default" if served.namespaced else "", name), value, 1, 1, 1)


def test_names_come_from_the_key_and_labels_from_the_metadata(at: At) -> None:
    maps, nodes = at("configmaps").served, at("nodes").served
    value = stored(
        maps, "a", b'{"kind":"ConfigMap","metadata":{"name":"x","labels":{"app":"y"}},"data":{"z":1}}'
    )
    labels, fields = attributes(maps)(value)
    assert (labels, fields) == ({"app": "y"}, {"metadata.name": "a", "metadata.namespace": "default"})
    labels, fields = attributes(nodes)(stored(nodes, "n", b'{"metadata":{}}'))
    assert (labels, fields) == ({}, {"metadata.name": "n", "spec.unschedulable": "false"})


@pytest.mark.parametrize(
    "value", [b"odd", b"[]", b'{"metadata":{"labels":{"a":1}}}', b'{"metadata":' + b"[" * 9000], ids=len
)
@pytest.mark.parametrize("plural", ["pods", "configmaps"])
def test_what_is_no_object_has_neither_labels_nor_fields(at: At, plural: str, value: bytes) -> None:
    served = at(plural).served
    assert attributes(served)(stored(served, "a", value)) == ({}, {})


def test_a_custom_resource_is_selected_by_the_fields_that_its_version_shows() -> None:
    properties = {"color": {"type": "string", "default": "red"}}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}
    served = Served(
        "example.dev",
        "v1",
        "sites",
        "Site",
        is_custom=True,
        schema=schema,
        traits=Traits(fields=("spec.color",)),
    )
    value = stored(served, "a", b'{"kind":"Site","apiVersion":"example.dev/v1","metadata":{},"spec":{}}')
    assert attributes(served)(value).fields["spec.color"] == "red"
