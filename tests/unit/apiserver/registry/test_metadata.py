"""Metadata: rules W-6 and W-11."""

from typing import Any

import pytest

from kinformer.apiserver.registry import Registry, check_metadata, check_metadata_update

PODS = next(each for each in Registry().served() if each.plural == "pods")
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "o", "uid": "u"}


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"name": ""}, "metadata.name: Required value: name or generateName is required"),
        ({"name": "A"}, 'metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain'),
        ({"labels": {"-": "x"}}, 'metadata.labels: Invalid value: "-"'),
        ({"labels": {"a": "-"}}, 'metadata.labels: Invalid value: "-"'),
        ({"labels": []}, ""),
        (
            {"annotations": {"a": "x" * 300_000}},
            "metadata.annotations: Too long: may not be more than 262144 bytes",
        ),
        ({"annotations": {"Example.dev/A": "x"}}, ""),
        ({"finalizers": ["a b"]}, 'metadata.finalizers: Invalid value: "a b"'),
        ({"finalizers": ["orphan", "foregroundDeletion"]}, "cannot be both set"),
        ({"ownerReferences": [{**OWNER, "uid": ""}]}, "metadata.ownerReferences[0].uid: Invalid value"),
        (
            {"ownerReferences": [{**OWNER, "controller": True}, {**OWNER, "controller": True}]},
            "Only one reference can have Controller set to true",
        ),
        ({"ownerReferences": [OWNER]}, ""),
    ],
)
def test_what_is_wrong_with_metadata(metadata: dict[str, Any], text: str) -> None:
    found = [str(problem) for problem in check_metadata(PODS, {"name": "a", **metadata})]
    assert len(found) == bool(text)
    assert not text or text in found[0]


def test_identity_cannot_be_changed_and_a_dying_object_gets_no_new_finalizers() -> None:
    old = {"name": "a", "uid": "u", "finalizers": ["x"], "deletionTimestamp": "t"}
    new = {"name": "b", "uid": "u", "finalizers": ["x", "y"]}
    assert [str(problem) for problem in check_metadata_update(old, new)] == [
        'metadata.name: Invalid value: "b": field is immutable',
        (
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
            'found new finalizers []string{"y"}'
        ),
    ]
