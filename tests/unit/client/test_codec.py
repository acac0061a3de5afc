import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinformer.client._codec import WatchDecoder, decode_event, decode_list, decode_record, is_status
from kinformer.errors import ApiError, DecodeError, ExpiredError, ServerError
from kinformer.meta import EventType, ObjectKey, Resource, WatchEvent

PODS = Resource.builtin("Pod")


def pod(name: str = "web", version: str = "7", **more: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "default", "uid": "u", "resourceVersion": version}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": meta, **more}


def line(kind: str, obj: Any) -> bytes:
    return json.dumps({"type": kind, "object": obj}, separators=(",", ":")).encode()


def error_of(event: WatchEvent) -> DecodeError:
    assert event.type is EventType.ERROR
    assert isinstance(event.error, DecodeError)
    return event.error


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
@pytest.mark.parametrize("spaced", [False, True], ids=["canonical", "spaced"])
def test_a_line_becomes_an_event_with_the_bytes_of_its_object(kind: str, spaced: bool) -> None:
    obj = pod(spec={"nodeName": "\u0085\u2028 n"})
    text = json.dumps({"type": kind, "object": obj}, separators=None if spaced else (",", ":"))
    event = decode_event(text.encode(), PODS)
    assert event.type is EventType(kind)
    assert event.version == "7"
    assert event.error is None
    assert event.obj.key == ObjectKey("default", "web")
    assert json.loads(event.obj.raw) == obj
    assert type(event.obj.raw) is bytes


@pytest.mark.parametrize(
    "text",
    [
        b'{"object":%s,"type":"ADDED"}',
        b'{"type":"ADDED","object":%s,"more":{}}',
        b'{"type":"ADDED","object":%s }',
        b'  {"type":"ADDED","object":%s}\r',
        b'{"more":[1],"type":"ADDED","object":%s}',
    ],
)
def test_an_envelope_of_another_form_gives_the_same_event(text: bytes) -> None:
    obj = json.dumps(pod()).encode()
    event = decode_event(text % obj, PODS)
    assert event.type is EventType.ADDED
    assert event.obj.raw == obj


def test_an_object_without_kind_is_taken_for_right() -> None:
    obj = pod()
    del obj["kind"], obj["apiVersion"]
    assert decode_event(line("ADDED", obj), PODS).type is EventType.ADDED


@pytest.mark.parametrize(
    ("obj", "found"),
    [
        (pod() | {"kind": "Node"}, "found Node of v1"),
        (pod() | {"apiVersion": "v2"}, "found Pod of v2"),
        ({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "rows": []}, "found Table"),
        ({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 500}, "found Status"),
        (pod() | {"kind": 7}, "found 7"),
    ],
)
def test_a_foreign_object_is_refused_and_named(obj: dict[str, Any], found: str) -> None:
    for spacing in ((",", ":"), None):
        text = json.dumps({"type": "ADDED", "object": obj}, separators=spacing).encode()
        assert found in str(error_of(decode_event(text, PODS)))


def test_a_foreign_object_has_its_key() -> None:
    assert error_of(decode_event(line("ADDED", pod() | {"kind": "Node"}), PODS)).key == "default/web"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"garbage",
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}',
        b'{"type":"ADDED"}',
        b'{"type":"ADDED","object":null}',
        b'{"type":"ADDED","object":{}}',
        b'{"type":"ADDED","object":{"metadata":{}}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"}}garbage}',
        b'{"type":"ADDED","object":[]}',
        b'{"type":"SURPRISE","object":{"metadata":{"name":"a"}}}',
        b'{"type":"BOOKMARK","object":{"metadata":{}}}',
        b'{"type":"BOOKMARK","object":7}',
        b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"a"},"x":' + b"[" * 100_000,
        b'{"type":"ADDED","object":{"metadata":{"name":"a"},"x":' + b"[" * 99_999 + b"]" * 99_999 + b"}}",
        b"[1,2]",
    ],
)
def test_a_line_that_cannot_be_read_is_an_error_event(text: bytes) -> None:
    error_of(decode_event(text, PODS))


def test_metadata_that_does_not_fit_is_read_untyped() -> None:
    obj = pod()
    obj["metadata"]["labels"] = {"a": None, "b": "c"}
    event = decode_event(line("MODIFIED", obj), PODS)
    assert event.obj.metadata.labels == {"a": "", "b": "c"}
    assert json.loads(event.obj.raw) == obj


def test_metadata_that_cannot_be_read_at_all_is_quarantined_by_key() -> None:
    obj = pod()
    obj["metadata"]["finalizers"] = 7
    assert error_of(decode_event(line("MODIFIED", obj), PODS)).key == "default/web"


def test_no_message_holds_the_body() -> None:
    text = b'{"type":"ADDED","object":{"metadata":{"name":"a"},"data":{"password":"aHVudGVyMg=="}'
    assert "aHVudGVyMg" not in str(error_of(decode_event(text, PODS)))


@pytest.mark.parametrize(
    ("annotations", "ends"),
    [
        ({}, False),
        (None, False),
        ({"k8s.io/initial-events-end": "true"}, True),
        ({"k8s.io/initial-events-end": "false"}, False),
    ],
)
def test_a_bookmark_has_a_version_and_may_end_the_initial_events(annotations: Any, ends: bool) -> None:
    meta = {"resourceVersion": "12", "creationTimestamp": None, "annotations": annotations}
    obj = {"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": {"containers": None}}
    event = decode_event(line("BOOKMARK", obj), PODS)
    assert event == WatchEvent(EventType.BOOKMARK, version="12", ends_initial_events=ends)


def test_an_error_event_has_the_error_of_its_status() -> None:
    event = decode_event(line("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}), PODS)
    assert event.type is EventType.ERROR
    assert isinstance(event.error, ExpiredError)


@pytest.mark.parametrize("obj", [None, 7, {}, [], {"kind": "Pod"}])
def test_an_error_event_without_a_status_is_still_the_servers_word(obj: Any) -> None:
    event = decode_event(line("ERROR", obj), PODS)
    assert isinstance(event.error, ApiError)
    assert obj == {} or obj == {"kind": "Pod"} or isinstance(event.error, ServerError)


def test_the_end_completes_a_last_line_that_is_whole_and_drops_one_that_is_not() -> None:
    decoder = WatchDecoder(PODS)
    assert decoder.feed(line("ADDED", pod())) == []
    assert [event.type for event in decoder.finish()] == [EventType.ADDED]
    decoder.feed(line("ADDED", pod())[:-5])
    assert decoder.finish() == []
    assert decoder.finish() == []


def test_blank_lines_are_no_events() -> None:
    assert WatchDecoder(PODS).feed(b"\n\r\n  \n") == []


STREAM = b"".join(
    part + b"\n"
    for part in (
        line("ADDED", pod("a", "1", spec={"text": "\u0085 \\n"})),
        b"garbage",
        line("MODIFIED", pod("a", "2")),
        json.dumps({"type": "MODIFIED", "object": pod("a", "3")}).encode(),
        line("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "4"}}),
        line("DELETED", pod("a", "5") | {"kind": "Node"}),
        b"",
        line("DELETED", pod("a", "5")),
        line("ERROR", {"kind": "Status", "code": 410}),
    )
) + line("ADDED", pod("last", "6"))


def told(events: list[WatchEvent]) -> list[tuple[Any, ...]]:
    return [
        (event.type, event.version, event.record and event.record.raw, str(event.error)) for event in events
    ]


@given(cuts=st.lists(st.integers(0, len(STREAM)), max_size=40))
@settings(max_examples=200, deadline=None)
def test_however_the_stream_is_cut_the_events_are_the_same(cuts: list[int]) -> None:
    whole = WatchDecoder(PODS)
    expected = told([*whole.feed(STREAM), *whole.finish()])
    assert len(expected) == 9
    bounds = [0, *sorted(cuts), len(STREAM)]
    decoder = WatchDecoder(PODS)
    events = [event for start, end in pairwise(bounds) for event in decoder.feed(STREAM[start:end])]
    assert told([*events, *decoder.finish()]) == expected


@given(line=st.binary(max_size=60))
def test_no_bytes_break_the_decoder(line: bytes) -> None:
    event = decode_event(b'{"type":"ADDED","object":' + line + b"}", PODS)
    assert event.error is None or isinstance(event.error, DecodeError)


def page(*items: Any, **meta: Any) -> bytes:
    return json.dumps(
        {"kind": "PodList", "apiVersion": "v1", "metadata": meta, "items": list(items)}
    ).encode()


def test_a_list_gives_objects_that_own_their_bytes() -> None:
    obj = pod()
    del obj["kind"], obj["apiVersion"]
    found = decode_list(page(obj, pod("b"), resourceVersion="9"), PODS)
    assert [str(item.key) for item in found.items] == ["default/web", "default/b"]
    assert (found.version, found.continue_token, found.remaining, found.rejected) == ("9", "", None, ())
    assert found.items[0].raw == json.dumps(obj).encode()
    assert type(found.items[0].raw) is bytes


def test_a_page_says_how_it_goes_on() -> None:
    found = decode_list(page(pod(), resourceVersion="9", **{"continue": "t", "remainingItemCount": 3}), PODS)
    assert (found.continue_token, found.remaining) == ("t", 3)


def test_bad_items_are_rejected_with_their_keys_and_the_rest_is_whole() -> None:
    bad = pod("bad")
    bad["metadata"]["generation"] = "x"
    found = decode_list(page(pod("a"), bad, 7, pod("foreign") | {"kind": "Node"}, pod("z")), PODS)
    assert [item.key.name for item in found.items] == ["a", "z"]
    assert [error.key for error in found.rejected] == ["default/bad", "", "default/foreign"]


@pytest.mark.parametrize("items", [b"null", b"[]"])
def test_an_empty_list_may_be_null(items: bytes) -> None:
    assert (
        decode_list(b'{"kind":"PodList","metadata":{"continue":null},"items":%s}' % items, PODS).items == ()
    )


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (b"", "cannot be read"),
        (b"<html>", "cannot be read"),
        (b'{"kind":"PodList","items":[', "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        (b'{"kind":"PodList","items":{}}', "cannot be read"),
        (b'{"kind":"Table","items":[]}', "as a Table"),
        (b'{"kind":"Table","rows":[]}', "as a Table"),
        (b'{"kind":"Status","status":"Success"}', "found Status without items"),
        (b"{}", "found something without items"),
    ],
)
def test_what_is_no_list_is_refused(body: bytes, match: str) -> None:
    with pytest.raises(DecodeError, match=match):
        decode_list(body, PODS)


def test_one_object_may_lack_its_kind_but_not_have_another() -> None:
    assert decode_record(b'{"metadata":{"name":"a"}}', PODS).key == ObjectKey("", "a")
    with pytest.raises(DecodeError, match="expected Pod of v1, found Status of v1"):
        decode_record(b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}', PODS)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}', True),
        (b'{"kind":"Status","apiVersion":"example.dev/v1","metadata":{"name":"a"}}', False),
        (b'{"kind":"Pod","apiVersion":"v1"}', False),
        (b"[]", False),
        (b"", False),
    ],
)
def test_a_status_is_told_by_its_kind(body: bytes, expected: bool) -> None:
    assert is_status(body) is expected
