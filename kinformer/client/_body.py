"""Bodies: what a user hands over, turned into what a server takes, and checked against where it goes."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import msgspec

from kinformer.meta import Object, ObjectKey, OpenApiModel, Resource, openapi_content

__all__ = ["Body", "Dataclass", "EncodedBody", "PydanticModel", "encode_body", "encode_patch"]


class PydanticModel(Protocol):
    """A pydantic model, told by its method."""

    def model_dump_json(self, *, by_alias: bool, exclude_none: bool) -> str:
        """The model as JSON."""


class Dataclass(Protocol):
    """A dataclass, told by its fields."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


Body = Object | Mapping[str, Any] | msgspec.Struct | Dataclass | PydanticModel | OpenApiModel
"""What can be written: a handle, JSON-like content, or a model whose JSON form is that of the object.

A model is written with ``None`` as it encodes it: msgspec sends ``null``, pydantic models and those of
kubernetes-asyncio leave it out.
"""


class EncodedBody(NamedTuple):
    """An object as JSON, and where it says that it belongs; parts that it does not say are ``""``."""

    content: bytes
    key: ObjectKey


class _Metadata(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None


class _Head(msgspec.Struct, rename="camel"):
    kind: str | None = None
    api_version: str | None = None
    metadata: _Metadata | None = None


_decode_head: Final = msgspec.json.Decoder(_Head).decode


def encode_body(body: Body, resource: Resource) -> EncodedBody:
    """Encode an object; ``kind`` and ``apiVersion`` are added where they are missing.

    Raises:
        TypeError: It cannot be encoded as JSON.
        ValueError: It is no object, of another kind, or its name or namespace is no text.
    """
    content = body.to_json() if isinstance(body, Object) else _encode(body)
    if not content.startswith(b"{"):
        raise ValueError(f"a {resource.kind} must be a mapping or a model, not {type(body).__name__}")
    try:
        head = _decode_head(content)
    except msgspec.DecodeError as error:
        raise ValueError(f"this is no {resource.kind}: {error}") from error
    for field, found, expected in (
        ("kind", head.kind, resource.kind),
        ("apiVersion", head.api_version, resource.api_version),
    ):
        if found and found != expected:
            raise ValueError(
                f"{field} is {found!r}, but this client writes {resource}, whose is {expected!r}"
            )
    meta = head.metadata or _Metadata()
    if not (head.kind and head.api_version):
        content = _completed(content, resource)
    return EncodedBody(content, ObjectKey(meta.namespace or "", meta.name or ""))


def encode_patch(patch: Body | Sequence[Mapping[str, Any]], *, is_list: bool) -> bytes:
    """Encode a patch as it is: nothing is added, and only its outermost shape is checked.

    Raises:
        TypeError: It cannot be encoded as JSON.
        ValueError: It is a list where it must not be, or none where it must be.
    """
    content = patch.raw if isinstance(patch, Object) else _encode(patch)
    if not content.startswith(b"[" if is_list else b"{"):
        shape = "a list of operations" if is_list else "a mapping or a model of what changes"
        raise ValueError(f"this kind of patch must be {shape}, not {type(patch).__name__}")
    return content


def _encode(body: object) -> bytes:
    dump = getattr(body, "model_dump_json", None)
    if dump is not None:
        return str(dump(by_alias=True, exclude_none=True)).encode()
    return msgspec.json.encode(dict(body) if isinstance(body, Mapping) else body, enc_hook=openapi_content)


def _completed(content: bytes, resource: Resource) -> bytes:
    fields = msgspec.json.decode(content)
    return msgspec.json.encode(fields | {"apiVersion": resource.api_version, "kind": resource.kind})
