import gc
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.errors import DecodeError
from kinformer.meta import FrozenDict, ObjectMeta, OwnerReference, decode_metadata


def decode(**metadata: Any) -> ObjectMeta:
    return decode_metadata(json.dumps({"spec": {"ignored": [1, {}]}, "metadata": metadata}).encode())


def test_every_field_is_decoded_from_the_bytes() -> None:
    meta = decode(
        name="web",
        namespace="default",
        uid="u1",
        resourceVersion="7",
        generation=3,
        labels={"app": "web"},
        annotations={"note": "x"},
        finalizers=["a/b"],
        ownerReferences=[
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "p",
                "uid": "u0",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
        creationTimestamp="2026-01-02T03:04:05Z",
        deletionTimestamp="2026-01-02T03:04:06Z",
    )
    assert meta == ObjectMeta(
        name="web",
        namespace="default",
        uid="u1",
        resource_version="7",
        generation=3,
        owner_references=(
            OwnerReference("v1", "Pod", "p", "u0", controller=True, block_owner_deletion=True),
        ),
        finalizers=("a/b",),
        creation_timestamp=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        deletion_timestamp=datetime(2026, 1, 2, 3, 4, 6, tzinfo=UTC),
        flat_labels=("app", "web"),
        flat_annotations=("note", "x"),
    )
    assert meta.controller == meta.owner_references[0]
    assert str(meta.key) == "default/web"


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=5))
def test_labels_and_annotations_come_back_as_they_were(mapping: dict[str, str]) -> None:
    meta = decode(name="a", labels=mapping, annotations=mapping)
    assert meta.labels == mapping
    assert meta.annotations == mapping
    assert isinstance(meta.labels, FrozenDict)


def test_absent_fields_and_nulls_read_as_empty() -> None:
    names = ["namespace", "uid", "resourceVersion", "generation", "labels", "annotations", "finalizers"]
    names += ["ownerReferences", "creationTimestamp", "deletionTimestamp"]
    assert decode(name="a", **dict.fromkeys(names)) == decode(name="a") == ObjectMeta("a")


def test_a_null_label_reads_as_the_empty_string_as_go_does() -> None:
    assert decode(name="a", labels={"x": None, "y": "z"}).labels == {"x": "", "y": "z"}


def test_a_null_inside_an_owner_reference_reads_as_absent() -> None:
    meta = decode(
        name="a",
        ownerReferences=[{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u", "controller": None}],
    )
    assert meta.owner_references == (OwnerReference("v1", "K", "n", "u"),)
    assert meta.controller is None


@pytest.mark.parametrize(
    ("metadata", "complaint"),
    [
        ({"name": "a", "namespace": "n", "labels": {"x": 5}}, r"Expected `str`, got `int`.*labels"),
        (
            {"name": "a", "namespace": "n", "finalizers": "f"},
            r"Expected `array \| null`, got `str`.*finalizers",
        ),
        (
            {"name": "a", "namespace": "n", "creationTimestamp": "yesterday"},
            r"Invalid RFC3339.*creationTimestamp",
        ),
        (
            {"name": "a", "namespace": "n", "ownerReferences": [{"kind": "K"}]},
            r"missing required field `apiVersion`",
        ),
    ],
    ids=["label", "finalizers", "time", "owner"],
)
def test_metadata_that_does_not_fit_is_named_by_field_and_key(
    metadata: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(DecodeError, match=complaint) as caught:
        decode(**metadata)
    assert caught.value.key == "n/a"


@pytest.mark.parametrize("raw", [b"[]", b"5", b"{", b"{}", b'{"metadata":[]}', b"\xff", b""])
def test_what_is_no_object_with_metadata_is_refused(raw: bytes) -> None:
    with pytest.raises(DecodeError, match="not a Kubernetes object"):
        decode_metadata(raw)


def test_an_object_without_a_name_is_refused() -> None:
    with pytest.raises(DecodeError, match=r"metadata\.name is missing"):
        decode(namespace="default")


def test_the_garbage_collector_does_not_track_what_a_cache_keeps() -> None:
    meta = decode(name="a", labels={"x": "y"}, finalizers=["f"])
    assert not gc.is_tracked(meta)


def test_equal_keys_and_namespaces_are_one_string_in_memory() -> None:
    first, second = (
        decode(name="a", namespace="ns", labels={"app": "v"}),
        decode(name="b", namespace="ns", labels={"app": "v"}),
    )
    assert first.flat_labels[0] is second.flat_labels[0]
    assert first.namespace is second.namespace
