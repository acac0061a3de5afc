import msgspec
import pytest

from kinformer.apiserver.loops import read_node
from kinformer.meta import OwnerReference


def test_a_node_is_what_decides_over_the_life_of_an_object() -> None:
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "r",
        "uid": "u2",
        "blockOwnerDeletion": True,
    }
    metadata = {
        "name": "p",
        "namespace": "a",
        "uid": "u",
        "finalizers": ["orphan", "foregroundDeletion"],
        "deletionTimestamp": "2026-01-01T00:00:00Z",
        "ownerReferences": [owner],
    }
    value = msgspec.json.encode({"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": {"x": 1}})
    node = read_node("/registry/core/pods/a/p", value)
    assert (node.uid, node.group, node.kind, node.namespace, node.name) == ("u", "", "Pod", "a", "p")
    assert node.owners == (OwnerReference("apps/v1", "ReplicaSet", "r", "u2", block_owner_deletion=True),)
    assert node.waits_for_dependents
    assert node.waits_for_orphans


def test_an_object_that_lives_waits_for_nobody() -> None:
    value = msgspec.json.encode(
        {
            "kind": "A",
            "apiVersion": "g/v1",
            "metadata": {"name": "n", "finalizers": ["orphan", "foregroundDeletion"]},
        }
    )
    node = read_node("k", value)
    assert node.group == "g"
    assert not node.is_deleting
    assert not node.waits_for_dependents
    assert not node.waits_for_orphans


@pytest.mark.parametrize("value", [b"", b"{}", b'{"kind":"A","apiVersion":"v1","metadata":{}}', b"[]"])
def test_what_is_no_object_is_refused(value: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        read_node("k", value)
