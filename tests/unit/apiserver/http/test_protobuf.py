import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.apiserver.http._protobuf import KINDS, decode_protobuf


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    parts = []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def chunk(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def body(api_version: str, kind: str, raw: bytes) -> bytes:
    types = chunk(1, api_version) + chunk(2, kind)
    return b"k8s\x00" + chunk(1, types) + chunk(2, raw) + chunk(3, "") + chunk(4, "")


def test_an_access_review_is_read_h_9() -> None:
    attributes = chunk(1, "shop") + chunk(2, "list") + chunk(3, "") + chunk(5, "pods")
    raw = chunk(1, b"") + chunk(2, chunk(1, attributes)) + chunk(3, b"")
    assert decode_protobuf(body("authorization.k8s.io/v1", "SelfSubjectAccessReview", raw)) == {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"namespace": "shop", "verb": "list", "resource": "pods"}},
    }


def test_lists_maps_numbers_and_bytes_are_read() -> None:
    metadata = chunk(1, "a") + chunk(11, chunk(1, "k") + chunk(2, "v")) + chunk(8, number(1, 1))
    secret = chunk(1, metadata) + chunk(2, chunk(1, "x") + chunk(2, b"\xff")) + number(5, 0)
    assert decode_protobuf(body("v1", "Secret", secret)) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "a", "labels": {"k": "v"}, "creationTimestamp": "1970-01-01T00:00:01Z"},
        "data": {"x": "/w=="},
        "immutable": False,
    }
    rule = chunk(1, "get") + chunk(1, "list") + chunk(2, "") + chunk(3, "pods")
    read = decode_protobuf(body("rbac.authorization.k8s.io/v1", "Role", chunk(1, b"") + chunk(2, rule)))
    assert read is not None
    assert read["rules"] == [{"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}]


def test_zeros_count_where_they_say_something_and_numbers_may_be_negative() -> None:
    request = chunk(1, number(7, 0)) + chunk(2, number(4, -1) + number(99, 1))
    assert decode_protobuf(body("v1", "TokenRequest", request)) == {
        "apiVersion": "v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": -1},
    }
    read = decode_protobuf(body("v1", "DeleteOptions", number(1, 0)))
    assert read == {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}


def test_another_kind_is_not_read() -> None:
    assert decode_protobuf(body("apps/v1", "Deployment", b"")) is None
    assert decode_protobuf(body("v1", "ObjectMeta", b"")) is None


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"{}", id="json"),
        pytest.param(b"", id="nothing"),
        pytest.param(body("v1", "Secret", b"\x0a\x05x"), id="an end in a field"),
        pytest.param(body("v1", "Secret", b"\xff" * 11), id="an endless number"),
        pytest.param(body("v1", "Secret", b"\x0b"), id="a group"),
        pytest.param(body("v1", "Secret", number(1, 5)), id="a number for a message"),
        pytest.param(body("v1", "Secret", chunk(5, b"x")), id="bytes for a boolean"),
        pytest.param(body("v1", "Secret", chunk(3, b"\xff")), id="no text"),
    ],
)
def test_what_is_broken_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode_protobuf(raw)


@given(kind=st.sampled_from(KINDS), raw=st.binary(max_size=60))
def test_whatever_comes_is_read_or_refused(kind: str, raw: bytes) -> None:
    try:
        read = decode_protobuf(body("v1", kind, raw))
    except (ValueError, OverflowError, OSError):
        return
    assert read is not None
    assert read["kind"] == kind
