"""StatusError: how the server says no; one function for each way.

The texts and reasons are those of ``apimachinery/pkg/api/errors`` and ``apimachinery/pkg/util/validation/field``,
since clients match on both.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol

__all__ = [
    "FieldProblem",
    "Named",
    "StatusError",
    "already_exists",
    "bad_request",
    "conflict",
    "expired",
    "forbidden",
    "future_version",
    "invalid",
    "invalid_options",
    "method_not_allowed",
    "not_found",
    "printed",
    "too_many_requests",
    "unprocessable",
]


class Named(Protocol):
    """What an error must know of a resource."""

    @property
    def group(self) -> str:
        """The API group, ``""`` for core."""

    @property
    def plural(self) -> str:
        """The plural name."""

    @property
    def kind(self) -> str:
        """The kind."""


class StatusError(Exception):
    """A ``Status`` with ``status: Failure``, raised by the verbs and written down by the HTTP layer.

    Attributes:
        code: The HTTP status code.
        reason: The machine-readable reason; ``""`` for the few errors without one.
        message: The sentence for people.
        details: ``details`` of the Status without ``retryAfterSeconds``; ``None`` leaves it out.
        retry_after: Whole seconds after which a repetition makes sense, or ``None``. Clients repeat when it is there.
        continue_token: A token that goes on where an expired one could not; ``""`` for every other error.
    """

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
        continue_token: str = "",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after
        self.continue_token = continue_token

    def to_status(self) -> dict[str, Any]:
        """The ``Status`` object, as it goes into a body or into an ERROR event."""
        metadata = {"continue": self.continue_token} if self.continue_token else {}
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        details = self.details
        if self.retry_after is not None:
            details = {**(details or {}), "retryAfterSeconds": self.retry_after}
        if details is not None:
            status["details"] = details
        return {**status, "code": self.code}


class FieldProblem(NamedTuple):
    """One thing that is wrong with one field: a cause of a 422.

    ``reason`` is the cause's type such as ``FieldValueInvalid``, ``text`` its message without the field.
    """

    field: str
    reason: str
    text: str

    @classmethod
    def required(cls, field: str, detail: str = "") -> "FieldProblem":
        """The field is missing."""
        return cls(field, "FieldValueRequired", f"Required value{': ' + detail if detail else ''}")

    @classmethod
    def invalid(cls, field: str, value: Any, detail: str) -> "FieldProblem":
        """The value is not one that the field can have."""
        return cls(field, "FieldValueInvalid", f"Invalid value: {printed(value)}: {detail}")

    @classmethod
    def wrong_type(cls, field: str, value: Any, detail: str) -> "FieldProblem":
        """The value is of another JSON type."""
        return cls(field, "FieldValueTypeInvalid", f"Invalid value: {printed(value)}: {detail}")

    @classmethod
    def unsupported(cls, field: str, value: Any, supported: Iterable[Any]) -> "FieldProblem":
        """The value is not among those that are allowed."""
        allowed = ", ".join(printed(item) for item in supported)
        return cls(
            field,
            "FieldValueNotSupported",
            f"Unsupported value: {printed(value)}: supported values: {allowed}",
        )

    @classmethod
    def duplicate(cls, field: str, value: Any) -> "FieldProblem":
        """The value occurs twice where it must be unique."""
        return cls(field, "FieldValueDuplicate", f"Duplicate value: {printed(value)}")

    @classmethod
    def forbidden(cls, field: str, detail: str) -> "FieldProblem":
        """The field may not be set here."""
        return cls(field, "FieldValueForbidden", f"Forbidden: {detail}")

    @classmethod
    def too_long(cls, field: str, most: int) -> "FieldProblem":
        """The text is too long."""
        return cls(field, "FieldValueTooLong", f"Too long: may not be more than {most} bytes")

    @classmethod
    def too_many(cls, field: str, count: int, most: int) -> "FieldProblem":
        """The list or map has too many members."""
        return cls(field, "FieldValueTooMany", f"Too many: {count}: must have at most {most} items")

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


def printed(value: Any) -> str:
    """A value as messages quote it: JSON, without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def not_found(resource: Named, name: str) -> StatusError:
    """404: there is no object of that name."""
    return StatusError(
        404, "NotFound", f'{_qualified(resource)} "{name}" not found', details=_details(resource, name)
    )


def already_exists(resource: Named, name: str, *, is_deleting: bool = False) -> StatusError:
    """409: an object of that name exists, perhaps one that is on its way out."""
    prefix = "object is being deleted: " if is_deleting else ""
    message = f'{prefix}{_qualified(resource)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_details(resource, name))


def conflict(resource: Named, name: str, text: str, *, subject: str = "") -> StatusError:
    """409: the object is no longer what the client believes.

    ``subject`` replaces the resource's name in the message: preconditions of a delete name the kind.
    """
    message = f'Operation cannot be fulfilled on {subject or _qualified(resource)} "{name}": {text}'
    return StatusError(409, "Conflict", message, details=_details(resource, name))


def forbidden(resource: Named, name: str, text: str, *, causes: Sequence[dict[str, str]] = ()) -> StatusError:
    """403: a rule of the server forbids it."""
    details = _details(resource, name)
    if causes:
        details["causes"] = list(causes)
    return StatusError(
        403, "Forbidden", f'{_qualified(resource)} "{name}" is forbidden: {text}', details=details
    )


def invalid(resource: Named, name: str, problems: Sequence[FieldProblem]) -> StatusError:
    """422: the object breaks a rule; each problem becomes a cause. ``details.kind`` is the kind here."""
    return _invalid(resource.group, resource.kind, name, problems)


def invalid_options(kind: str, problems: Sequence[FieldProblem]) -> StatusError:
    """422: the parameters of the request break a rule; ``kind`` is such as ``ListOptions``."""
    return _invalid("meta.k8s.io", kind, "", problems)


def bad_request(message: str) -> StatusError:
    """400: the request itself is wrong."""
    return StatusError(400, "BadRequest", message)


def unprocessable() -> StatusError:
    """422 without a field: a JSON patch that does not apply."""
    message = "the server rejected our request due to an error in our request"
    return StatusError(422, "Invalid", message, details={})


def method_not_allowed(resource: Named, verb: str, *, is_custom: bool) -> StatusError:
    """405: the resource has no such verb; custom resources and built-in kinds say it differently."""
    if not is_custom:
        message = "the server does not allow this method on the requested resource"
        return StatusError(405, "MethodNotAllowed", message, details={})
    message = f'{verb} is not supported on resources of kind "{_qualified(resource)}"'
    return StatusError(405, "MethodNotAllowed", message, details=_details(resource, ""))


def expired(message: str, *, continue_token: str = "") -> StatusError:
    """410: the version or the continue token is older than what is remembered."""
    return StatusError(410, "Expired", message, continue_token=continue_token)


def future_version(asked: int, current: int) -> StatusError:
    """504: the version that was demanded has not come up within the waiting time (rule L-9)."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {asked}, current: {current}"
    return StatusError(504, "Timeout", message, details={"causes": [cause]}, retry_after=1)


def too_many_requests(message: str, retry_after: int) -> StatusError:
    """429: come again after so many seconds."""
    return StatusError(429, "TooManyRequests", message, details={}, retry_after=retry_after)


def _qualified(resource: Named) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _details(resource: Named, name: str) -> dict[str, Any]:
    members = {"name": name, "group": resource.group, "kind": resource.plural}
    return {key: value for key, value in members.items() if value}


def _invalid(group: str, kind: str, name: str, problems: Sequence[FieldProblem]) -> StatusError:
    texts = [str(problem) for problem in problems]
    text = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    qualified = f"{kind}.{group}" if group else kind
    members = {"name": name, "group": group, "kind": kind}
    details: dict[str, Any] = {key: value for key, value in members.items() if value}
    details["causes"] = [
        {"reason": problem.reason, "message": problem.text, "field": problem.field} for problem in problems
    ]
    return StatusError(422, "Invalid", f'{qualified} "{name}" is invalid: {text}', details=details)
