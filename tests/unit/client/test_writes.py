import json

import pytest

from kinformer.client._calls import Call
from kinformer.client._target import Target
from kinformer.client._writes import apply_call, create_call, patch_call, replace_call
from kinformer.meta import Resource

PODS = Target(Resource.builtin("Pod"))
WEB = {"metadata": {"name": "web", "namespace": "default"}}
PARAMS = {"fieldManager": "me"}
PATH = "/api/v1/namespaces/default/pods"


def test_what_is_made_goes_to_the_collection() -> None:
    call = create_call(PODS, WEB, None, PARAMS)
    assert (str(call), call.params) == (f"POST {PATH}", PARAMS)
    assert json.loads(call.content) == {"apiVersion": "v1", "kind": "Pod"} | WEB


def test_what_is_made_below_an_object_goes_to_the_object() -> None:
    assert str(create_call(PODS.below("eviction"), WEB, None, {})) == f"POST {PATH}/web/eviction"


def test_what_is_replaced_patched_or_applied_is_one_object() -> None:
    assert str(replace_call(PODS, WEB, None, {})) == f"PUT {PATH}/web"
    assert str(patch_call(PODS.below("status"), "default/web", {}, "merge", {})) == f"PATCH {PATH}/web/status"
    assert str(apply_call(PODS, WEB, None, PARAMS)) == f"PATCH {PATH}/web"


@pytest.mark.parametrize(
    ("call", "content_type"),
    [
        (create_call(PODS, WEB, None, {}), "application/json"),
        (replace_call(PODS, WEB, None, {}), "application/json"),
        (patch_call(PODS, "default/web", {}, "merge", {}), "application/merge-patch+json"),
        (patch_call(PODS, "default/web", [], "json", {}), "application/json-patch+json"),
        (patch_call(PODS, "default/web", {}, "strategic", {}), "application/strategic-merge-patch+json"),
        (apply_call(PODS, WEB, None, PARAMS), "application/apply-patch+yaml"),
    ],
)
def test_each_body_says_what_it_is(call: Call, content_type: str) -> None:
    assert call.content_type == content_type


@pytest.mark.parametrize("params", [{}, {"fieldManager": ""}])
def test_nobody_applies_without_a_name(params: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="apply needs a field_manager"):
        apply_call(PODS, WEB, None, params)
