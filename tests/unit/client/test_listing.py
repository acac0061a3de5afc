import json
from typing import Any

import pytest

from kinformer.client._codec import decode_list
from kinformer.client._listing import ListDecoder
from kinformer.errors import DecodeError
from kinformer.meta import Object, ObjectList, Resource

PODS = Resource.builtin("Pod")
WIDGETS = Resource("example.dev", "v1", "widgets", "Widget")


def text(content: Any) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def pod(name: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "n"}, **more}


def widget(name: str) -> dict[str, Any]:
    """As Go writes what it has no type for: keys sorted."""
    managed = [{"apiVersion": "example.dev/v1", "fieldsType": "FieldsV1", "manager": m} for m in ("a", "b")]
    return {
        "apiVersion": "example.dev/v1",
        "kind": "Widget",
        "metadata": {"managedFields": managed, "name": name, "namespace": "n"},
    }


def pods(*items: Any) -> bytes:
    return text({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "9"}, "items": items})


def widgets(*items: Any) -> bytes:
    metadata = {"continue": "more", "remainingItemCount": 3, "resourceVersion": "9"}
    return text({"apiVersion": "example.dev/v1", "items": items, "kind": "WidgetList", "metadata": metadata})


def decoded(body: bytes, resource: Resource = PODS, *, step: int = 10_000) -> ObjectList[Object]:
    decoder = ListDecoder(resource)
    for start in range(0, len(body), step):
        decoder.feed(body[start : start + step])
    return decoder.finish()


def told(page: ObjectList[Object]) -> tuple[Any, ...]:
    """All that a page says, in a form that can be compared."""
    return (
        [(obj.key, obj.raw) for obj in page.items],
        [(str(error), error.key) for error in page.rejected],
        page.version,
        page.continue_token,
        page.remaining,
    )


LOOKALIKES = {
    "templates": [{"metadata": {"name": name}} for name in ("x", "y", "z")],
    "text": '},{"metadata":{"',
}
LISTS = {
    "nothing": (pods(), PODS),
    "one": (pods(pod("a")), PODS),
    "some": (pods(*(pod(name, spec={"x": [1, {}]}) for name in "abcdef")), PODS),
    "what looks like the end of an item": (pods(*(pod(name, spec=LOOKALIKES) for name in "abc")), PODS),
    "custom resources": (widgets(*map(widget, "abcd")), WIDGETS),
    "objects that cannot be read": (
        pods(
            pod("a"), {"metadata": {"namespace": "n"}}, {"metadata": {"name": 1}}, pod("b"), {"metadata": {}}
        ),
        PODS,
    ),
    "objects of another kind": (pods(pod("a"), pod("b", kind="Node"), pod("c", apiVersion="v2")), PODS),
    "an object whose labels are null": (
        pods({"metadata": {"name": "a", "labels": {"x": None}}}, pod("b")),
        PODS,
    ),
    "spaces": (json.dumps({"kind": "PodList", "metadata": {}, "items": [pod("a"), pod("b")]}).encode(), PODS),
    "items that begin otherwise": (pods({"spec": {}, "metadata": {"name": "a"}}, pod("b")), PODS),
    "items of which the first begins otherwise than the rest": (
        pods(
            {"kind": "Pod", "apiVersion": "v1", **pod("a")},
            pod("b"),
            {"kind": "Pod", "apiVersion": "v1", **pod("c")},
        ),
        PODS,
    ),
    "no metadata of its own": (b'{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}', PODS),
    "items that are null": (b'{"kind":"PodList","items":null}', PODS),
}


@pytest.mark.parametrize("step", [1, 7, 10_000])
@pytest.mark.parametrize("name", LISTS)
def test_a_list_is_understood_as_it_would_be_whole_however_it_is_cut(name: str, step: int) -> None:
    body, resource = LISTS[name]
    assert told(decoded(body, resource, step=step)) == told(decode_list(body, resource))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "cannot be read"),
        (b"<html>", "cannot be read"),
        (pods(pod("a"), pod("b"))[:-3], "cannot be read"),
        (pods(pod("a"), pod("b")).replace(b'"b"', b'"b'), "cannot be read"),
        (pods(pod("a"), pod("b")) + b"x", "cannot be read"),
        (b'{"kind":"Table","rows":[{"object":{"metadata":{}}}]}', "as a Table"),
        (b'{"kind":"Status","code":200}', "found Status"),
        (b'{"kind":"PodList"}', "without items"),
    ],
)
@pytest.mark.parametrize("step", [1, 10_000])
def test_what_is_no_list_is_an_error_in_the_end(body: bytes, message: str, step: int) -> None:
    with pytest.raises(DecodeError, match=message):
        decoded(body, step=step)


@pytest.mark.parametrize("step", [1, 13, 500])
def test_objects_are_decoded_while_the_list_arrives(step: int) -> None:
    decoder, body = (
        ListDecoder(PODS),
        pods(*(pod(f"p{number}", spec={"x": "y" * 100}) for number in range(40))),
    )
    for end in range(step, len(body), step):
        decoder.feed(body[end - step : end])
        begun = body[:end].count(b'{"metadata":{')
        assert len(decoder) == max(0, begun - 1)


def test_lookalikes_in_each_of_many_objects_hold_up_none() -> None:
    decoder = ListDecoder(PODS)
    decoder.feed(pods(*(pod(f"p{number}", spec=LOOKALIKES) for number in range(100))))
    assert len(decoder) == 99


def test_an_object_with_lookalikes_without_end_is_left_to_the_end() -> None:
    many = {"templates": [{"metadata": {"name": "x"}}] * 1000}
    body = pods(pod("a"), pod("b", spec=many), pod("c"))
    decoder = ListDecoder(PODS)
    decoder.feed(body)
    assert len(decoder) == 1
    assert [obj.key.name for obj in decoder.finish().items] == ["a", "b", "c"]


def test_objects_have_bytes_of_their_own() -> None:
    page = decoded(pods(pod("a"), pod("b"), pod("c")))
    assert all(type(obj.raw) is bytes for obj in page.items)
