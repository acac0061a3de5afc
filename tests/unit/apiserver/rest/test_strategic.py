"""Strategic merge: rule P-6."""

from typing import Any

import pytest

from kinformer.apiserver.registry import Registry
from kinformer.apiserver.rest import StatusError
from kinformer.apiserver.rest._strategic import strategic_merge

SHAPE = next(each.shape for each in Registry().served() if each.plural == "pods")
DEPLOYMENT = next(each.shape for each in Registry().served() if each.plural == "deployments")


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": spec}


def merged(target: dict[str, Any], patch: dict[str, Any]) -> Any:
    return strategic_merge(target, patch, SHAPE)["spec"]


A, B = {"name": "a", "image": "1"}, {"name": "b", "image": "1"}


@pytest.mark.parametrize(
    ("patch", "containers"),
    [
        pytest.param(
            [{"name": "b", "image": "2"}], [A, {"name": "b", "image": "2"}], id="an item is merged in place"
        ),
        pytest.param([{"name": "c"}], [A, B, {"name": "c"}], id="a new item goes to the end"),
        pytest.param([{"$patch": "delete", "name": "a"}], [B], id="an item is deleted"),
        pytest.param([{"$patch": "replace"}, {"name": "c"}], [{"name": "c"}], id="the list is replaced"),
        pytest.param(
            [{"$patch": "merge", "name": "a", "tty": True}], [{**A, "tty": True}, B], id="merge is default"
        ),
        pytest.param(None, None, id="null deletes the list"),
    ],
)
def test_a_keyed_list(patch: Any, containers: Any) -> None:
    target = pod(containers=[A, B])
    assert merged(target, pod(containers=patch)).get("containers") == containers
    assert target == pod(containers=[A, B])


def test_keys_are_compared_as_printed() -> None:
    target = pod(containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "x"}]}])
    patch = pod(
        containers=[{"name": "a", "ports": [{"containerPort": 80, "name": "y"}, {"containerPort": 81}]}]
    )
    assert merged(target, patch)["containers"][0]["ports"] == [
        {"containerPort": 80, "name": "y"},
        {"containerPort": 81},
    ]


def test_a_list_without_a_key_is_replaced() -> None:
    assert merged(pod(tolerations=[{"key": "a"}]), pod(tolerations=[{"key": "b"}])) == {
        "tolerations": [{"key": "b"}]
    }


def test_a_list_of_values_is_united_and_can_be_cut() -> None:
    target = {"metadata": {"finalizers": ["a", "b"]}}
    united = strategic_merge(target, {"metadata": {"finalizers": ["b", "c"]}}, SHAPE)
    assert united["metadata"]["finalizers"] == ["a", "b", "c"]
    cut = strategic_merge(target, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}, SHAPE)
    assert cut == {"metadata": {"finalizers": ["b"]}}


def test_maps_are_replaced_or_emptied_on_demand() -> None:
    target = {"metadata": {"labels": {"a": "1", "b": "2"}}}
    patch = {"metadata": {"labels": {"$patch": "replace", "c": "3"}}}
    assert strategic_merge(target, patch, SHAPE)["metadata"]["labels"] == {"c": "3"}
    assert (
        strategic_merge(target, {"metadata": {"labels": {"$patch": "delete"}}}, SHAPE)["metadata"]["labels"]
        == {}
    )


def test_the_order_of_items_can_be_set_and_others_stay_behind_their_neighbours() -> None:
    target = pod(containers=[{"name": name} for name in "abxc"])
    patch = {"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}]}}
    assert [item["name"] for item in merged(target, patch)["containers"]] == ["c", "b", "x", "a"]


def test_keys_that_are_not_retained_are_dropped() -> None:
    target = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic_merge(target, patch, DEPLOYMENT) == {"spec": {"strategy": {"type": "Recreate"}}}


@pytest.mark.parametrize(
    ("patch", "code", "text"),
    [
        (pod(containers=[{"image": "x"}]), 422, "does not contain declared merge key: name"),
        ({"$patch": "dance"}, 400, "unknown patch type found: dance"),
        (pod(containers=[{"$patch": "dance", "name": "a"}]), 400, "unknown patch type found: dance"),
        (
            {"metadata": {"$deleteFromPrimitiveList/finalizers": 1}},
            400,
            "invalid patch format of primitive list",
        ),
        ({"spec": {"$setElementOrder/containers": 1}}, 400, "invalid patch format of setElementOrder list"),
        ({"spec": {"$retainKeys": 1}}, 400, "invalid patch format of retainKeys"),
    ],
)
def test_bad_directives_are_refused(patch: dict[str, Any], code: int, text: str) -> None:
    target = {"metadata": {"finalizers": []}, "spec": {"containers": [A]}}
    with pytest.raises(StatusError, match=text) as caught:
        strategic_merge(target, patch, SHAPE)
    assert caught.value.code == code


def test_directives_never_end_up_in_the_result() -> None:
    patch = {
        "metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]},
        "spec": {
            "$setElementOrder/containers": [{"name": "a"}],
            "containers": [{"name": "a", "$patch": "merge"}],
        },
    }
    assert strategic_merge({}, patch, SHAPE) == {"metadata": {}, "spec": {"containers": [{"name": "a"}]}}
