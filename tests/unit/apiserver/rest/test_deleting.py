"""Delete and deletecollection: rules W-16 to W-24, N-1, N-2."""

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.apiserver.rest import (
    DeleteOptions,
    ListOptions,
    PatchKind,
    StatusError,
    StoredObject,
    Target,
    Verbs,
    WriteOptions,
)
from kinformer.apiserver.storage import MemoryKV
from kinformer.meta import LabelSelector
from kinformer.testing import FakeClock

At = Callable[..., Target]
WRITE, DELETE = WriteOptions(), DeleteOptions()


async def add(verbs: Verbs, at: At, plural: str, name: str = "a", **content: Any) -> StoredObject:
    metadata = {"name": name, **content.pop("metadata", {})}
    return await verbs.create(at(plural, "default"), {"metadata": metadata, **content}, WRITE)


async def metadata_of(verbs: Verbs, target: Target) -> dict[str, Any]:
    metadata: dict[str, Any] = (await verbs.get(target)).content["metadata"]
    return metadata


async def is_gone(verbs: Verbs, target: Target) -> bool:
    try:
        await verbs.get(target)
    except StatusError as error:
        return error.code == 404
    return False


async def test_w20_w22_a_deletion_is_one_revision_and_a_status(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    created = await add(verbs, at, "deployments")
    answer = await verbs.delete(at("deployments", "default", "a"), DELETE)
    assert answer == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {
            "name": "a",
            "group": "apps",
            "kind": "deployments",
            "uid": created.content["metadata"]["uid"],
        },
    }
    assert await kv.revision() == created.version + 1
    with pytest.raises(StatusError, match='^deployments.apps "a" not found$'):  # noqa: RUF043 -- readable
        await verbs.delete(at("deployments", "default", "a"), DELETE)


async def test_w22_some_kinds_answer_with_the_object(verbs: Verbs, at: At) -> None:
    await add(verbs, at, "services")
    answer = await verbs.delete(at("services", "default", "a"), DELETE)
    assert isinstance(answer, StoredObject)
    assert answer.content["kind"] == "Service"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (DeleteOptions(uid="x"), r"the UID in the precondition \(x\) does not match the UID in record"),
        (DeleteOptions(version="1"), r"the ResourceVersion in the precondition \(1\) does not match"),
    ],
)
async def test_w17_preconditions_must_hold(verbs: Verbs, at: At, options: DeleteOptions, text: str) -> None:
    await add(verbs, at, "configmaps")
    with pytest.raises(
        StatusError, match=f'Operation cannot be fulfilled on ConfigMap "a": {text}'
    ) as caught:
        await verbs.delete(at("configmaps", "default", "a"), options)
    assert caught.value.code == 409


async def test_w17_preconditions_that_hold_are_no_obstacle(verbs: Verbs, at: At) -> None:
    created = await add(verbs, at, "configmaps")
    options = DeleteOptions(uid=created.content["metadata"]["uid"], version=str(created.version))
    await verbs.delete(at("configmaps", "default", "a"), options)
    with pytest.raises(StatusError, match="not found"):
        await verbs.get(at("configmaps", "default", "a"))


async def test_w19_a_finalizer_holds_the_object_and_a_second_delete_changes_nothing(
    verbs: Verbs, at: At, clock: FakeClock, kv: MemoryKV
) -> None:
    await add(verbs, at, "deployments", metadata={"finalizers": ["example.dev/x"]})
    target = at("deployments", "default", "a")
    await clock.advance(10)
    marked = await verbs.delete(target, DELETE)
    assert isinstance(marked, StoredObject)
    metadata = marked.content["metadata"]
    assert metadata["deletionTimestamp"] == "2026-01-01T00:00:10Z"
    assert metadata["deletionGracePeriodSeconds"] == 0
    assert metadata["generation"] == 2
    before = await kv.revision()
    await clock.advance(10)
    again = await verbs.delete(target, DELETE)
    assert isinstance(again, StoredObject)
    assert again.content == marked.content
    assert await kv.revision() == before


@pytest.mark.parametrize(
    ("plural", "propagation", "finalizers"),
    [
        ("configmaps", "Foreground", ["foregroundDeletion"]),
        ("configmaps", "Orphan", ["orphan"]),
        ("configmaps", "Background", None),
        ("configmaps", None, None),
        ("jobs", None, ["orphan"]),
        ("jobs", "Background", None),
    ],
)
async def test_w18_propagation_becomes_a_finalizer(
    verbs: Verbs, at: At, plural: str, propagation: Any, finalizers: list[str] | None
) -> None:
    await add(verbs, at, plural)
    warnings: list[str] = []
    target = at(plural, "default", "a")
    await verbs.delete(target, DeleteOptions(propagation=propagation, warn=warnings.append))
    if finalizers is None:
        assert await is_gone(verbs, target)
    else:
        assert (await metadata_of(verbs, target))["finalizers"] == finalizers
    assert bool(warnings) is (plural == "jobs" and propagation is None)


async def test_w18_background_takes_the_finalizer_of_an_earlier_foreground(verbs: Verbs, at: At) -> None:
    await add(verbs, at, "configmaps")
    target = at("configmaps", "default", "a")
    await verbs.delete(target, DeleteOptions(propagation="Foreground"))
    await verbs.delete(target, DELETE)
    assert (await metadata_of(verbs, target))["finalizers"] == ["foregroundDeletion"]
    await verbs.delete(target, DeleteOptions(propagation="Background"))
    assert await is_gone(verbs, target)


async def test_w21_a_pod_on_no_node_is_marked_and_removed(verbs: Verbs, at: At) -> None:
    created = await add(verbs, at, "pods", spec={"containers": []})
    async with verbs.watch(at("pods"), ListOptions(version=str(created.version))) as stream:
        await verbs.delete(at("pods", "default", "a"), DELETE)
        assert [event.type for event in await anext(stream)] == ["MODIFIED", "DELETED"]


async def test_w21_a_pod_on_a_node_gets_its_time_and_that_may_only_shrink(verbs: Verbs, at: At) -> None:
    await add(verbs, at, "pods", spec={"nodeName": "n", "terminationGracePeriodSeconds": 20})
    target = at("pods", "default", "a")
    await verbs.delete(target, DELETE)
    metadata = await metadata_of(verbs, target)
    assert metadata["deletionGracePeriodSeconds"] == 20
    assert metadata["deletionTimestamp"] == "2026-01-01T00:00:20Z"
    await verbs.delete(target, DeleteOptions(grace_period=40))
    assert (await metadata_of(verbs, target))["deletionGracePeriodSeconds"] == 20
    await verbs.delete(target, DeleteOptions(grace_period=5))
    assert (await metadata_of(verbs, target))["deletionGracePeriodSeconds"] == 5
    await verbs.delete(target, DeleteOptions(grace_period=0))
    assert await is_gone(verbs, target)


async def test_n1_the_namespaces_of_the_system_stay(verbs: Verbs, at: At) -> None:
    with pytest.raises(StatusError, match="this namespace may not be deleted") as caught:
        await verbs.delete(at("namespaces", "", "default"), DELETE)
    assert caught.value.code == 403


async def test_n2_a_namespace_terminates_and_says_so(verbs: Verbs, at: At) -> None:
    await verbs.create(at("namespaces"), {"metadata": {"name": "x"}}, WRITE)
    answer = await verbs.delete(at("namespaces", "", "x"), DELETE)
    assert isinstance(answer, StoredObject)
    assert answer.content["status"]["phase"] == "Terminating"
    assert "deletionTimestamp" in answer.content["metadata"]
    with pytest.raises(StatusError, match="The system is ensuring all content is removed") as caught:
        await verbs.delete(at("namespaces", "", "x"), DELETE)
    assert caught.value.code == 409


async def test_a_dry_run_deletes_nothing(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    created = await add(verbs, at, "configmaps")
    await verbs.delete(at("configmaps", "default", "a"), DeleteOptions(dry_run=True))
    await verbs.delete(at("configmaps", "default", "a"), DeleteOptions(dry_run=True, propagation="Orphan"))
    assert await kv.revision() == created.version


async def test_w24_a_collection_is_deleted_by_selector_and_answers_with_what_matched(
    verbs: Verbs, at: At
) -> None:
    for name, app in (("a", "x"), ("b", "y"), ("c", "x")):
        await add(verbs, at, "configmaps", name, metadata={"labels": {"app": app}})
    options = ListOptions(labels=LabelSelector.parse("app=x"))
    matched = await verbs.delete_collection(at("configmaps", "default"), options, DELETE)
    assert [item.content["metadata"]["name"] for item in matched.items] == ["a", "c"]
    left = await verbs.list(at("configmaps", "default"), ListOptions())
    assert [item.content["metadata"]["name"] for item in left.items] == ["b"]


async def test_w24_namespaces_are_not_deleted_together(verbs: Verbs, at: At) -> None:
    with pytest.raises(StatusError) as caught:
        await verbs.delete_collection(at("namespaces"), ListOptions(), DELETE)
    assert caught.value.code == 405


async def test_a_change_between_reading_and_deleting_is_noticed(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    await add(verbs, at, "configmaps")
    target = at("configmaps", "default", "a")
    await verbs.patch(target, PatchKind.MERGE, {"metadata": {"finalizers": ["example.dev/x"]}}, WRITE)
    await verbs.delete(target, DELETE)
    assert not await is_gone(verbs, target)
