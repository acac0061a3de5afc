"""Server-side apply: rules P-7 to P-13, with the examples of the Kubernetes documentation."""

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.apiserver.rest import PatchKind, StatusError, StoredObject, Target, Verbs, WriteOptions
from kinformer.apiserver.storage import MemoryKV
from kinformer.testing import FakeClock

At = Callable[..., Target]
WRITE = WriteOptions(user_agent="editor/1.0")


def config(data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    content: dict[str, Any] = {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", **metadata}}
    return content if data is None else {**content, "data": data}


def deployment(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    template = {"template": {"spec": {"containers": list(containers)}}} if containers else {}
    return {
        "kind": "Deployment",
        "apiVersion": "apps/v1",
        "metadata": {"name": "a"},
        "spec": {**spec, **template},
    }


class Hands:
    """Applies and edits one object, under the names of managers."""

    def __init__(self, verbs: Verbs, target: Target) -> None:
        self.verbs = verbs
        self.target = target

    async def apply(self, manager: str, content: dict[str, Any], *, force: bool = False) -> StoredObject:
        options = WriteOptions(field_manager=manager, force=force)
        return (await self.verbs.patch(self.target, PatchKind.APPLY, content, options))[0]

    async def edit(self, patch: dict[str, Any]) -> StoredObject:
        return (await self.verbs.patch(self.target, PatchKind.MERGE, patch, WRITE))[0]


@pytest.fixture
def maps(verbs: Verbs, at: At) -> Hands:
    return Hands(verbs, at("configmaps", "default", "a"))


@pytest.fixture
def apps(verbs: Verbs, at: At) -> Hands:
    return Hands(verbs, at("deployments", "default", "a"))


def owners(obj: StoredObject) -> dict[str, Any]:
    entries = obj.content["metadata"].get("managedFields", [])
    return {f"{entry['manager']} {entry['operation']}": entry["fieldsV1"] for entry in entries}


async def test_p7_an_apply_creates_and_says_so(maps: Hands) -> None:
    options = WriteOptions(field_manager="m")
    created, is_new = await maps.verbs.patch(maps.target, PatchKind.APPLY, config({"x": "1"}), options)
    assert is_new
    assert created.content["metadata"]["managedFields"] == [
        {
            "manager": "m",
            "operation": "Apply",
            "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:x": {}}},
        }
    ]
    _, is_new = await maps.verbs.patch(maps.target, PatchKind.APPLY, config({"x": "2"}), options)
    assert not is_new


async def test_p12_applying_the_same_again_is_no_write(maps: Hands, clock: FakeClock, kv: MemoryKV) -> None:
    first = await maps.apply("m", config({"x": "1"}, labels={"a": "b"}))
    await clock.advance(60)
    again = await maps.apply("m", config({"x": "1"}, labels={"a": "b"}))
    assert again.json == first.json
    assert await kv.revision() == first.version


async def test_p12_what_is_left_out_is_removed_unless_somebody_else_wants_it(maps: Hands) -> None:
    await maps.apply("m", config({"x": "1", "y": "1"}))
    await maps.apply("n", config({"y": "1"}))
    left = await maps.apply("m", config({}))
    assert left.content["data"] == {"y": "1"}
    gone = await maps.apply("n", config())
    assert gone.content["data"] == {}  # m still says that there are data, if none
    assert owners(gone) == {"m Apply": {"f:data": {}}}
    assert "data" not in (await maps.apply("m", config())).content


async def test_p12_equal_values_are_shared_and_another_value_is_a_conflict(maps: Hands, kv: MemoryKV) -> None:
    await maps.apply("m", config({"x": "1"}))
    both = await maps.apply("n", config({"x": "1"}))
    assert owners(both) == {"m Apply": {"f:data": {"f:x": {}}}, "n Apply": {"f:data": {"f:x": {}}}}
    before = await kv.revision()
    with pytest.raises(StatusError) as caught:
        await maps.apply("n", config({"x": "2"}))
    assert caught.value.to_status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'Apply failed with 1 conflict: conflict with "m": .data.x',
        "reason": "Conflict",
        "details": {
            "causes": [
                {"reason": "FieldManagerConflict", "message": 'conflict with "m"', "field": ".data.x"},
            ]
        },
        "code": 409,
    }
    assert await kv.revision() == before
    taken = await maps.apply("n", config({"x": "2"}), force=True)
    assert taken.content["data"] == {"x": "2"}
    assert owners(taken) == {"n Apply": {"f:data": {"f:x": {}}}}


async def test_p13_a_conflict_with_an_updater_names_its_version(maps: Hands) -> None:
    await maps.apply("m", config({"x": "1", "y": "1"}))
    edited = await maps.edit({"data": {"x": "2", "y": "2"}})
    assert owners(edited) == {"editor Update": {"f:data": {"f:x": {}, "f:y": {}}}}
    with pytest.raises(StatusError) as caught:
        await maps.apply("m", config({"x": "1", "y": "3"}))
    assert caught.value.message == (
        'Apply failed with 2 conflicts: conflicts with "editor" using v1:\n- .data.x\n- .data.y'
    )


async def test_p11_the_edit_of_one_field_leaves_the_others_to_their_owners(maps: Hands) -> None:
    await maps.apply("m", config({"x": "1", "y": "1"}))
    edited = await maps.edit({"data": {"x": "2", "z": "2"}})
    assert owners(edited) == {
        "m Apply": {"f:data": {"f:y": {}}},
        "editor Update": {"f:data": {"f:x": {}, "f:z": {}}},
    }
    removed = await maps.edit({"data": {"y": None, "z": None}})
    assert owners(removed) == {"editor Update": {"f:data": {"f:x": {}}}}


async def test_p11_the_time_moves_only_with_a_gain(maps: Hands, clock: FakeClock) -> None:
    await maps.verbs.create(maps.target, config({"x": "1"}), WRITE)
    await clock.advance(60)
    edited = await maps.edit({"data": {"x": "2"}})
    assert edited.content["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:00:00Z"
    edited = await maps.edit({"data": {"y": "2"}})
    assert edited.content["metadata"]["managedFields"][0]["time"] == "2026-01-01T00:01:00Z"


async def test_the_tracking_can_be_reset_and_then_begins_with_the_first_apply(maps: Hands) -> None:
    await maps.verbs.create(maps.target, config({"x": "1"}), WRITE)
    reset = await maps.edit({"metadata": {"managedFields": [{}]}})
    assert owners(reset) == {}
    edited = await maps.edit({"data": {"y": "1"}})
    assert owners(edited) == {}
    applied = await maps.apply("m", config({"x": "1"}))
    assert owners(applied) == {
        "before-first-apply Update": {"f:data": {".": {}, "f:x": {}, "f:y": {}}},
        "m Apply": {"f:data": {"f:x": {}}},
    }
    with pytest.raises(StatusError, match='conflict with "before-first-apply" using v1'):
        await maps.apply("m", config({"x": "2"}))


async def test_lists_with_keys_merge_by_them(apps: Hands) -> None:
    await apps.apply(
        "m", deployment({"name": "c", "image": "1", "env": [{"name": "X", "value": "1"}]}, replicas=1)
    )
    both = await apps.apply("n", deployment({"name": "side", "image": "2"}))
    containers = both.content["spec"]["template"]["spec"]["containers"]
    assert [item["name"] for item in containers] == ["c", "side"]
    with pytest.raises(StatusError) as caught:
        await apps.apply("n", deployment({"name": "c", "image": "3"}, {"name": "side", "image": "2"}))
    assert caught.value.details is not None
    assert caught.value.details["causes"][0]["field"] == '.spec.template.spec.containers[name="c"].image'
    left = await apps.apply("m", deployment(replicas=1))
    assert left.content["spec"]["template"]["spec"]["containers"] == [{"name": "side", "image": "2"}]


async def test_an_item_stays_with_its_key_while_somebody_owns_a_part_of_it(apps: Hands) -> None:
    await apps.apply("m", deployment({"name": "c", "image": "1"}))
    await apps.apply("n", deployment({"name": "c", "tty": True}))
    left = await apps.apply("m", deployment(replicas=2))
    assert left.content["spec"]["template"]["spec"]["containers"] == [{"name": "c", "tty": True}]


async def test_default_keys_are_the_same_as_written_ones(apps: Hands) -> None:
    await apps.apply("m", deployment({"name": "c", "ports": [{"containerPort": 80}]}))
    same = await apps.apply(
        "n", deployment({"name": "c", "ports": [{"containerPort": 80, "protocol": "TCP"}]})
    )
    assert len(same.content["spec"]["template"]["spec"]["containers"][0]["ports"]) == 1
    entry = owners(same)["m Apply"]["f:spec"]["f:template"]["f:spec"]["f:containers"]['k:{"name":"c"}']
    assert entry == {
        ".": {},
        "f:name": {},
        "f:ports": {'k:{"containerPort":80,"protocol":"TCP"}': {".": {}, "f:containerPort": {}}},
    }


async def test_finalizers_are_a_set(maps: Hands) -> None:
    await maps.apply("m", config(finalizers=["example.dev/m"]))
    both = await maps.apply("n", config(finalizers=["example.dev/n"]))
    assert both.content["metadata"]["finalizers"] == ["example.dev/m", "example.dev/n"]
    assert owners(both)["n Apply"] == {"f:metadata": {"f:finalizers": {'v:"example.dev/n"': {}}}}
    left = await maps.apply("m", config())
    assert left.content["metadata"]["finalizers"] == ["example.dev/n"]


async def test_a_map_that_is_one_value_belongs_to_one(apps: Hands) -> None:
    await apps.apply("m", deployment(selector={"matchLabels": {"a": "b"}}, replicas=1))
    with pytest.raises(StatusError) as caught:
        await apps.apply("n", deployment(selector={"matchLabels": {"c": "d"}}))
    assert caught.value.details is not None
    assert caught.value.details["causes"][0]["field"] == ".spec.selector"


async def test_the_status_has_owners_of_its_own(apps: Hands, at: At) -> None:
    await apps.apply("m", deployment(replicas=1))
    status = Hands(apps.verbs, at("deployments", "default", "a", "status"))
    report = {**deployment(replicas=9), "status": {"replicas": 1}}
    reported = await status.apply("m", report)
    assert reported.content["spec"]["replicas"] == 1
    entries = reported.content["metadata"]["managedFields"]
    assert [(entry.get("subresource", ""), entry["fieldsV1"]) for entry in entries] == [
        ("", {"f:spec": {"f:replicas": {}}}),
        ("status", {"f:status": {"f:replicas": {}}}),
    ]
    with pytest.raises(StatusError, match='conflict with "m" with subresource "status"'):
        await status.apply("n", {**deployment(), "status": {"replicas": 2}})


async def test_an_apply_of_the_status_creates_nothing(at: At, verbs: Verbs) -> None:
    with pytest.raises(StatusError) as caught:
        await Hands(verbs, at("deployments", "default", "a", "status")).apply("m", deployment())
    assert caught.value.code == 404


@pytest.mark.parametrize(
    ("content", "manager", "code", "text"),
    [
        (config(), "", 422, "fieldManager: Required value: is required for apply patch"),
        ([], "m", 400, "must be an object"),
        ({**config(), "kind": "Secret"}, "m", 400, "invalid object type"),
        ({**config(), "apiVersion": "v2"}, "m", 400, "Incorrect version specified in apply patch"),
        (config(managedFields=[]), "m", 400, "metadata.managedFields must be nil"),
        ({**config(), "metadata": {"name": "b"}}, "m", 400, "does not match the name on the URL"),
        (config(uid="x"), "m", 409, "uid mismatch"),
    ],
)
async def test_p7_bad_configurations_are_refused(
    maps: Hands, content: Any, manager: str, code: int, text: str
) -> None:
    with pytest.raises(StatusError) as caught:
        await maps.apply(manager, content)
    assert caught.value.code == code
    assert text in caught.value.message


async def test_p15_a_key_twice_is_refused(apps: Hands) -> None:
    await apps.apply("m", deployment({"name": "c"}))
    with pytest.raises(StatusError, match="duplicate entries for key"):
        await apps.apply("m", deployment({"name": "c"}, {"name": "c"}))


async def test_force_belongs_to_apply_alone(maps: Hands) -> None:
    options = WriteOptions(force=True)
    with pytest.raises(StatusError, match="force: Forbidden: may not be specified for non-apply patch"):
        await maps.verbs.patch(maps.target, PatchKind.MERGE, {}, options)


async def test_at_most_ten_updaters_are_told_apart(maps: Hands, clock: FakeClock) -> None:
    await maps.verbs.create(maps.target, config({"x": "1"}), WRITE)
    for number in range(12):
        await clock.advance(1)
        options = WriteOptions(field_manager=f"m{number}")
        await maps.verbs.patch(maps.target, PatchKind.MERGE, {"data": {f"k{number}": "v"}}, options)
    found = owners(await maps.verbs.get(maps.target))
    assert len(found) == 11
    assert found["ancient-changes Update"] == {"f:data": {".": {}, "f:x": {}, "f:k0": {}, "f:k1": {}}}


async def test_a_custom_kind_merges_as_its_schema_says(verbs: Verbs, at: At) -> None:
    item = {"type": "object", "properties": {"name": {"type": "string"}, "x": {"type": "integer"}}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}
    spec = {
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": item, **keyed},
            "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            "plain": {"type": "array", "items": {"type": "string"}},
        },
    }
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
    }
    names = {"plural": "widgets", "kind": "Widget"}
    crd = {"group": "example.dev", "scope": "Namespaced", "names": names, "versions": [version]}
    await verbs.create(
        at("customresourcedefinitions"), {"metadata": {"name": "widgets.example.dev"}, "spec": crd}, WRITE
    )
    hands = Hands(verbs, at("widgets", "default", "a"))

    def widget(**spec: Any) -> dict[str, Any]:
        return {"kind": "Widget", "apiVersion": "example.dev/v1", "metadata": {"name": "a"}, "spec": spec}

    await hands.apply("m", widget(items=[{"name": "a", "x": 1}], tags=["t"], plain=["p"]))
    both = await hands.apply("n", widget(items=[{"name": "b", "x": 2}], tags=["u"]))
    assert both.content["spec"] == {
        "items": [{"name": "a", "x": 1}, {"name": "b", "x": 2}],
        "tags": ["t", "u"],
        "plain": ["p"],
    }
    with pytest.raises(StatusError, match=r'conflict with "m": \.spec\.plain'):
        await hands.apply("n", widget(plain=["q"]))
    left = await hands.apply("m", widget(plain=["p"]))
    assert left.content["spec"] == {"items": [{"name": "b", "x": 2}], "tags": ["u"], "plain": ["p"]}
    assert left.content["metadata"]["generation"] == 3
    edited = await hands.edit({"spec": {"more": 1, "tags": ["u", "v"]}})
    assert owners(edited)["editor Update"] == {"f:spec": {"f:tags": {'v:"v"': {}}}}
