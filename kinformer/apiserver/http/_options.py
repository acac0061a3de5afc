"""Options: query parameters and DeleteOptions bodies, as the verbs take them (rules W-1, W-16)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from kinformer.apiserver.http._query import Query
from kinformer.apiserver.registry import FieldProblem, bad_request, invalid_options
from kinformer.apiserver.rest import DeleteOptions, ListOptions, Propagation, WriteOptions
from kinformer.meta import FieldSelector, LabelSelector

__all__ = ["Warn", "delete_options", "list_options", "write_options"]

Warn = Callable[[str], None]
"""Takes each warning that the client is to see."""

_POLICIES: Final = ("Foreground", "Background", "Orphan")
_VALIDATIONS: Final = ("", "Ignore", "Warn", "Strict")
_LONGEST_MANAGER: Final = 128


def list_options(query: Query) -> ListOptions:
    """What a list or a watch asks for.

    Raises:
        StatusError: 400, a number or a selector cannot be read.
    """
    try:
        labels = LabelSelector.parse(query.text("labelSelector"))
        fields = FieldSelector.parse(query.text("fieldSelector"))
    except ValueError as error:
        raise bad_request(str(error)) from error
    return ListOptions(
        version=query.text("resourceVersion"),
        version_match=query.text("resourceVersionMatch"),
        limit=query.number("limit") or 0,
        continue_token=query.text("continue"),
        labels=labels,
        fields=fields,
    )


def write_options(kind: str, query: Query, *, user_agent: str, warn: Warn) -> WriteOptions:
    """How to create, update or patch; ``kind`` is such as ``CreateOptions``, for messages.

    Raises:
        StatusError: 422, one of them has a value that it cannot have.
    """
    problems = [*_manager_problems(query.text("fieldManager"))]
    if (validation := query.text("fieldValidation")) not in _VALIDATIONS:
        problems.append(FieldProblem.unsupported("fieldValidation", validation, _VALIDATIONS))
    if problems:
        raise invalid_options(kind, problems)
    return WriteOptions(
        dry_run=_dry_run(kind, query.all("dryRun")),
        field_manager=query.text("fieldManager"),
        user_agent=user_agent,
        force=query.flag("force"),
        field_validation=validation,
        warn=warn,
    )


def delete_options(query: Query, body: Mapping[str, Any] | None, *, warn: Warn) -> DeleteOptions:
    """How to delete: a body, even an empty object, makes the query be ignored.

    Args:
        query: The parameters.
        body: The body; ``None`` where there was none.
        warn: Takes warnings.

    Raises:
        StatusError: 400 for a field of the wrong type, 422 for a value that is not allowed.
    """
    if body is None:
        body = _query_as_body(query)
    preconditions = _typed(body, "preconditions", dict) or {}
    return DeleteOptions(
        propagation=_propagation(
            _typed(body, "propagationPolicy", str), _typed(body, "orphanDependents", bool)
        ),
        grace_period=_typed(body, "gracePeriodSeconds", int),
        uid=_typed(preconditions, "uid", str) or "",
        version=_typed(preconditions, "resourceVersion", str) or "",
        dry_run=_dry_run("DeleteOptions", _typed(body, "dryRun", list) or ()),
        warn=warn,
    )


def _manager_problems(name: str) -> Iterator[FieldProblem]:
    if len(name.encode()) > _LONGEST_MANAGER:
        yield FieldProblem.too_long("fieldManager", _LONGEST_MANAGER)
    if not name.isprintable():
        text = "should only contain printable characters"
        yield FieldProblem.invalid("fieldManager", name, text)


def _query_as_body(query: Query) -> Mapping[str, Any]:
    return {
        "propagationPolicy": query.text("propagationPolicy") or None,
        "orphanDependents": query.flag("orphanDependents"),
        "gracePeriodSeconds": query.number("gracePeriodSeconds"),
        "dryRun": list(query.all("dryRun")),
    }


def _typed(body: Mapping[str, Any], name: str, kind: type) -> Any:
    value = body.get(name)
    if value is None or type(value) is kind:
        return value
    raise bad_request(
        f"DeleteOptions: the field {name} cannot be {value!r}: it must be of type {kind.__name__}"
    )


def _propagation(policy: str | None, orphan: bool | None) -> Propagation | None:
    if policy and orphan is not None:
        problem = FieldProblem.invalid(
            "propagationPolicy", policy, "orphanDependents and deletionPropagation cannot be both set"
        )
        raise invalid_options("DeleteOptions", [problem])
    if orphan is not None:
        return "Orphan" if orphan else "Background"
    if not policy:
        return None
    if policy not in _POLICIES:
        raise invalid_options(
            "DeleteOptions", [FieldProblem.unsupported("propagationPolicy", policy, [*_POLICIES, "nil"])]
        )
    return cast("Propagation", policy)  # it is one of the three, as just tested


def _dry_run(kind: str, values: Sequence[Any]) -> bool:
    """Whether ``dryRun=All`` is among the parameters; the empty text asks for nothing."""
    given = [value for value in values if value]
    if any(value != "All" for value in given):
        raise invalid_options(kind, [FieldProblem.unsupported("dryRun", given, ["All"])])
    return bool(given)
