import msgspec
import pytest

from kinformer.apiserver.http._about import about

PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz", "/readyz/ping"])
def test_it_is_healthy_d_8(path: str) -> None:
    reply = about(path, "")
    assert reply is not None
    assert (reply.status_code, reply.body) == (200, b"ok")
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"


def test_the_version_is_plain_digits_d_7() -> None:
    reply = about("/version", "")
    assert reply is not None
    version = msgspec.json.decode(reply.body)
    assert version["major"].isdigit()
    assert version["minor"].isdigit()
    assert version["gitVersion"].startswith(f"v{version['major']}.{version['minor']}.")
    assert all(isinstance(value, str) for value in version.values())


def test_the_protobuf_openapi_is_valid_and_empty_d_9() -> None:
    reply = about("/openapi/v2", PROTOBUF)
    assert reply is not None
    assert (reply.status_code, reply.body) == (200, b"")
    assert reply.headers["content-type"] == "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"


def test_the_json_openapi_has_no_definitions_yet_d_9() -> None:
    for path, member in (("/openapi/v2", "definitions"), ("/openapi/v3", "paths")):
        reply = about(path, "application/json")
        assert reply is not None
        assert msgspec.json.decode(reply.body)[member] == {}


def test_the_root_lists_what_there_is_and_the_rest_is_nothing() -> None:
    root = about("/", "")
    assert root is not None
    assert "/version" in msgspec.json.decode(root.body)["paths"]
    assert about("/metrics", "") is None
