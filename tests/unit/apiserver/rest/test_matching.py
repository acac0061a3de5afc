"""Field selectors: rule Q-5."""

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.apiserver.rest import ListOptions, StatusError, Target, Verbs, WriteOptions
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
