"""The life of a custom resource definition: rules C-1 to C-9."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from kinformer.apiserver.registry import Registry
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
from kinformer.apiserver.storage import KeyRange, MemoryKV
from kinformer.testing import FakeClock

At = Callable[..., Target]
WRITE, DELETE = WriteOptions(), DeleteOptions()

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 5},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "port": {"x-kubernetes-int-or-string": True},
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def definition(plural: str = "widgets", kind: str = "Widget", **version: Any) -> dict[str, Any]:
    one = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": SCHEMA},
        "subresources": {"status": {}},
        **version,
    }
    return {
        "metadata": {"name": f"{plural}.example.dev"},
        "spec": {
            "group": "example.dev",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind, "shortNames": [plural[0]]},
            "versions": [one],
        },
    }


def widget(size: Any = 1, name: str = "a", **more: Any) -> dict[str, Any]:
    return {
        "kind": "Widget",
        "apiVersion": "example.dev/v1",
        "metadata": {"name": name, **more.pop("metadata", {})},
        "spec": {"size": size, **more.pop("spec", {})},
        **more,
    }


async def define(verbs: Verbs, at: At, **version: Any) -> StoredObject:
    return await verbs.create(at("customresourcedefinitions"), definition(**version), WRITE)


async def test_c3_a_definition_is_established_and_served_at_once(
    verbs: Verbs, at: At, registry: Registry
) -> None:
    before = registry.generation
    created = await define(verbs, at)
    status = created.content["status"]
    assert {c["type"]: (c["status"], c["reason"]) for c in status["conditions"]} == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("True", "InitialNamesAccepted"),
    }
    assert status["storedVersions"] == ["v1"]
    assert status["acceptedNames"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
        "shortNames": ["w"],
    }
    served = registry.find("example.dev", "v1", "widgets")
    assert served is not None
    assert (served.kind, served.list_kind, served.singular, served.subresources) == (
        "Widget",
        "WidgetList",
        "widget",
        ("status",),
    )
    assert registry.generation > before


async def test_c8_an_object_is_pruned_and_defaulted(verbs: Verbs, at: At) -> None:
    await define(verbs, at)
    warnings: list[str] = []
    sent = widget(spec={"foo": 1, "free": {"x": {"y": 1}}, "port": "http", "color": None}, other=1)
    created = await verbs.create(at("widgets", "default"), sent, WriteOptions(warn=warnings.append))
    assert created.content["spec"] == {"size": 1, "color": "red", "free": {"x": {"y": 1}}, "port": "http"}
    assert "other" not in created.content
    assert created.content["metadata"]["generation"] == 1
    assert sorted(warnings) == ['unknown field "other"', 'unknown field "spec.foo"']
    with pytest.raises(StatusError, match=r'strict decoding error: unknown field "spec\.foo"') as caught:
        await verbs.create(
            at("widgets", "default"), widget(spec={"foo": 1}), WriteOptions(field_validation="Strict")
        )
    assert caught.value.code == 400


async def test_c9_what_breaks_the_schema_is_a_422_with_a_cause_for_each(verbs: Verbs, at: At) -> None:
    await define(verbs, at)
    with pytest.raises(StatusError) as caught:
        await verbs.create(at("widgets", "default"), widget("big", spec={"color": "green"}), WRITE)
    error = caught.value
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.details == {
        "name": "a",
        "group": "example.dev",
        "kind": "Widget",
        "causes": [
            {
                "reason": "FieldValueTypeInvalid",
                "message": 'Invalid value: "string": spec.size in body must be of type integer: "string"',
                "field": "spec.size",
            },
            {
                "reason": "FieldValueNotSupported",
                "message": 'Unsupported value: "green": supported values: "red", "blue"',
                "field": "spec.color",
            },
        ],
    }


async def test_a_custom_object_must_say_what_it_is(verbs: Verbs, at: At) -> None:
    await define(verbs, at)
    with pytest.raises(StatusError, match="Object 'Kind' is missing in"):
        await verbs.create(at("widgets", "default"), {"metadata": {"name": "a"}}, WRITE)


async def test_w13_the_status_of_a_custom_object_is_judged_and_written_apart(verbs: Verbs, at: At) -> None:
    await define(verbs, at)
    created = await verbs.create(at("widgets", "default"), widget(status={"ready": True}), WRITE)
    assert "status" not in created.content
    rv = {"resourceVersion": str(created.version), "labels": {"x": "y"}}
    reported, _ = await verbs.update(
        at("widgets", "default", "a", "status"), widget(99, metadata=rv, status={"ready": True}), WRITE
    )
    assert reported.content["status"] == {"ready": True}
    assert reported.content["spec"]["size"] == 1
    assert "labels" not in reported.content["metadata"]
    assert reported.content["metadata"]["generation"] == 1
    with pytest.raises(StatusError, match=r"status\.ready"):
        await verbs.patch(
            at("widgets", "default", "a", "status"), PatchKind.MERGE, {"status": {"ready": 3}}, WRITE
        )
    with pytest.raises(StatusError, match=r"metadata\.resourceVersion: Invalid value: 0: must be specified"):
        await verbs.update(at("widgets", "default", "a"), widget(2), WRITE)


async def test_what_was_wrong_before_may_stay_wrong(verbs: Verbs, at: At) -> None:
    await define(verbs, at)
    await verbs.create(at("widgets", "default"), widget(5), WRITE)
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "size": {"type": "integer", "maximum": 3}, "color": {"type": "string"}}}}}}  # fmt: skip
    patch = [{"op": "replace", "path": "/spec/versions/0/schema", "value": schema}]
    await verbs.patch(
        at("customresourcedefinitions", "", "widgets.example.dev"), PatchKind.JSON, patch, WRITE
    )
    target = at("widgets", "default", "a")
    await verbs.patch(target, PatchKind.MERGE, {"metadata": {"labels": {"a": "b"}}}, WRITE)
    with pytest.raises(StatusError, match="should be less than or equal to 3"):
        await verbs.patch(target, PatchKind.MERGE, {"spec": {"size": 4}}, WRITE)


async def test_c6_all_versions_show_the_same_objects(verbs: Verbs, at: At) -> None:
    sent = definition()
    small = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    sent["spec"]["versions"].append(
        {
            "name": "v1beta1",
            "served": True,
            "storage": False,
            "deprecated": True,
            "schema": {"openAPIV3Schema": small},
        }
    )
    await verbs.create(at("customresourcedefinitions"), sent, WRITE)
    await verbs.create(at("widgets", "default", version="v1"), widget(3), WRITE)
    old = at("widgets", "default", "a", version="v1beta1")
    assert old.served.deprecation == "example.dev/v1beta1 Widget is deprecated"
    shown = (await verbs.get(old)).content
    assert (shown["apiVersion"], shown["spec"]) == ("example.dev/v1beta1", {"size": 3})
    await verbs.patch(old, PatchKind.MERGE, {"spec": {"size": 4}}, WRITE)
    new = (await verbs.get(at("widgets", "default", "a", version="v1"))).content
    assert (new["apiVersion"], new["spec"]) == ("example.dev/v1", {"size": 4, "color": "red"})


async def test_c5_a_deleted_definition_takes_its_objects_and_ends_their_watches(
    verbs: Verbs, at: At, registry: Registry, kv: MemoryKV
) -> None:
    await define(verbs, at)
    for name in "ab":
        await verbs.create(at("widgets", "default"), widget(name=name), WRITE)
    target = at("widgets", "default")
    async with verbs.watch(target, ListOptions(version=str(await kv.revision()))) as stream:
        answer = await verbs.delete(at("customresourcedefinitions", "", "widgets.example.dev"), DELETE)
        types = [event.type async for events in stream for event in events]
    assert types == ["DELETED", "DELETED"]
    assert isinstance(answer, StoredObject)
    assert answer.content["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert answer.content["status"]["conditions"][-1]["reason"] == "InstanceDeletionPending"
    assert registry.find("example.dev", "v1", "widgets") is None
    assert (await verbs.list(at("customresourcedefinitions"), ListOptions())).items == []


async def test_c5_a_definition_waits_for_the_finalizers_of_its_objects(
    verbs: Verbs, at: At, registry: Registry
) -> None:
    await define(verbs, at)
    await verbs.create(at("widgets", "default"), widget(metadata={"finalizers": ["example.dev/x"]}), WRITE)
    await verbs.delete(at("customresourcedefinitions", "", "widgets.example.dev"), DELETE)
    target = at("widgets", "default", "a")
    assert target.served.is_terminating
    with pytest.raises(
        StatusError, match="create not allowed while custom resource definition is terminating"
    ):
        await verbs.create(at("widgets", "default"), widget(name="b"), WRITE)
    await verbs.patch(target, PatchKind.MERGE, {"metadata": {"finalizers": None}}, WRITE)
    assert registry.find("example.dev", "v1", "widgets") is None
    assert (await verbs.list(at("customresourcedefinitions"), ListOptions())).items == []


@pytest.mark.parametrize(("field", "called"), [("kind", "Kind"), ("apiVersion", "apiVersion")])
async def test_h10_custom_objects_must_say_what_they_are(
    verbs: Verbs, at: At, field: str, called: str
) -> None:
    await define(verbs, at)
    sent = {key: value for key, value in widget().items() if key != field}
    with pytest.raises(StatusError, match=f"^Object '{called}' is missing") as caught:
        await verbs.create(at("widgets", "default"), sent, WRITE)
    assert caught.value.code == 400


async def test_c5_a_watch_goes_on_until_the_last_object_of_a_deleted_definition_is_gone(
    verbs: Verbs, at: At, kv: MemoryKV
) -> None:
    await define(verbs, at)
    await verbs.create(at("widgets", "default"), widget(metadata={"finalizers": ["example.dev/x"]}), WRITE)
    async with verbs.watch(at("widgets"), ListOptions(version=str(await kv.revision()))) as stream:
        await verbs.delete(at("customresourcedefinitions", "", "widgets.example.dev"), DELETE)
        assert [event.type for event in await anext(stream)] == ["MODIFIED"]
        target = at("widgets", "default", "a")
        await verbs.patch(target, PatchKind.MERGE, {"metadata": {"finalizers": None}}, WRITE)
        assert [event.type async for events in stream for event in events] == ["DELETED"]


async def test_a_change_of_the_definition_ends_the_watches_of_its_objects(verbs: Verbs, at: At) -> None:
    await define(verbs, at)
    async with verbs.watch(at("widgets"), ListOptions()) as stream:
        patch = {"spec": {"names": {"shortNames": ["wd"]}}}
        await verbs.patch(
            at("customresourcedefinitions", "", "widgets.example.dev"), PatchKind.MERGE, patch, WRITE
        )
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


async def test_c4_a_name_that_is_taken_is_not_accepted(verbs: Verbs, at: At, registry: Registry) -> None:
    await define(verbs, at)
    second = await verbs.create(at("customresourcedefinitions"), definition("gadgets", "Widget"), WRITE)
    conditions = {c["type"]: (c["status"], c["reason"]) for c in second.content["status"]["conditions"]}
    assert conditions == {
        "NamesAccepted": ("False", "SingularConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert registry.find("example.dev", "v1", "gadgets") is None
    await verbs.delete(at("customresourcedefinitions", "", "widgets.example.dev"), DELETE)
    assert registry.find("example.dev", "v1", "gadgets") is not None
    again = await verbs.get(at("customresourcedefinitions", "", "gadgets.example.dev"))
    assert {c["status"] for c in again.content["status"]["conditions"]} == {"True"}


async def test_definitions_in_the_storage_are_served_after_a_restart(
    verbs: Verbs, at: At, kv: MemoryKV, clock: FakeClock
) -> None:
    await define(verbs, at)
    registry = Registry()
    await Verbs(kv, registry, clock=clock, random=Random(1)).bootstrap()
    assert registry.find("example.dev", "v1", "widgets") is not None


async def test_custom_objects_take_no_strategic_merge(verbs: Verbs, at: At) -> None:
    await define(verbs, at)
    with pytest.raises(StatusError) as caught:
        await verbs.patch(at("widgets", "default", "a"), PatchKind.STRATEGIC, {}, WRITE)
    assert caught.value.code == 415


async def test_what_is_served_comes_from_the_newest_word_on_it_whoever_wrote_it(
    verbs: Verbs, kv: MemoryKV, registry: Registry, at: At
) -> None:
    key = "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.dev"
    start = await kv.revision() + 1
    await verbs.create(at("customresourcedefinitions"), definition(), WRITE)
    async with kv.watch(KeyRange.key(key), start) as changes:
        (created,) = (await anext(changes)).changes
        gone = await kv.delete(key)
        assert gone is not None
        verbs.follow(created)
        assert registry.find("example.dev", "v1", "widgets") is not None
        verbs.follow(gone)
        verbs.follow(created)  # which is older
        assert registry.find("example.dev", "v1", "widgets") is None


async def test_reloading_serves_what_is_stored_and_nothing_else(
    verbs: Verbs, kv: MemoryKV, registry: Registry, at: At
) -> None:
    key = "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.dev"
    await verbs.create(at("customresourcedefinitions"), definition(), WRITE)
    value = await kv.get(key)
    assert value is not None
    await kv.delete(key)
    await verbs.reload()
    assert registry.find("example.dev", "v1", "widgets") is None
    await kv.put(key, value.value)
    await verbs.reload()
    assert registry.find("example.dev", "v1", "widgets") is not None
