"""The scale subresource: rule W-15."""

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.apiserver.rest import PatchKind, StatusError, Target, Verbs, WriteOptions

At = Callable[..., Target]
WRITE = WriteOptions()


@pytest.fixture
def web() -> dict[str, Any]:
    selector = {"matchLabels": {"app": "web"}}
    return {"metadata": {"name": "web"}, "spec": {"replicas": 2, "selector": selector}}


async def test_a_scale_shows_replicas_and_selector(verbs: Verbs, at: At, web: dict[str, Any]) -> None:
    created = (await verbs.create(at("deployments", "default"), web, WRITE)).content["metadata"]
    scale = await verbs.get(at("deployments", "default", "web", "scale"))
    assert scale.content == {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": "web",
            "namespace": "default",
            "uid": created["uid"],
            "resourceVersion": created["resourceVersion"],
            "creationTimestamp": created["creationTimestamp"],
        },
        "spec": {"replicas": 2},
        "status": {"replicas": 0, "selector": "app=web"},
    }


async def test_writing_a_scale_changes_the_replicas_and_the_generation(
    verbs: Verbs, at: At, web: dict[str, Any]
) -> None:
    await verbs.create(at("deployments", "default"), web, WRITE)
    target = at("deployments", "default", "web", "scale")
    scale, _ = await verbs.update(target, {"metadata": {"name": "web"}, "spec": {"replicas": 5}}, WRITE)
    assert scale.content["spec"] == {"replicas": 5}
    patched, created = await verbs.patch(target, PatchKind.MERGE, {"spec": {"replicas": 7}}, WRITE)
    assert (patched.content["spec"], created) == ({"replicas": 7}, False)
    parent = (await verbs.get(at("deployments", "default", "web"))).content
    assert (parent["spec"]["replicas"], parent["metadata"]["generation"]) == (7, 3)


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        ({"spec": {"replicas": -1}}, 422),
        ({"metadata": {"resourceVersion": "1"}, "spec": {"replicas": 1}}, 409),
    ],
)
async def test_a_scale_may_be_refused(
    verbs: Verbs, at: At, web: dict[str, Any], sent: dict[str, Any], code: int
) -> None:
    await verbs.create(at("deployments", "default"), web, WRITE)
    with pytest.raises(StatusError) as caught:
        await verbs.update(at("deployments", "default", "web", "scale"), sent, WRITE)
    assert caught.value.code == code


async def test_a_kind_that_does_not_scale_has_no_scale(verbs: Verbs, at: At) -> None:
    with pytest.raises(StatusError, match="the server could not find the requested resource"):
        await verbs.get(at("daemonsets", "default", "web", "scale"))
