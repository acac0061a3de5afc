"""Patches of all kinds on one object: rules P-1 and P-2."""

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.apiserver.rest import PatchKind, StatusError, Target, Verbs, WriteOptions
from kinformer.apiserver.storage import MemoryKV

At = Callable[..., Target]
WRITE = WriteOptions()


@pytest.fixture
async def target(verbs: Verbs, at: At) -> Target:
    content = {"metadata": {"name": "a", "labels": {"l": "1"}}, "data": {"x": "1", "y": "1"}}
    await verbs.create(at("configmaps", "default"), content, WRITE)
    return at("configmaps", "default", "a")


@pytest.mark.parametrize(
    ("kind", "patch"),
    [
        (PatchKind.MERGE, {"data": {"x": "2", "y": None}}),
        (PatchKind.STRATEGIC, {"data": {"x": "2", "y": None}}),
        (
            PatchKind.JSON,
            [{"op": "replace", "path": "/data/x", "value": "2"}, {"op": "remove", "path": "/data/y"}],
        ),
    ],
)
async def test_three_ways_to_say_the_same(verbs: Verbs, target: Target, kind: PatchKind, patch: Any) -> None:
    patched, is_new = await verbs.patch(target, kind, patch, WRITE)
    assert patched.content["data"] == {"x": "2"}
    assert not is_new


@pytest.mark.parametrize(
    ("kind", "patch", "code"),
    [
        pytest.param(PatchKind.MERGE, [], 400, id="no object"),
        pytest.param(PatchKind.STRATEGIC, "x", 400, id="no object either"),
        pytest.param(PatchKind.MERGE, {"kind": "Secret"}, 400, id="another kind"),
        pytest.param(PatchKind.MERGE, {"metadata": None}, 400, id="no metadata"),
        pytest.param(PatchKind.MERGE, {"metadata": {"name": "b"}}, 400, id="another name"),
        pytest.param(PatchKind.MERGE, {"metadata": {"namespace": "b"}}, 422, id="another namespace"),
        pytest.param(PatchKind.MERGE, {"metadata": {"resourceVersion": "1"}}, 409, id="an old version"),
        pytest.param(PatchKind.MERGE, {"metadata": {"uid": "x"}}, 409, id="another uid"),
        pytest.param(PatchKind.MERGE, {"metadata": {"labels": {"a": "-"}}}, 422, id="a bad label"),
        pytest.param(
            PatchKind.JSON,
            [{"op": "test", "path": "/metadata/resourceVersion", "value": "1"}],
            422,
            id="a failed test",
        ),
    ],
)
async def test_patches_that_are_refused(
    verbs: Verbs, target: Target, kv: MemoryKV, kind: PatchKind, patch: Any, code: int
) -> None:
    before = await kv.revision()
    with pytest.raises(StatusError) as caught:
        await verbs.patch(target, kind, patch, WRITE)
    assert caught.value.code == code
    assert await kv.revision() == before


async def test_a_null_that_a_patch_brings_in_is_dropped(verbs: Verbs, target: Target) -> None:
    patch = [{"op": "add", "path": "/data/z", "value": None}]
    patched, _ = await verbs.patch(target, PatchKind.JSON, patch, WRITE)
    assert patched.content["data"] == {"x": "1", "y": "1"}


async def test_a_patch_of_what_is_missing_is_not_found(verbs: Verbs, at: At) -> None:
    with pytest.raises(StatusError) as caught:
        await verbs.patch(at("configmaps", "default", "x"), PatchKind.MERGE, {}, WRITE)
    assert caught.value.code == 404


async def test_a_patch_of_the_status_touches_nothing_else(verbs: Verbs, at: At) -> None:
    await verbs.create(
        at("deployments", "default"), {"metadata": {"name": "a"}, "spec": {"replicas": 1}}, WRITE
    )
    patch = {"spec": {"replicas": 5}, "status": {"conditions": [{"type": "Available", "status": "True"}]}}
    target = at("deployments", "default", "a", "status")
    patched, _ = await verbs.patch(target, PatchKind.STRATEGIC, patch, WRITE)
    assert patched.content["spec"]["replicas"] == 1
    more = {"status": {"conditions": [{"type": "Progressing", "status": "True"}]}}
    patched, _ = await verbs.patch(target, PatchKind.STRATEGIC, more, WRITE)
    assert [each["type"] for each in patched.content["status"]["conditions"]] == ["Available", "Progressing"]
