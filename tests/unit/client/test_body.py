import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec
import pydantic
import pytest

from kinformer.client import Body
from kinformer.client._body import encode_body, encode_patch
from kinformer.meta import Object, ObjectKey, Resource

CONFIG_MAPS = Resource.builtin("ConfigMap")
CONTENT = {"metadata": {"name": "a", "namespace": "default"}, "data": {"x": "1"}}
FULL = {"apiVersion": "v1", "kind": "ConfigMap"} | CONTENT


class Meta(msgspec.Struct):
    name: str
    namespace: str


class StructMap(msgspec.Struct):
    metadata: Meta
    data: dict[str, str]


@dataclass
class DataMap:
    metadata: dict[str, str]
    data: dict[str, str] = field(default_factory=dict)


class PydanticMap(pydantic.BaseModel):
    apiVersion: str = "v1"  # noqa: N815 -- as the wire has it
    metadata: dict[str, str]
    data: dict[str, str]
    immutable: bool | None = None


@pytest.mark.parametrize(
    "body",
    [
        CONTENT,
        FULL,
        Object.from_mapping(CONTENT, CONFIG_MAPS),
        Object.from_mapping(FULL, CONFIG_MAPS),
        Object.from_mapping(FULL, CONFIG_MAPS).body,
        StructMap(Meta("a", "default"), {"x": "1"}),
        DataMap({"name": "a", "namespace": "default"}, {"x": "1"}),
        PydanticMap(metadata={"name": "a", "namespace": "default"}, data={"x": "1"}),
    ],
    ids=["mapping", "full", "object", "full object", "frozen", "struct", "dataclass", "pydantic"],
)
def test_every_kind_of_body_becomes_the_same_json(body: Body) -> None:
    encoded = encode_body(body, CONFIG_MAPS)
    assert json.loads(encoded.content) == FULL
    assert encoded.key == ObjectKey("default", "a")


def test_an_object_that_says_its_kind_is_sent_as_it_is() -> None:
    raw = json.dumps(FULL).encode()
    assert encode_body(Object.from_json(raw, CONFIG_MAPS), CONFIG_MAPS).content == raw


def test_a_body_need_not_have_metadata() -> None:
    assert encode_body({}, CONFIG_MAPS).key == ObjectKey("", "")
    assert encode_body({"metadata": {"generateName": "a-", "name": None}}, CONFIG_MAPS).key == ObjectKey(
        "", ""
    )


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (
            FULL | {"kind": "Secret"},
            "kind is 'Secret', but this client writes configmaps, whose is 'ConfigMap'",
        ),
        (FULL | {"apiVersion": "v2"}, "apiVersion is 'v2'"),
        (Object.from_mapping(FULL | {"kind": "Pod"}, Resource.builtin("Pod")), "kind is 'Pod'"),
        ({"metadata": {"name": 7}}, "this is no ConfigMap: .*metadata.name"),
        ([FULL], "must be a mapping or a model, not list"),
        ("text", "must be a mapping or a model, not str"),
    ],
)
def test_a_body_that_does_not_belong_here_is_refused(body: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        encode_body(body, CONFIG_MAPS)


def test_a_body_that_json_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError):
        encode_body({"x": object()}, CONFIG_MAPS)


def test_a_patch_is_sent_as_it_is() -> None:
    assert json.loads(encode_patch({"spec": None}, is_list=False)) == {"spec": None}
    operations = [{"op": "remove", "path": "/spec"}]
    assert json.loads(encode_patch(operations, is_list=True)) == operations
    assert json.loads(encode_patch(Object.from_mapping(CONTENT, CONFIG_MAPS), is_list=False)) == CONTENT


def test_a_patch_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(ValueError, match="must be a list of operations, not dict"):
        encode_patch({"spec": None}, is_list=True)
    with pytest.raises(ValueError, match="must be a mapping or a model of what changes, not list"):
        encode_patch([{"op": "remove", "path": "/spec"}], is_list=False)


def test_a_model_of_kubernetes_asyncio_is_written_without_what_it_does_not_say() -> None:
    from kubernetes_asyncio.client import V1Container, V1ObjectMeta, V1Pod, V1PodSpec

    meta = V1ObjectMeta(name="a", namespace="b", creation_timestamp=datetime(2026, 1, 1, tzinfo=UTC))
    pod = V1Pod(metadata=meta, spec=V1PodSpec(containers=[V1Container(name="c")]))
    body = encode_body(pod, Resource.builtin("Pod"))
    assert body.key == ObjectKey("b", "a")
    assert json.loads(body.content) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "b", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"containers": [{"name": "c"}]},
    }
