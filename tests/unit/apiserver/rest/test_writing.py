"""Create and update: rules W-1 to W-14, W-23."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest

from kinformer.apiserver.rest import (
    DeleteOptions,
    ListOptions,
    PatchKind,
    StatusError,
    Target,
    Verbs,
    WriteOptions,
)
from kinformer.apiserver.storage import MemoryKV
from kinformer.testing import FakeClock, settle

At = Callable[..., Target]
WRITE = WriteOptions()


def config(name: str = "a", **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, **more.pop("metadata", {})}, **more}


def deployment(replicas: int = 1, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", **metadata},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}},
    }


async def test_w7_a_new_object_gets_uid_time_and_generation(verbs: Verbs, at: At, clock: FakeClock) -> None:
    await clock.advance(5)
    sent = deployment(uid="mine", creationTimestamp="2000-01-01T00:00:00Z", generation=7)
    metadata = (await verbs.create(at("deployments", "default"), sent, WRITE)).content["metadata"]
    assert len(metadata["uid"]) == 36
    assert metadata["uid"][14] == "4"
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:05Z"
    assert metadata["generation"] == 1
    assert metadata["namespace"] == "default"


async def test_w7_a_name_is_generated_and_never_taken(verbs: Verbs, at: At) -> None:
    names = set()
    for _ in range(20):
        created = await verbs.create(at("configmaps", "default"), {"metadata": {"generateName": "x-"}}, WRITE)
        names.add(created.content["metadata"]["name"])
        assert created.content["metadata"]["generateName"] == "x-"
    assert len(names) == 20
    assert all(name.startswith("x-") and len(name) == 7 for name in names)


async def test_w7_what_exists_cannot_be_created(verbs: Verbs, at: At) -> None:
    await verbs.create(at("configmaps", "default"), config(), WRITE)
    with pytest.raises(StatusError, match=r'^configmaps "a" already exists$') as caught:
        await verbs.create(at("configmaps", "default"), config(), WRITE)
    assert (caught.value.code, caught.value.reason) == (409, "AlreadyExists")
    assert caught.value.details == {"name": "a", "kind": "configmaps"}


@pytest.mark.parametrize(
    ("sent", "code", "text"),
    [
        pytest.param(
            config(metadata={"resourceVersion": "1"}), 500, "should not be set on objects", id="version"
        ),
        pytest.param(
            {"metadata": {}}, 422, "metadata.name: Required value: name or generateName", id="no name"
        ),
        pytest.param(config("A"), 422, "a lowercase RFC 1123 subdomain must consist of", id="bad name"),
        pytest.param(
            config(metadata={"namespace": "other"}), 400, "does not match the namespace", id="namespace"
        ),
        pytest.param(config(kind="Secret"), 400, "cannot be handled as a ConfigMap", id="kind"),
        pytest.param(
            config(apiVersion="v2"), 400, "the API version in the data (v2)", id="version of the api"
        ),
        pytest.param(
            config(metadata={"labels": {"a": 1}}),
            400,
            "ConfigMap.metadata.labels.a of type string",
            id="label",
        ),
        pytest.param(
            config(metadata={"finalizers": ["-"]}), 422, "metadata.finalizers: Invalid value", id="finalizer"
        ),
        pytest.param({"metadata": 3}, 400, "metadata must be an object", id="metadata"),
    ],
)
async def test_bad_objects_are_refused(verbs: Verbs, at: At, sent: Any, code: int, text: str) -> None:
    with pytest.raises(StatusError) as caught:
        await verbs.create(at("configmaps", "default"), sent, WRITE)
    assert caught.value.code == code
    assert text in caught.value.message


async def test_w7_a_namespace_must_exist_and_live(verbs: Verbs, at: At) -> None:
    with pytest.raises(StatusError) as caught:
        await verbs.create(at("configmaps", "nowhere"), config(), WRITE)
    assert caught.value.to_status()["message"] == 'namespaces "nowhere" not found'
    assert caught.value.details == {"name": "nowhere", "kind": "namespaces"}
    await verbs.create(at("namespaces"), config("dying"), WRITE)
    await verbs.delete(at("namespaces", "", "dying"), DeleteOptions())
    with pytest.raises(StatusError, match="because it is being terminated") as caught:
        await verbs.create(at("configmaps", "dying"), config(), WRITE)
    assert caught.value.code == 403
    assert caught.value.details is not None
    assert caught.value.details["causes"][0]["reason"] == "NamespaceTerminating"


async def test_n1_a_namespace_gets_its_label_phase_and_finalizer(verbs: Verbs, at: At) -> None:
    content = (await verbs.get(at("namespaces", "", "kube-system"))).content
    assert content["metadata"]["labels"] == {"kubernetes.io/metadata.name": "kube-system"}
    assert content["spec"] == {"finalizers": ["kubernetes"]}
    assert content["status"] == {"phase": "Active"}


async def test_w4_a_dry_run_shows_and_stores_nothing(verbs: Verbs, at: At, kv: MemoryKV) -> None:
    before = await kv.revision()
    shown = await verbs.create(at("configmaps", "default"), config(), WriteOptions(dry_run=True))
    assert shown.content["metadata"]["uid"]
    assert "resourceVersion" not in shown.content["metadata"]
    assert await kv.revision() == before


async def test_w10_an_old_version_is_a_conflict(verbs: Verbs, at: At) -> None:
    created = await verbs.create(at("configmaps", "default"), config(), WRITE)
    sent = config(data={"k": "v"}, metadata={"resourceVersion": str(created.version)})
    await verbs.update(at("configmaps", "default", "a"), dict(sent), WRITE)
    with pytest.raises(
        StatusError, match="the object has been modified; please apply your changes"
    ) as caught:
        await verbs.update(at("configmaps", "default", "a"), dict(sent), WRITE)
    assert (caught.value.code, caught.value.reason) == (409, "Conflict")


async def test_w10_most_kinds_take_an_update_without_a_version_and_some_do_not(verbs: Verbs, at: At) -> None:
    await verbs.create(at("configmaps", "default"), config(), WRITE)
    await verbs.update(at("configmaps", "default", "a"), config(data={"k": "v"}), WRITE)
    await verbs.create(at("leases", "default"), config(), WRITE)
    with pytest.raises(StatusError, match=r"metadata\.resourceVersion: Invalid value: 0: must be specified"):
        await verbs.update(at("leases", "default", "a"), config(), WRITE)


async def test_w9_another_uid_is_a_conflict(verbs: Verbs, at: At) -> None:
    await verbs.create(at("configmaps", "default"), config(), WRITE)
    with pytest.raises(StatusError, match="UID in precondition: other") as caught:
        await verbs.update(at("configmaps", "default", "a"), config(metadata={"uid": "other"}), WRITE)
    assert caught.value.code == 409


async def test_w9_the_name_must_be_that_of_the_path(verbs: Verbs, at: At) -> None:
    with pytest.raises(
        StatusError, match=r"the name of the object \(b\) does not match the name on the URL \(a\)"
    ):
        await verbs.update(at("configmaps", "default", "a"), config("b"), WRITE)
    with pytest.raises(StatusError, match="was undeterminable"):
        await verbs.update(at("configmaps", "default", "a"), {"metadata": {}}, WRITE)


async def test_some_kinds_are_created_by_an_update_and_others_are_not_found(verbs: Verbs, at: At) -> None:
    created, is_new = await verbs.update(at("leases", "default", "a"), config(), WRITE)
    assert is_new
    assert created.content["metadata"]["uid"]
    again = config(metadata={"resourceVersion": str(created.version)}, spec={"holderIdentity": "x"})
    assert (await verbs.update(at("leases", "default", "a"), again, WRITE))[1] is False
    with pytest.raises(StatusError) as caught:
        await verbs.update(at("configmaps", "default", "a"), config(), WRITE)
    assert caught.value.code == 404


async def test_w11_system_fields_are_those_of_the_stored_object(
    verbs: Verbs, at: At, clock: FakeClock
) -> None:
    created = await verbs.create(at("deployments", "default"), deployment(), WRITE)
    await clock.advance(60)
    updated, _ = await verbs.update(
        at("deployments", "default", "web"), deployment(2, creationTimestamp="2000-01-01T00:00:00Z"), WRITE
    )
    for field in ("uid", "creationTimestamp"):
        assert updated.content["metadata"][field] == created.content["metadata"][field]


async def test_w12_an_update_that_changes_nothing_is_no_write(
    verbs: Verbs, at: At, kv: MemoryKV, clock: FakeClock
) -> None:
    created = await verbs.create(at("configmaps", "default"), config(data={"k": "v"}), WRITE)
    before = await kv.revision()
    await clock.advance(10)
    same, _ = await verbs.update(at("configmaps", "default", "a"), config(data={"k": "v"}), WRITE)
    assert same.version == created.version
    patched, _ = await verbs.patch(
        at("configmaps", "default", "a"), PatchKind.MERGE, {"data": {"k": "v"}}, WRITE
    )
    assert patched.json == created.json
    assert await kv.revision() == before


async def test_w13_status_and_the_rest_are_written_apart(verbs: Verbs, at: At) -> None:
    sent = {**deployment(), "status": {"replicas": 9}}
    created = await verbs.create(at("deployments", "default"), sent, WRITE)
    assert created.content["status"] == {}
    reported, _ = await verbs.update(
        at("deployments", "default", "web", "status"),
        {**deployment(5, labels={"x": "y"}), "status": {"replicas": 1}},
        WRITE,
    )
    assert reported.content["status"] == {"replicas": 1}
    assert reported.content["spec"]["replicas"] == 1
    assert "labels" not in reported.content["metadata"]
    assert reported.content["metadata"]["generation"] == 1
    updated, _ = await verbs.update(
        at("deployments", "default", "web"), {**deployment(2), "status": {"replicas": 7}}, WRITE
    )
    assert updated.content["status"] == {"replicas": 1}
    assert updated.content["metadata"]["generation"] == 2


async def test_w14_labels_do_not_count_as_a_generation(verbs: Verbs, at: At) -> None:
    await verbs.create(at("replicasets", "default"), deployment(), WRITE)
    updated, _ = await verbs.update(at("replicasets", "default", "web"), deployment(labels={"a": "b"}), WRITE)
    assert updated.content["metadata"]["generation"] == 1


async def test_a_node_keeps_the_status_that_it_is_created_with(verbs: Verbs, at: At) -> None:
    created = await verbs.create(at("nodes"), config(status={"phase": "x"}), WRITE)
    assert created.content["status"] == {"phase": "x"}


async def test_a_secret_takes_plain_text_and_never_shows_it(verbs: Verbs, at: At) -> None:
    created = await verbs.create(at("secrets", "default"), config(stringData={"k": "v"}), WRITE)
    assert created.content["data"] == {"k": "dg=="}
    assert "stringData" not in created.content
    assert created.content["type"] == "Opaque"


async def test_immutable_fields_cannot_be_changed(verbs: Verbs, at: At) -> None:
    await verbs.create(at("deployments", "default"), deployment(), WRITE)
    changed = deployment()
    changed["spec"]["selector"] = {"matchLabels": {"a": "b"}}
    with pytest.raises(StatusError, match=r"spec\.selector: Invalid value: .*: field is immutable"):
        await verbs.update(at("deployments", "default", "web"), changed, WRITE)


async def test_h11_nulls_are_dropped(verbs: Verbs, at: At) -> None:
    created = await verbs.create(
        at("configmaps", "default"), config(data={"a": None, "b": "c"}, x=None), WRITE
    )
    assert created.content["data"] == {"b": "c"}
    assert "x" not in created.content


async def test_w23_the_update_that_takes_the_last_finalizer_deletes(verbs: Verbs, at: At) -> None:
    held = config(metadata={"finalizers": ["example.dev/x"]})
    created = await verbs.create(at("configmaps", "default"), held, WRITE)
    target = at("configmaps", "default", "a")
    await verbs.delete(target, DeleteOptions())
    with pytest.raises(StatusError, match="no new finalizers can be added if the object is being deleted"):
        await verbs.update(target, config(metadata={"finalizers": ["example.dev/x", "example.dev/y"]}), WRITE)
    async with verbs.watch(at("configmaps"), ListOptions(version=str(created.version))) as stream:
        gone, _ = await verbs.update(target, config(), WRITE)
        await settle()
        events = await anext(stream)
    assert [event.type for event in events] == ["MODIFIED", "DELETED"]
    last: Any = events[1].obj
    assert last.content["metadata"]["finalizers"] == ["example.dev/x"]  # that update was never stored
    assert "finalizers" not in gone.content["metadata"]
    with pytest.raises(StatusError):
        await verbs.get(target)


async def test_n3_finalize_replaces_the_finalizers_of_a_namespace(verbs: Verbs, at: At) -> None:
    await verbs.create(at("namespaces"), config("x"), WRITE)
    await verbs.delete(at("namespaces", "", "x"), DeleteOptions())
    await verbs.update(at("namespaces", "", "x", "finalize"), config("x", spec={"finalizers": []}), WRITE)
    with pytest.raises(StatusError):
        await verbs.get(at("namespaces", "", "x"))


async def test_many_writers_of_one_object_lose_nothing(verbs: Verbs, at: At) -> None:
    await verbs.create(at("configmaps", "default"), config(), WRITE)

    async def write(number: int) -> None:
        patch = {"data": {f"k{number}": "v"}}
        await verbs.patch(at("configmaps", "default", "a"), PatchKind.MERGE, patch, WRITE)

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(write, number)
    assert len((await verbs.get(at("configmaps", "default", "a"))).content["data"]) == 20
