"""Validating a value by an OpenAPI v3 schema: one problem for each thing that is wrong (rule C-9)."""

import ipaddress
import re
import uuid
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final

from kinformer.apiserver.registry._errors import FieldProblem, printed

__all__ = ["validate"]

Schema = Mapping[str, Any]


def validate(value: Any, schema: Schema, path: str = "") -> Iterator[FieldProblem]:
    """Everything that is wrong with a value, in the order of the schema's own structure.

    Args:
        value: Decoded JSON.
        schema: A structural schema; what it does not say is allowed.
        path: Where the value stands, such as ``spec.replicas``; ``""`` is the whole object.
    """
    if value is None and schema.get("nullable"):
        return
    if (problem := _check_type(value, schema, path)) is not None:
        yield problem
        return
    yield from _check_value(value, schema, path)
    if isinstance(value, str):
        yield from _check_text(value, schema, path)
    elif isinstance(value, dict):
        yield from _check_object(value, schema, path)
    elif isinstance(value, list):
        yield from _check_list(value, schema, path)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from _check_number(value, schema, path)
    yield from _check_combinations(value, schema, path)


def _type_of(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case _:
            return "object"


def _check_type(value: Any, schema: Schema, path: str) -> FieldProblem | None:
    found = _type_of(value)
    if schema.get("x-kubernetes-int-or-string"):
        wanted, allowed = "integer,string", {"integer", "string"}
    elif wanted := schema.get("type", ""):
        allowed = {wanted, "integer"} if wanted == "number" else {wanted}
    else:
        return None
    if found in allowed:
        return None
    return FieldProblem.wrong_type(path, found, f'{path} in body must be of type {wanted}: "{found}"')


def _check_value(value: Any, schema: Schema, path: str) -> Iterator[FieldProblem]:
    if "enum" in schema and value not in schema["enum"]:
        yield FieldProblem.unsupported(path, value, schema["enum"])


def _check_text(value: str, schema: Schema, path: str) -> Iterator[FieldProblem]:
    if (most := schema.get("maxLength")) is not None and len(value) > most:
        yield FieldProblem.too_long(path, most)
    if (least := schema.get("minLength")) is not None and len(value) < least:
        yield FieldProblem.invalid(path, value, f"{path} in body should be at least {least} chars long")
    if (pattern := schema.get("pattern")) and not re.search(pattern, value):
        yield FieldProblem.invalid(path, value, f"{path} in body should match '{pattern}'")
    wanted = schema.get("format", "")
    if wanted in _FORMATS and not _has_format(value, wanted):
        yield FieldProblem.invalid(path, value, f'{path} in body must be of type {wanted}: "{value}"')


def _check_number(value: float, schema: Schema, path: str) -> Iterator[FieldProblem]:
    if (least := schema.get("minimum")) is not None:
        if schema.get("exclusiveMinimum") and value <= least:
            yield FieldProblem.invalid(path, value, f"{path} in body should be greater than {least}")
        elif value < least:
            yield FieldProblem.invalid(
                path, value, f"{path} in body should be greater than or equal to {least}"
            )
    if (most := schema.get("maximum")) is not None:
        if schema.get("exclusiveMaximum") and value >= most:
            yield FieldProblem.invalid(path, value, f"{path} in body should be less than {most}")
        elif value > most:
            yield FieldProblem.invalid(path, value, f"{path} in body should be less than or equal to {most}")
    if (factor := schema.get("multipleOf")) and value % factor:
        yield FieldProblem.invalid(path, value, f"{path} in body should be a multiple of {factor}")


def _check_object(value: dict[str, Any], schema: Schema, path: str) -> Iterator[FieldProblem]:
    for key in schema.get("required") or ():
        if key not in value:
            yield FieldProblem.required(_join(path, key))
    count = len(value)
    if (most := schema.get("maxProperties")) is not None and count > most:
        yield FieldProblem.too_many(path, count, most)
    if (least := schema.get("minProperties")) is not None and count < least:
        yield FieldProblem.invalid(path, value, f"{path} in body should have at least {least} properties")
    properties = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for key, item in value.items():
        child = properties.get(key, others)
        if isinstance(child, Mapping):
            yield from validate(item, child, _join(path, key))


def _check_list(value: list[Any], schema: Schema, path: str) -> Iterator[FieldProblem]:
    count = len(value)
    if (most := schema.get("maxItems")) is not None and count > most:
        yield FieldProblem.too_many(path, count, most)
    if (least := schema.get("minItems")) is not None and count < least:
        yield FieldProblem.invalid(path, value, f"{path} in body should have at least {least} items")
    yield from _check_repeats(value, schema, path)
    if items := schema.get("items"):
        for index, item in enumerate(value):
            yield from validate(item, items, f"{path}[{index}]")


def _check_repeats(value: list[Any], schema: Schema, path: str) -> Iterator[FieldProblem]:
    kind = schema.get("x-kubernetes-list-type")
    if kind not in {"set", "map"}:
        return
    keys: Sequence[str] = schema.get("x-kubernetes-list-map-keys") or ()
    seen = set()
    for index, item in enumerate(value):
        identity = item
        if kind == "map":
            if not isinstance(item, dict):
                continue
            identity = {key: item[key] for key in keys if key in item}
        if (text := printed(identity)) in seen:
            yield FieldProblem.duplicate(f"{path}[{index}]", identity)
        seen.add(text)


def _check_combinations(value: Any, schema: Schema, path: str) -> Iterator[FieldProblem]:
    def holds(part: Schema) -> bool:
        return next(validate(value, part, path), None) is None

    for part in schema.get("allOf") or ():
        yield from validate(value, part, path)
    if (parts := schema.get("anyOf")) and not any(map(holds, parts)):
        yield FieldProblem.invalid(path, value, f"{path} in body must validate at least one schema (anyOf)")
    if (parts := schema.get("oneOf")) and sum(map(holds, parts)) != 1:
        yield FieldProblem.invalid(
            path, value, f"{path} in body must validate one and only one schema (oneOf)"
        )
    if (part := schema.get("not")) is not None and holds(part):
        yield FieldProblem.invalid(path, value, f"{path} in body must not validate the schema (not)")


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _has_format(value: str, name: str) -> bool:
    try:
        return _FORMATS[name](value) is not None
    except ValueError:
        return False


def _moment(value: str) -> datetime | None:
    return datetime.fromisoformat(value) if re.match(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d", value) else None


_FORMATS: Final[dict[str, Callable[[str], object]]] = {
    "date": date.fromisoformat,
    "date-time": _moment,
    "datetime": _moment,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "cidr": ipaddress.ip_network,
    "uuid": uuid.UUID,
    "byte": lambda value: b64decode(value, validate=True),
    "email": re.compile(r"[^@\s]+@[^@\s]+").fullmatch,
    "mac": re.compile(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}").fullmatch,
    "hostname": re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*\.?").fullmatch,
    "uri": re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:|/)\S*").fullmatch,
}
"""Those that are checked; every other format is a remark."""
