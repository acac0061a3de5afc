import dataclasses
import gc
import json
from typing import Any, TypedDict

import msgspec
import pydantic
import pytest
from kubernetes_asyncio.client import V1Pod

from kinformer.errors import DecodeError
from kinformer.meta import Object, ObjectKey, ObjectMeta, Record, Resource, check_model

PODS = Resource.builtin("Pod")
CONTENT: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7"},
    "spec": {"replicas": 3, "containers": [{"name": "c"}], "nothing": None},
}


def pod(**changes: Any) -> Object:
    return Object.from_mapping(CONTENT | changes, PODS)


def test_kind_and_api_version_come_from_the_resource_since_list_items_lack_them() -> None:
    obj = pod()
    assert (obj.kind, obj.api_version) == ("Pod", "v1")
    assert (obj["kind"], obj["apiVersion"]) == ("Pod", "v1")
    assert b"kind" not in obj.raw
    assert json.loads(obj.to_json()) == obj.thaw() == {"apiVersion": "v1", "kind": "Pod"} | CONTENT


def test_bytes_that_have_a_kind_are_sent_as_they_are() -> None:
    raw = b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}}'
    assert Object.from_json(raw, PODS).to_json() is raw


def test_reading_the_metadata_does_not_decode_the_body() -> None:
    raw = b'{"metadata":{"name":"a"},"spec":{"x":"\xff"}}'  # the body is not even text
    obj = Object.from_json(raw, PODS)
    assert obj.key == ObjectKey("", "a")
    with pytest.raises(DecodeError, match="Pod a") as caught:
        obj["spec"]
    assert caught.value.key == "a"


def test_the_body_is_decoded_once_for_each_handle() -> None:
    obj = pod()
    assert obj.body is obj.body
    assert obj["spec"] is obj["spec"]
    assert Object(obj.record).body is not obj.body


def test_at_walks_keys_and_indexes() -> None:
    obj = pod()
    assert obj.at("spec", "containers", 0, "name") == "c"
    assert obj.at("status", "phase", default="?") == "?"
    assert obj.at("spec", "nothing", default="?") == "?"
    assert obj.at("spec", "replicas", "deeper", default="?") == "?"
    assert obj.at("spec", "nothing") is None
    with pytest.raises(KeyError, match="status"):
        obj.at("status", "phase")


def test_a_thawed_copy_is_private() -> None:
    obj = pod()
    copy = obj.thaw()
    copy["spec"]["replicas"] = 9
    assert obj["spec"]["replicas"] == 3
    assert obj.thaw() is not obj.thaw()


class Spec(msgspec.Struct):
    replicas: int


class PodStruct(msgspec.Struct):
    kind: str
    spec: Spec


@dataclasses.dataclass
class PodDataclass:
    kind: str
    spec: dict[str, Any]


class PodDict(TypedDict):
    kind: str
    spec: dict[str, Any]


class PodModel(pydantic.BaseModel):
    kind: str
    spec: dict[str, Any]


def test_an_object_decodes_into_any_type_that_can_be_decoded() -> None:
    obj = pod()
    assert obj.decode(PodStruct) == PodStruct("Pod", Spec(3))
    assert obj.decode(PodDataclass).kind == "Pod"
    assert obj.decode(PodDict)["spec"]["replicas"] == 3
    assert obj.decode(PodModel).spec["replicas"] == 3
    assert obj.decode(Object) is obj


@pytest.mark.parametrize("model", [PodStruct, PodModel])
def test_an_object_that_does_not_fit_its_model_says_which_and_why(model: type) -> None:
    with pytest.raises(DecodeError, match=rf"Pod default/web is no {model.__name__}: .*") as caught:
        pod(spec=[]).decode(model)
    assert caught.value.key == "default/web"
    assert "spec" in str(caught.value)


class NeedyStruct(msgspec.Struct):
    spec: dict[str, Any]

    def __post_init__(self) -> None:
        self.spec["node"]


class NeedyModel(pydantic.BaseModel):
    spec: dict[str, Any]

    @pydantic.field_validator("spec")
    @classmethod
    def has_node(cls, spec: dict[str, Any]) -> dict[str, Any]:
        spec["node"]
        return spec


@pytest.mark.parametrize("model", [NeedyStruct, NeedyModel])
def test_whatever_the_code_of_a_model_raises_is_an_object_that_does_not_fit(model: type) -> None:
    with pytest.raises(DecodeError, match=rf"Pod default/web is no {model.__name__}: 'node'") as caught:
        pod().decode(model)
    assert caught.value.key == "default/web"
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_type_that_nothing_decodes_into_is_no_fault_of_the_object() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        pod().decode([])  # type: ignore[call-overload, arg-type, unused-ignore]


@pytest.mark.parametrize("model", [[], None, "Pod", PodStruct("Pod", Spec(1)), lambda raw: raw])
def test_what_is_no_model_is_told_before_there_is_an_object(model: Any) -> None:
    with pytest.raises(TypeError, match="must be Object, a msgspec Struct, a dataclass"):
        check_model(model)


def test_a_model_whose_annotations_make_no_sense_is_told_with_the_reason() -> None:
    class Odd(msgspec.Struct):
        spec: "Missing"  # type: ignore[name-defined]  # noqa: F821 -- that is the point

    with pytest.raises(TypeError, match=r"Odd'> must be Object, .*: name 'Missing' is not defined"):
        check_model(Odd)


@pytest.mark.parametrize("model", [Object, PodStruct, PodDataclass, PodDict, PodModel, V1Pod, dict[str, Any]])
def test_every_model_passes(model: Any) -> None:
    check_model(model)


def test_a_handle_is_no_mapping() -> None:
    obj = pod()
    with pytest.raises(TypeError, match="not iterable"):
        list(obj)  # type: ignore[call-overload]  # that is the point
    assert "spec" in obj
    assert "status" not in obj


def test_objects_are_equal_when_their_content_is() -> None:
    listed = pod()
    watched = Object.from_mapping({"kind": "Pod", "apiVersion": "v1"} | CONTENT, PODS)
    assert listed == watched
    assert hash(listed) == hash(watched)
    assert listed != pod(spec={})
    assert listed != Object(msgspec.structs.replace(listed.record, resource=Resource.builtin("Node")))
    assert listed != "default/web"


def test_a_handle_prints_its_kind_key_and_version_and_no_content() -> None:
    assert repr(pod()) == "<Pod default/web @ 7>"


def test_the_garbage_collector_does_not_track_records() -> None:
    assert not gc.is_tracked(Record.decode(b'{"metadata":{"name":"a"}}', PODS))


def test_content_that_is_no_json_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="unsupported"):
        Object.from_mapping({"metadata": {"name": "a"}, "spec": object()}, PODS)


def test_json_nested_deeper_than_the_stack_is_refused_as_any_other_that_cannot_be_read() -> None:
    deep = b"[" * 100_000 + b"]" * 100_000
    with pytest.raises(DecodeError, match="recursion"):
        Object.from_json(b'{"metadata":{"name":"a","labels":' + deep + b"}}", PODS)
    obj = Object(
        Record(PODS, ObjectKey("", "a"), ObjectMeta("a"), b'{"metadata":{"name":"a"},"spec":' + deep + b"}")
    )
    with pytest.raises(DecodeError, match="Pod a"):
        obj.thaw()


@pytest.mark.parametrize(
    "raw", [b'{"kind":"Pod","metadata":{"name":"a"}}', b'{"apiVersion":"v1","metadata":{"name":"a"}}']
)
def test_bytes_that_say_half_of_what_they_are_are_completed(raw: bytes) -> None:
    sent = json.loads(Object.from_json(raw, PODS).to_json())
    assert (sent["kind"], sent["apiVersion"]) == ("Pod", "v1")


def test_content_of_another_kind_is_refused_with_both() -> None:
    with pytest.raises(ValueError, match="kind 'Node' is not that of pods, which is 'Pod'"):
        pod(kind="Node")
    with pytest.raises(ValueError, match="apiVersion 'v2' is not that of pods, which is 'v1'"):
        pod(apiVersion="v2")


def test_nothing_of_a_handle_can_be_replaced() -> None:
    obj = pod()
    with pytest.raises(AttributeError):
        obj.record = pod().record  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"obj\.thaw\(\)"):
        obj["spec"] = {}  # type: ignore[index]  # mypy says so too
