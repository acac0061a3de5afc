"""Objects: the record that a cache keeps, and the handle that people hold.

A record is the JSON as received and its decoded metadata; it is immutable, small, and costs the garbage collector
nothing. A handle (``Object``) is made when somebody asks; the body that it decodes lives and dies with it.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeAlias, TypeVar, get_origin

import msgspec

from kinformer.errors import DecodeError
from kinformer.meta._frozen import FrozenDict, frozen_dict
from kinformer.meta._keys import ObjectKey
from kinformer.meta._metadata import ObjectMeta, decode_metadata
from kinformer.meta._openapi_models import is_openapi_model, openapi_decoder
from kinformer.meta._resources import Resource

__all__ = ["Object", "Pack", "Packing", "Record", "check_model"]

T = TypeVar("T")
_MISSING: Final = object()


class Packing(Protocol):
    """How a cache has packed the bytes of a record."""

    def unpack(self, held: bytes, /) -> bytes:
        """The JSON that was packed, from any thread."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """One object as caches, queues and buffers hold it.

    ``raw`` is the JSON. Records compare by what they hold, so one that is packed differs from one that is not.
    """

    resource: Resource
    key: ObjectKey
    metadata: ObjectMeta
    held: bytes
    """The JSON, or what ``packing`` has made of it."""
    packing: Packing | None = None

    @property
    def raw(self) -> bytes:
        """The JSON; unpacked at each access where it is packed."""
        return self.held if self.packing is None else self.packing.unpack(self.held)

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        return type(self), (
            self.resource,
            self.key,
            self.metadata,
            self.raw,
        )  # a copy need not know the packing

    @classmethod
    def decode(cls, raw: bytes, resource: Resource) -> Self:
        """Make a record of an object's JSON, decoding its metadata only.

        Raises:
            DecodeError: See ``decode_metadata``.
        """
        metadata = decode_metadata(raw)
        return cls(resource, metadata.key, metadata, raw)


Pack: TypeAlias = Callable[[Record], Record]
"""Gives a record of the same object that has fewer bytes; one that is packed already stays as it is."""


class Object:
    """A read-only handle on one Kubernetes object.

    ``obj["spec"]["replicas"]`` reads, ``obj.at("status", "phase", default=None)`` reads what may be absent,
    ``obj.thaw()`` gives a private copy to change, ``obj.decode(Pod)`` a typed one. The body is decoded on the first
    such call, once for each handle. Not a ``Mapping``: it does not iterate.
    """

    __slots__ = ("_body", "_record")

    __iter__: ClassVar[None] = None

    def __init__(self, record: Record) -> None:
        self._record = record
        self._body: FrozenDict | None = None

    @classmethod
    def from_json(cls, raw: bytes, resource: Resource) -> Self:
        """A handle on an object's JSON.

        Raises:
            DecodeError: See ``decode_metadata``.
        """
        return cls(Record.decode(raw, resource))

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any], resource: Resource) -> Self:
        """A handle on an object given as JSON-like content.

        Raises:
            DecodeError: See ``decode_metadata``.
            TypeError: The content holds what JSON cannot.
            ValueError: The content says that it is of another kind or API version.
        """
        for field, expected in (("kind", resource.kind), ("apiVersion", resource.api_version)):
            if content.get(field, expected) != expected:
                raise ValueError(
                    f"{field} {content[field]!r} is not that of {resource}, which is {expected!r}"
                )
        return cls.from_json(msgspec.json.encode(content), resource)

    @property
    def record(self) -> Record:
        """What a cache keeps of the object."""
        return self._record

    @property
    def raw(self) -> bytes:
        """The JSON as received, after pruning; items of a LIST lack ``kind`` and ``apiVersion``."""
        return self._record.raw

    @property
    def metadata(self) -> ObjectMeta:
        """The decoded metadata; reading it does not decode the body."""
        return self._record.metadata

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return self._record.key

    @property
    def resource(self) -> Resource:
        """The resource under which the object was read."""
        return self._record.resource

    @property
    def kind(self) -> str:
        """The kind, from the resource."""
        return self._record.resource.kind

    @property
    def api_version(self) -> str:
        """The API version, from the resource."""
        return self._record.resource.api_version

    @property
    def body(self) -> FrozenDict:
        """The whole object, read-only, with ``apiVersion`` and ``kind``.

        Raises:
            DecodeError: The body is not valid JSON; metadata alone is checked when an object arrives.
        """
        if self._body is None:
            self._body = frozen_dict(self.thaw())
        return self._body

    def __getitem__(self, key: str) -> Any:
        return self.body[key]

    if not TYPE_CHECKING:  # a type checker sees no such method; at run time the error says what to do

        def __setitem__(self, key, value):  # noqa: ANN001, ANN204 -- not to be seen by a type checker
            self.body[key] = value

    def __contains__(self, key: object) -> bool:
        return key in self.body

    def at(self, *path: str | int, default: Any = _MISSING) -> Any:
        """The value at a path, where each step is a key or an index.

        Without a ``default`` a missing step raises ``KeyError`` or ``IndexError``; with one, the default is returned
        for a missing step, for ``null``, and where something on the way has no such inside.
        """
        value: Any = self.body
        try:
            for step in path:
                value = value[step]
        except (KeyError, IndexError, TypeError):
            if default is _MISSING:
                raise
            return default
        return default if value is None and default is not _MISSING else value

    def thaw(self) -> dict[str, Any]:
        """A fresh, private, mutable copy, with ``apiVersion`` and ``kind`` in it.

        Raises:
            DecodeError: The body is not valid JSON.
        """
        try:
            content = _decode(self.raw)
        except (msgspec.DecodeError, RecursionError) as error:
            raise DecodeError(f"{self.kind} {self.key}: {error}", key=str(self.key)) from error
        identity = {"apiVersion": self.api_version, "kind": self.kind}
        return identity | content | identity  # first in order, and right whatever the bytes say

    def to_json(self) -> bytes:
        """The JSON with ``apiVersion`` and ``kind`` in it, which is what a server takes."""
        raw = self.raw
        if raw.startswith(_beginnings_of(self.resource)) or self._says_what_it_is(raw):
            return raw
        return msgspec.json.encode(self.thaw())

    def _says_what_it_is(self, raw: bytes) -> bool:
        try:
            found = _decode_identity(raw)
        except (msgspec.DecodeError, RecursionError):
            return False
        return (found.kind, found.api_version) == (self.kind, self.api_version)

    def decode(self, model: type[T]) -> T:
        """Decode into a type.

        Args:
            model: A msgspec ``Struct``, a dataclass, a ``TypedDict``, a pydantic model, or a model of kubernetes-asyncio
                or the official client, such as ``V1Pod``.

        Raises:
            DecodeError: The object does not fit the type; the message has the path and the reason.
        """
        if model is Object:
            return self  # type: ignore[return-value]  # the default model is the handle itself
        decode = _decoder_of(model)  # type: ignore[arg-type]  # a type is hashable
        try:
            return decode(self.to_json())  # type: ignore[no-any-return]  # decodes to it
        except DecodeError:
            raise  # of the body, whatever the model
        except (
            Exception
        ) as error:  # a model has code of its own, such as a validator, which may raise anything
            name = getattr(model, "__name__", model)
            raise DecodeError(
                f"{self.kind} {self.key} is no {name}: {str(error) or repr(error)}", key=str(self.key)
            ) from error

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Object):
            return NotImplemented
        mine, theirs = self._record, other._record
        if mine.resource != theirs.resource or mine.metadata != theirs.metadata:
            return False
        return mine.raw == theirs.raw or self.body == other.body

    def __reduce__(self) -> tuple[type[Self], tuple[Record]]:
        return type(self), (self._record,)  # so that a copy, too, is a handle with a body of its own

    def __hash__(self) -> int:
        return hash((self.resource, self.key, self.metadata.uid, self.metadata.resource_version))

    def __repr__(self) -> str:
        return f"<{self.kind} {self.key} @ {self.metadata.resource_version or 'no version'}>"


def check_model(model: object) -> None:
    """Find out whether objects can be decoded into something, before there is one.

    Raises:
        TypeError: They cannot; see ``Object.decode``.
    """
    if model is Object:
        return
    what = (
        f"model={model!r} must be Object, a msgspec Struct, a dataclass, a TypedDict, a pydantic model, or a model of "
        "kubernetes-asyncio or the official client"
    )
    if (
        not isinstance(model, type) and get_origin(model) is None
    ):  # an alias, such as dict[str, int], is no type
        raise TypeError(what)
    try:
        _decoder_of(model)
    except Exception as error:  # the annotations of a model may raise anything
        raise TypeError(f"{what}: {error}") from error


class _Identity(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""


_decode_identity = msgspec.json.Decoder(_Identity).decode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


@cache
def _beginnings_of(resource: Resource) -> tuple[bytes, ...]:
    """How servers begin an object that says what it is."""
    kind, api_version = f'"kind":"{resource.kind}"', f'"apiVersion":"{resource.api_version}"'
    return f"{{{kind},{api_version},".encode(), f"{{{api_version},{kind},".encode()


@cache
def _decoder_of(model: type) -> Any:
    """The function from JSON bytes to ``model``, made once for each type."""
    if is_openapi_model(model):
        return openapi_decoder(model)
    return getattr(model, "model_validate_json", None) or msgspec.json.Decoder(model).decode
