"""Taking in what a client sent: rules H-10, H-11, W-2, W-9."""

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.apiserver.rest import StatusError, Target
from kinformer.apiserver.rest._intake import drop_empty, take_in

At = Callable[..., Target]


def test_kind_version_and_place_are_filled_in_and_come_first(at: At) -> None:
    sent = {"data": {"a": "b"}, "metadata": {"name": "x", "labels": None}}
    taken = take_in(at("configmaps", "default"), sent)
    assert list(taken) == ["kind", "apiVersion", "metadata", "data"]
    assert (taken["kind"], taken["apiVersion"]) == ("ConfigMap", "v1")
    assert taken["metadata"] == {"name": "x", "namespace": "default"}


def test_a_cluster_scoped_object_has_no_namespace(at: At) -> None:
    assert take_in(at("nodes"), {"metadata": {"name": "n", "namespace": "x"}})["metadata"] == {"name": "n"}


@pytest.mark.parametrize(
    ("sent", "text"),
    [
        ([], "the body must be an object"),
        ({"metadata": "x"}, "metadata must be an object"),
        ({"kind": "Secret"}, "cannot be handled as a ConfigMap"),
        ({"apiVersion": "v2"}, "does not match the expected API version"),
        ({"metadata": {"name": "a", "namespace": "other"}}, "does not match the namespace sent"),
        ({"metadata": {}}, "name must be provided"),
        ({"metadata": {"name": "b"}}, "does not match the name on the URL"),
    ],
)
def test_what_belongs_elsewhere_is_refused(at: At, sent: Any, text: str) -> None:
    with pytest.raises(StatusError, match=text) as caught:
        take_in(at("configmaps", "default", "a"), sent)
    assert caught.value.code == 400


def test_nulls_are_dropped_at_any_depth() -> None:
    value: dict[str, Any] = {"a": None, "b": {"c": None, "d": [{"e": None, "f": 1}]}, "g": []}
    drop_empty(value)
    assert value == {"b": {"d": [{"f": 1}]}, "g": []}
