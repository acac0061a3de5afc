"""Protobuf bodies: what kubectl 1.32 and newer writes of the kinds below, read into what JSON would have said (rule H-9).

The field numbers are those of the ``generated.proto`` files of ``k8s.io/api`` and ``k8s.io/apimachinery``.
https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding
"""

import base64
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

__all__ = ["KINDS", "decode_protobuf"]

_MAGIC: Final = b"k8s\x00"

# A message to a line; then number, name and type of each field. Types: s text, i integer, b boolean, y bytes, a message; [x] a list,
# {x} a map from texts, *x one whose zero says something.
_TABLE: Final = """
Unknown: 1 typeMeta TypeMeta, 2 raw y
TypeMeta: 1 apiVersion s, 2 kind s
ObjectMeta: 1 name s, 2 generateName s, 3 namespace s, 5 uid s, 6 resourceVersion s, 7 generation i, 8 creationTimestamp Time, 11 labels {s}, 12 annotations {s}, 13 ownerReferences [OwnerReference], 14 finalizers [s]
OwnerReference: 1 kind s, 3 name s, 4 uid s, 5 apiVersion s, 6 controller *b, 7 blockOwnerDeletion *b
LabelSelector: 1 matchLabels {s}, 2 matchExpressions [LabelSelectorRequirement]
LabelSelectorRequirement: 1 key s, 2 operator s, 3 values [s]
DeleteOptions: 1 gracePeriodSeconds *i, 2 preconditions *Preconditions, 3 orphanDependents *b, 4 propagationPolicy *s, 5 dryRun [s]
Preconditions: 1 uid *s, 2 resourceVersion *s
ConfigMap: 1 metadata ObjectMeta, 2 data {s}, 3 binaryData {y}, 4 immutable *b
Secret: 1 metadata ObjectMeta, 2 data {y}, 3 type s, 4 stringData {s}, 5 immutable *b
ServiceAccount: 1 metadata ObjectMeta, 2 secrets [ObjectReference], 3 imagePullSecrets [LocalObjectReference], 4 automountServiceAccountToken *b
ObjectReference: 1 kind s, 2 namespace s, 3 name s, 4 uid s, 5 apiVersion s, 6 resourceVersion s, 7 fieldPath s
LocalObjectReference: 1 name s
Namespace: 1 metadata ObjectMeta, 2 spec NamespaceSpec
NamespaceSpec: 1 finalizers [s]
Role: 1 metadata ObjectMeta, 2 rules [PolicyRule]
ClusterRole: 1 metadata ObjectMeta, 2 rules [PolicyRule], 3 aggregationRule *AggregationRule
PolicyRule: 1 verbs [s], 2 apiGroups [s], 3 resources [s], 4 resourceNames [s], 5 nonResourceURLs [s]
AggregationRule: 1 clusterRoleSelectors [LabelSelector]
RoleBinding: 1 metadata ObjectMeta, 2 subjects [Subject], 3 roleRef RoleRef
ClusterRoleBinding: 1 metadata ObjectMeta, 2 subjects [Subject], 3 roleRef RoleRef
Subject: 1 kind s, 2 apiGroup s, 3 name s, 4 namespace s
RoleRef: 1 apiGroup s, 2 kind s, 3 name s
TokenRequest: 1 metadata ObjectMeta, 2 spec TokenRequestSpec
TokenRequestSpec: 1 audiences [s], 3 boundObjectRef *BoundObjectReference, 4 expirationSeconds *i
BoundObjectReference: 1 kind s, 2 apiVersion s, 3 name s, 4 uid s
SelfSubjectReview: 1 metadata ObjectMeta
SelfSubjectAccessReview: 1 metadata ObjectMeta, 2 spec SelfSubjectAccessReviewSpec
SelfSubjectAccessReviewSpec: 1 resourceAttributes *ResourceAttributes, 2 nonResourceAttributes *NonResourceAttributes
ResourceAttributes: 1 namespace s, 2 verb s, 3 group s, 4 version s, 5 resource s, 6 subresource s, 7 name s
NonResourceAttributes: 1 path s, 2 verb s
SelfSubjectRulesReview: 1 metadata ObjectMeta, 2 spec SelfSubjectRulesReviewSpec
SelfSubjectRulesReviewSpec: 1 namespace s
"""

KINDS: Final = (
    *("ConfigMap", "Secret", "ServiceAccount", "Namespace", "DeleteOptions"),
    *("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"),
    *("TokenRequest", "SelfSubjectReview", "SelfSubjectAccessReview", "SelfSubjectRulesReview"),
)
"""The kinds that can be read."""


class _Field(NamedTuple):
    """One field of a message; ``shape`` is one of ``""``, ``"["``, ``"{"`` and ``"*"``."""

    name: str
    type: str
    shape: str


def decode_protobuf(body: bytes) -> dict[str, Any] | None:
    """The object in a body; ``None`` where it is of a kind that cannot be read.

    Raises:
        ValueError: It is no such body at all.
    """
    if not body.startswith(_MAGIC):
        raise ValueError("it does not begin with k8s and a zero")
    envelope = _message("Unknown", body[len(_MAGIC) :])
    types = envelope.get("typeMeta") or {}
    if types.get("kind") not in KINDS:
        return None
    return {**types, **_message(types["kind"], base64.b64decode(envelope.get("raw", "")))}


def _parse(table: str) -> Iterator[tuple[str, Mapping[int, _Field]]]:
    for line in table.strip().splitlines():
        message, _, entries = line.partition(": ")
        fields = {}
        for entry in entries.split(", "):
            number, name, kind = entry.split(" ")
            shape = kind[0] if kind[0] in "[{*" else ""
            fields[int(number)] = _Field(name, kind.strip("[]{}*"), shape)
        yield message, fields


_MESSAGES: Final[Mapping[str, Mapping[int, _Field]]] = dict(_parse(_TABLE))


def _message(name: str, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for number, raw in _fields(data):
        field = _MESSAGES[name].get(number)
        if field is None:
            continue  # as for an unknown field of JSON
        if field.shape == "{":
            pair = dict(_fields(_chunk(raw)))
            found.setdefault(field.name, {})[_value("s", pair.get(1, b""))] = _value(
                field.type, pair.get(2, b"")
            )
        elif field.shape == "[":
            found.setdefault(field.name, []).append(_value(field.type, raw))
        elif (value := _value(field.type, raw)) or field.shape == "*":
            found[field.name] = value  # Go writes zeros that JSON leaves out
    return found


def _value(kind: str, raw: int | bytes) -> Any:
    if kind in {"i", "b"}:
        if not isinstance(raw, int):
            raise ValueError("a number is wanted where there are bytes")
        return bool(raw) if kind == "b" else raw - ((raw & 1 << 63) << 1)
    data = _chunk(raw)
    if kind == "s":
        return data.decode()
    if kind == "y":
        return base64.b64encode(data).decode()
    if kind == "Time":
        seconds = dict(_fields(data)).get(1, 0)
        return (
            datetime.fromtimestamp(_value("i", seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            if seconds
            else None
        )
    return _message(kind, data)


def _chunk(raw: int | bytes) -> bytes:
    if not isinstance(raw, bytes):
        raise ValueError("bytes are wanted where there is a number")  # noqa: TRY004 -- the body's fault
    return raw


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message as they come: numbers as they are, anything longer as its bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        match key & 7:
            case 0:
                value, at = _varint(data, at)
                yield key >> 3, value
                continue
            case 1:
                size = 8
            case 2:
                size, at = _varint(data, at)
            case 5:
                size = 4
            case other:
                raise ValueError(f"a field has the wire type {other}")
        if at + size > len(data):
            raise ValueError("it ends in the middle of a field")
        yield key >> 3, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for index, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value & (1 << 64) - 1, at + index + 1
    raise ValueError("a number does not end")
