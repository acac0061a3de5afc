"""Bodies: how large they may be, what they may be written in, and what is in them (rules H-2, H-9)."""

from functools import cache
from typing import Any, Final

import msgspec
from starlette.requests import Request

from kinformer.apiserver.http._protobuf import decode_protobuf
from kinformer.apiserver.registry import StatusError, bad_request
from kinformer.apiserver.rest import PatchKind

__all__ = ["BODY_LIMIT", "decode_object", "decode_patch", "patch_kind", "read_body"]

BODY_LIMIT: Final = 3 * 1024 * 1024
"""Bytes that a body may have; the real server's ``MaxRequestBodyBytes``."""

_JSON: Final = "application/json"
_YAML: Final = "application/yaml"
_BUILTIN_PATCHES: Final = (PatchKind.JSON, PatchKind.MERGE, PatchKind.STRATEGIC, PatchKind.APPLY)
_CUSTOM_PATCHES: Final = (PatchKind.JSON, PatchKind.MERGE, PatchKind.APPLY)


async def read_body(request: Request) -> bytes:
    """The whole body.

    Raises:
        StatusError: 413, it is larger than ``BODY_LIMIT``.
        ClientDisconnect: The client went away before its end.
    """
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_LIMIT:
            raise StatusError(
                413, "RequestEntityTooLarge", f"Request entity too large: limit is {BODY_LIMIT}"
            )
        parts.append(part)
    return b"".join(parts)


def decode_object(content_type: str, body: bytes) -> dict[str, Any]:
    """Read a body that must be one object; without a Content-Type it is JSON.

    Raises:
        StatusError: 415 for another media type, or a kind that cannot be read in protobuf, 400 for a body that cannot be read or is no object.
    """
    match _media_type(content_type):
        case "" | "application/json":
            content = _json(body)
        case "application/yaml":
            content = _yaml(body)
        case "application/vnd.kubernetes.protobuf":
            content = _protobuf(body)
        case _:
            raise _unsupported((_JSON, _YAML))
    if not isinstance(content, dict):
        raise bad_request(f"the body must be one object, not {_named(content)}")
    return content


def patch_kind(content_type: str, *, is_custom: bool) -> PatchKind:
    """The format of a patch; custom resources do not know the strategic one.

    Raises:
        StatusError: 415, it is none of those that the resource takes.
    """
    accepted = _CUSTOM_PATCHES if is_custom else _BUILTIN_PATCHES
    media = _media_type(content_type)
    for kind in accepted:
        if kind == media:
            return kind
    raise _unsupported(accepted)


def decode_patch(kind: PatchKind, body: bytes) -> Any:
    """Read a patch: a list of operations for a JSON patch, an object for the others; an apply may be YAML.

    Raises:
        StatusError: 400, it cannot be read, or is of another shape.
    """
    patch = _yaml(body) if kind is PatchKind.APPLY else _json(body)
    shape = list if kind is PatchKind.JSON else dict
    if not isinstance(patch, shape):
        wanted = "a list of operations" if shape is list else "an object"
        raise bad_request(f"a patch of type {kind.value} must be {wanted}, not {_named(patch)}")
    return patch


def _media_type(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


def _json(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise bad_request(f"the body cannot be read as JSON: {error}") from error
    except RecursionError as error:
        raise bad_request("the body cannot be read as JSON: it is nested too deeply") from error


def _protobuf(body: bytes) -> Any:
    try:
        content = decode_protobuf(body)
    except (ValueError, OverflowError, OSError) as error:
        raise bad_request(f"the body cannot be read as protobuf: {error}") from error
    if content is None:
        raise _unsupported((_JSON, _YAML))
    return content


def _yaml(body: bytes) -> Any:
    """YAML, of which JSON is a part; what JSON could not hold is refused, keys become text."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass  # then it is YAML proper
    import yaml  # costs 20 ms, and most bodies are JSON

    try:
        content = yaml.load(body, Loader=_loader())  # noqa: S506 -- a SafeLoader
        return msgspec.json.decode(msgspec.json.encode(_with_text_keys(content)))
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, ValueError, RecursionError) as error:
        raise bad_request(f"the body cannot be read as YAML: {error}") from error


def _with_text_keys(value: Any) -> Any:
    """The value with its keys as text, as sigs.k8s.io/yaml makes them: the key ``on`` becomes ``"true"``."""
    if isinstance(value, list):
        return [_with_text_keys(item) for item in value]
    if isinstance(value, dict):
        return {
            str(key).lower() if isinstance(key, bool) else str(key): _with_text_keys(item)
            for key, item in value.items()
        }
    return value


@cache
def _loader() -> Any:
    """PyYAML's safe loader, except that timestamps stay text, as they do in Go."""
    import yaml

    class Loader(yaml.SafeLoader):
        """See above."""

    Loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    return Loader


def _named(content: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(content), "a number")


def _unsupported(accepted: tuple[str, ...]) -> StatusError:
    return StatusError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted),
    )
