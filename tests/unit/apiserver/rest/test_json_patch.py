"""RFC 6902: rule P-3."""

from typing import Any

import pytest

from kinformer.apiserver.rest import StatusError
from kinformer.apiserver.rest._json_patch import json_patch


def test_operations_are_applied_in_order_and_the_target_stays() -> None:
    target = {"a": [1], "b": {}}
    patch = [
        {"op": "test", "path": "/a/0", "value": 1},
        {"op": "add", "path": "/a/-", "value": 2},
        {"op": "replace", "path": "/b", "value": 3},
        {"op": "copy", "from": "/b", "path": "/c"},
    ]
    assert json_patch(target, patch) == {"a": [1, 2], "b": 3, "c": 3}
    assert target == {"a": [1], "b": {}}


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/a", "value": 2},
        {"op": "test", "path": "/none", "value": None},
        {"op": "remove", "path": "/none"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "add", "path": "/none/deeper", "value": 1},
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "replace", "path": "", "value": 1},
    ],
)
def test_an_operation_that_fails_is_a_422_without_details(operation: dict[str, Any]) -> None:
    with pytest.raises(StatusError) as caught:
        json_patch({"a": 1}, [operation])
    status = caught.value.to_status()
    assert (status["code"], status["reason"], status["details"]) == (422, "Invalid", {})
    assert status["message"] == "the server rejected our request due to an error in our request"


@pytest.mark.parametrize("patch", [{}, "x", None, [1], [{"op": "dance", "path": "/a"}], [{"path": "/a"}]])
def test_what_is_no_patch_is_a_400(patch: Any) -> None:
    with pytest.raises(StatusError) as caught:
        json_patch({"a": 1}, patch)
    assert caught.value.code == 400


def test_too_many_operations_are_a_413() -> None:
    with pytest.raises(StatusError) as caught:
        json_patch({}, [{"op": "add", "path": "/a", "value": 1}] * 10_001)
    assert caught.value.code == 413
