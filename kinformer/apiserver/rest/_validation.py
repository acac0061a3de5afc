"""Validation: what is wrong with an object before it is stored, all at once."""

from collections.abc import Iterator, Mapping
from typing import Any

from kinformer.apiserver.registry import (
    FieldProblem,
    Served,
    check_custom,
    check_definition,
    check_definition_update,
    check_metadata,
    check_metadata_update,
    check_roles,
    check_workloads,
    invalid,
)
from kinformer.apiserver.rest._definitions import is_definition

__all__ = ["check_object"]


def check_object(
    served: Served, subresource: str, old: Mapping[str, Any] | None, new: dict[str, Any]
) -> None:
    """Judge an object that is to be stored, ``old`` being what is stored now.

    What was wrong before and has not changed is let pass (ratcheting), so that an object can outlive a stricter schema.

    Raises:
        StatusError: 422, with a cause for each problem.
    """
    problems = list(_problems(served, subresource, old, new))
    if problems and old is not None:
        tolerated = set(_content_problems(served, subresource, dict(old)))
        problems = [problem for problem in problems if problem not in tolerated]
    if problems:
        raise invalid(served, new["metadata"].get("name", ""), problems)


def _problems(
    served: Served, subresource: str, old: Mapping[str, Any] | None, new: dict[str, Any]
) -> Iterator[FieldProblem]:
    yield from check_metadata(served, new["metadata"])
    if old is not None:
        yield from check_metadata_update(old["metadata"], new["metadata"])
        yield from _immutables(served, old, new)
        if is_definition(served):
            yield from check_definition_update(old, new)
    yield from _content_problems(served, subresource, new)


def _content_problems(served: Served, subresource: str, content: dict[str, Any]) -> Iterator[FieldProblem]:
    if served.is_custom:
        is_status = subresource == "status"
        yield from check_custom(
            served, content, lambda field: (field == "status") is is_status or not served.has_status
        )
    elif is_definition(served):
        yield from check_definition(content)
    else:
        yield from check_roles(served, content)
        yield from check_workloads(served, content)


def _immutables(served: Served, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[FieldProblem]:
    for path in served.traits.immutable:
        before, after = _at(old, path), _at(new, path)
        if before != after:
            yield FieldProblem.invalid(path, after, "field is immutable")
    if served.plural in {"configmaps", "secrets"} and served.group == "" and old.get("immutable"):
        for field in ("immutable", "data", "binaryData"):
            if old.get(field) != new.get(field):
                yield FieldProblem.forbidden(field, "field is immutable when `immutable` is set")


def _at(content: Mapping[str, Any], path: str) -> Any:
    value: Any = content
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
