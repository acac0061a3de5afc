from typing import Any

import pytest

from kinformer.apiserver.http._bodies import decode_object, decode_patch, patch_kind
from kinformer.apiserver.registry import StatusError
from kinformer.apiserver.rest import PatchKind


@pytest.mark.parametrize(
    ("content_type", "body", "content"),
    [
        ("", b'{"a":1}', {"a": 1}),
        ("application/json; charset=utf-8", b' {"a":1} ', {"a": 1}),
        ("application/yaml", b'{"a":1}', {"a": 1}),
        ("application/yaml", b"a: 1\nb: [x, y]\n", {"a": 1, "b": ["x", "y"]}),
        ("application/yaml", b"since: 2026-01-01T00:00:00Z\n", {"since": "2026-01-01T00:00:00Z"}),
        ("application/yaml", b"on: 1\n5: x\n", {"true": 1, "5": "x"}),
        ("Application/YAML", b"a: {b: null}\n", {"a": {"b": None}}),
    ],
)
def test_an_object_is_read(content_type: str, body: bytes, content: dict[str, Any]) -> None:
    assert decode_object(content_type, body) == content


@pytest.mark.parametrize(
    ("content_type", "body", "text"),
    [
        ("", b"", "JSON"),
        ("", b"{", "JSON"),
        ("", b"a: 1", "JSON"),
        ("", b"[1]", "not a list"),
        ("", b'"x"', "not a text"),
        ("", b"null", "not null"),
        ("", b"true", "not a boolean"),
        ("", b"5", "not a number"),
        ("application/yaml", b"a: [", "YAML"),
        ("application/yaml", b"- a", "not a list"),
        ("application/yaml", b"\xff\xfe\xff", "YAML"),
        ("application/yaml", b"a: !!python/object:os.system {}", "YAML"),
        ("application/yaml", b"a: &x [*x]", "YAML"),
    ],
)
def test_what_is_no_object_is_a_400_that_says_why(content_type: str, body: bytes, text: str) -> None:
    with pytest.raises(StatusError, match=text) as caught:
        decode_object(content_type, body)
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("body", "code"), [(b"k8s\x00\n\x0b\n\x02v1\x12\x05Proxy", 415), (b"k8s\x00\x0a\x7f", 400), (b"{}", 400)]
)
def test_protobuf_of_another_kind_is_a_415_and_what_is_broken_a_400_h_9(body: bytes, code: int) -> None:
    with pytest.raises(StatusError) as refusal:
        decode_object("application/vnd.kubernetes.protobuf", body)
    assert refusal.value.code == code


@pytest.mark.parametrize("kind", list(PatchKind))
def test_built_in_kinds_take_every_patch_h_9(kind: PatchKind) -> None:
    assert patch_kind(f"{kind.value}; charset=utf-8", is_custom=False) is kind


def test_custom_resources_take_every_patch_but_the_strategic_h_9() -> None:
    assert patch_kind(PatchKind.APPLY.value, is_custom=True) is PatchKind.APPLY
    with pytest.raises(StatusError, match="unknown format") as caught:
        patch_kind(PatchKind.STRATEGIC.value, is_custom=True)
    assert caught.value.code == 415


@pytest.mark.parametrize(
    ("kind", "body", "patch"),
    [
        (PatchKind.JSON, b'[{"op":"test"}]', [{"op": "test"}]),
        (PatchKind.MERGE, b'{"a":null}', {"a": None}),
        (PatchKind.STRATEGIC, b'{"a":1}', {"a": 1}),
        (PatchKind.APPLY, b"a: 1", {"a": 1}),
        (PatchKind.APPLY, b'{"a":1}', {"a": 1}),
    ],
)
def test_a_patch_is_read(kind: PatchKind, body: bytes, patch: Any) -> None:
    assert decode_patch(kind, body) == patch


@pytest.mark.parametrize(
    ("kind", "body"),
    [(PatchKind.JSON, b"{}"), (PatchKind.MERGE, b"[]"), (PatchKind.APPLY, b"[]"), (PatchKind.MERGE, b"a: 1")],
)
def test_a_patch_of_another_shape_is_a_400(kind: PatchKind, body: bytes) -> None:
    with pytest.raises(StatusError) as caught:
        decode_patch(kind, body)
    assert caught.value.code == 400
