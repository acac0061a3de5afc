import json
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import kubernetes_asyncio.client as generated
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.errors import DecodeError
from kinformer.meta import Object, Resource, openapi_content
from kinformer.meta._openapi_models import is_openapi_model, openapi_decoder

PODS = Resource.builtin("Pod")
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "a",
        "namespace": "default",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "web"},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u", "controller": True}
        ],
    },
    "spec": {
        "containers": [
            {
                "name": "c",
                "ports": [{"containerPort": 80}],
                "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
                "resources": {"limits": {"cpu": "1"}},
                "args": ["x", "y"],
            }
        ],
        "nodeSelector": {"disk": "ssd"},
        "terminationGracePeriodSeconds": 30,
    },
    "status": {"startTime": "2026-01-01T00:00:00Z", "conditions": None, "unknown": {"field": [1]}},
}


def theirs(content: Any, kind: str) -> Any:
    """As the package itself reads it, without an open session."""
    client = generated.ApiClient.__new__(generated.ApiClient)
    return client.deserialize(cast("Any", SimpleNamespace(data=json.dumps(content))), kind)


def ours(content: Any, model: type) -> Any:
    return openapi_decoder(model)(json.dumps(content).encode())


def models() -> Iterator[Any]:
    for name in dir(generated):
        if is_openapi_model(getattr(generated, name)):
            yield getattr(generated, name)


def test_a_pod_is_read_as_the_package_itself_reads_it() -> None:
    pod = ours(POD, generated.V1Pod)
    assert isinstance(pod, generated.V1Pod)
    assert pod.to_dict() == theirs(POD, "V1Pod").to_dict()
    assert pod.metadata.creation_timestamp == datetime(2026, 1, 1, tzinfo=UTC)
    assert pod.spec.containers[0].liveness_probe.http_get.port == "http"
    assert pod.metadata.owner_references[0].controller is True
    assert pod.status.conditions is None


def test_models_that_contain_themselves_are_read() -> None:
    schema = {"type": "object", "properties": {"a": {"items": {"type": "string"}, "required": ["b"]}}}
    assert (
        ours(schema, generated.V1JSONSchemaProps).to_dict() == theirs(schema, "V1JSONSchemaProps").to_dict()
    )


VALUES = {
    "str": "text",
    "int": 7,
    "float": 0.5,
    "bool": True,
    "object": {"any": [1, None]},
    "datetime": "2026-01-01T00:00:00.123456Z",
}


def example(kind: str, depth: int) -> Any:
    """A value of a type in the generator's notation, with all fields down to a depth."""
    if kind.startswith("list["):
        return [example(kind[5:-1], depth)]
    if kind.startswith("dict("):
        return {"key": example(kind.partition(", ")[2][:-1], depth)}
    if kind in VALUES:
        return VALUES[kind]
    model = getattr(generated, kind, None)
    if model is None:  # the package names some that it does not have
        return VALUES["object"]
    names = model.attribute_map
    return (
        {names[field]: example(of, depth - 1) for field, of in model.openapi_types.items()} if depth else {}
    )


@pytest.mark.timeout(60)
def test_each_model_of_the_package_is_read_in_full_and_written_as_it_was() -> None:
    made = list(models())
    assert len(made) > 600
    for model in made:
        content = example(model.__name__, 2)
        read = ours(content, model)
        missing = [name for name in model.openapi_types if getattr(read, name) is None]
        assert not missing, model
        assert json.loads(encode(read)) == content, model


def encode(model: Any) -> bytes:
    import msgspec

    return msgspec.json.encode(model, enc_hook=openapi_content)


def test_what_a_server_sent_is_not_checked_once_more() -> None:
    with pytest.raises(ValueError, match="must not be `None`"):
        theirs({"metadata": {}, "spec": {}}, "V1Pod")
    pod = ours({"metadata": {}, "spec": {}}, generated.V1Pod)
    assert pod.spec.containers is None
    pod.spec.containers = None


NAMES = st.sampled_from(
    ["metadata", "labels", "ownerReferences", "spec", "containers", "ports", "status", "startTime"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.integers(), max_size=2)
SHAPES = st.recursive(
    LEAVES,
    lambda inner: st.dictionaries(NAMES, inner, max_size=3) | st.lists(inner, max_size=2),
    max_leaves=8,
)


@given(SHAPES)
def test_other_shapes_are_refused_and_never_anything_else(content: Any) -> None:
    model = generated.V1Pod
    try:
        read = ours(content, model)
    except ValueError:
        return
    assert isinstance(read, model)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"spec": []}, "is no V1Pod: spec: expected a dict, found list"),
        ({"spec": {"containers": {}}}, "is no V1Pod: spec: containers: expected a list, found dict"),
        ({"spec": {"containers": [7]}}, "spec: containers: expected a dict, found int"),
        ({"spec": {"nodeSelector": "x"}}, "spec: nodeSelector: expected a dict, found str"),
        ({"status": {"startTime": "yesterday"}}, "status: startTime: Invalid isoformat string"),
        ({"status": {"startTime": 5}}, "status: startTime: fromisoformat: argument must be str"),
    ],
)
def test_an_object_that_is_no_such_model_is_told_with_the_path(content: dict[str, Any], said: str) -> None:
    obj = Object.from_mapping({"metadata": {"name": "a", "namespace": "b"}} | content, PODS)
    with pytest.raises(DecodeError, match=f"Pod b/a .*{said}"):
        obj.decode(generated.V1Pod)


def test_an_object_becomes_such_a_model_with_its_kind() -> None:
    obj = Object.from_json(b'{"metadata":{"name":"a","namespace":"b"}}', PODS)
    pod = obj.decode(generated.V1Pod)
    assert (pod.kind, pod.api_version, pod.metadata.name) == ("Pod", "v1", "a")


def test_lists_and_mappings_may_have_holes() -> None:
    holes = {"metadata": {"managedFields": [None, {"manager": "m"}]}}
    pod = ours(holes, generated.V1Pod)
    assert [field and field.manager for field in pod.metadata.managed_fields] == [None, "m"]
    quota = ours({"spec": {"scopeSelector": {"matchExpressions": None}}}, generated.V1ResourceQuota)
    assert quota.spec.scope_selector.match_expressions is None


def test_what_is_no_such_model_is_refused() -> None:
    assert not is_openapi_model(Object)
    assert not is_openapi_model(object())
    with pytest.raises(TypeError, match="object cannot be encoded as JSON"):
        openapi_content(object())
