"""Stored objects: bytes in, bytes out."""

import msgspec

from kinformer.apiserver.cacher import StoredObject

CONTENT = {
    "spec": {"x": ',"metadata":{'},
    "metadata": {"name": "a", "resourceVersion": "3"},
    "apiVersion": "v1",
    "kind": "Pod",
}


def test_what_is_stored_begins_with_kind_and_has_no_version() -> None:
    stored = StoredObject.encode(CONTENT)
    assert (
        stored == b'{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"x":",\\"metadata\\":{"}}'
    )
    assert CONTENT["metadata"] == {"name": "a", "resourceVersion": "3"}


def test_the_version_is_stamped_on_the_way_out() -> None:
    obj = StoredObject(StoredObject.encode(CONTENT), 7, kind="Pod", api_version="v2")
    assert obj.content["metadata"] == {"name": "a", "resourceVersion": "7"}
    assert obj.content["apiVersion"] == "v2"
    assert msgspec.json.decode(obj.json) == obj.content
    assert obj.json is obj.json
    assert obj.content is obj.content


def test_an_item_of_a_list_lacks_kind_and_version_of_the_api() -> None:
    obj = StoredObject.of(CONTENT, 7)
    shown = {key: value for key, value in obj.content.items() if key not in {"kind", "apiVersion"}}
    assert msgspec.json.decode(obj.item) == shown


def test_metadata_may_be_nothing_but_the_version() -> None:
    obj = StoredObject.of({"kind": "Pod", "apiVersion": "v1", "metadata": {}}, 7)
    assert obj.json == b'{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}'


def test_without_a_version_nothing_is_stamped() -> None:
    assert "resourceVersion" not in StoredObject.of(CONTENT).content["metadata"]
    assert repr(StoredObject.of(CONTENT, 4)) == "<Pod /a at 4>"
