"""Which answer of a server becomes which error, in one table.

The reasons are ``metav1.StatusReason``. A reason that is known wins over the HTTP code, which proxies change and old
servers got wrong; what has neither is an ``ApiError``.
https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any, Final

import msgspec

from kinformer.errors import (
    AlreadyExistsError,
    ApiError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    ForbiddenError,
    FutureVersionError,
    InvalidError,
    MethodNotAllowedError,
    NotFoundError,
    ServerError,
    ThrottledError,
    UnauthorizedError,
)

__all__ = ["from_response", "from_status"]

_BY_REASON: Final[Mapping[str, type[ApiError]]] = {
    "AlreadyExists": AlreadyExistsError,
    "BadRequest": BadRequestError,
    "Conflict": ConflictError,
    "Expired": ExpiredError,
    "Forbidden": ForbiddenError,
    "Gone": ExpiredError,
    "InternalError": ServerError,
    "Invalid": InvalidError,
    "MethodNotAllowed": MethodNotAllowedError,
    "NotAcceptable": BadRequestError,
    "NotFound": NotFoundError,
    "RequestEntityTooLarge": BadRequestError,
    "ServerTimeout": ServerError,
    "ServiceUnavailable": ServerError,
    "StoreReadError": ServerError,
    "Timeout": ServerError,
    "TooManyRequests": ThrottledError,
    "Unauthorized": UnauthorizedError,
    "UnsupportedMediaType": BadRequestError,
}

_BY_CODE: Final[Mapping[int, type[ApiError]]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    405: MethodNotAllowedError,
    406: BadRequestError,
    409: ConflictError,
    410: ExpiredError,
    413: BadRequestError,
    415: BadRequestError,
    422: InvalidError,
    429: ThrottledError,
}

_TOO_LARGE: Final = "Too large resource version"
_SHOWN: Final = 300
"""How much of a body that is no ``Status`` goes into a message."""


def from_response(
    code: int, body: bytes, headers: Mapping[str, str] | None = None, *, call: str = ""
) -> ApiError:
    """Turn an HTTP answer into the error it means; the body may be a ``Status``, any other text, or nothing.

    Args:
        code: The HTTP status code; a ``Status`` without a code of its own gets this one.
        body: The whole body.
        headers: The response headers, with keys in lower case or found in any case; ``Retry-After`` is read.
        call: What was asked.
    """
    headers = headers or {}
    retry_after = _seconds(headers.get("retry-after", ""), headers.get("date", ""))
    try:
        status = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        status = None
    if not _is_status(status):
        text = " ".join(body[: 4 * _SHOWN].decode(errors="replace").split())
        status = {"message": text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."}
    return from_status(status, code=code, retry_after=retry_after, call=call)


def from_status(
    status: object, *, code: int = 0, retry_after: float | None = None, call: str = ""
) -> ApiError:
    """Turn the content of a ``Status`` object into the error it means.

    Args:
        status: Decoded JSON. Whatever in it has the wrong type counts as absent; what is no JSON object at all is a
            ``ServerError`` of code 500, as an ``ERROR`` event with such an object would be.
        code: The code to take where the status has none.
        retry_after: What the ``Retry-After`` header said, in seconds; it wins over ``details.retryAfterSeconds``.
        call: What was asked.
    """
    if not isinstance(status, Mapping):
        return ServerError(code or 500, "", f"expected a Status, found {type(status).__name__}", call=call)
    own_code = status.get("code")
    code = own_code if isinstance(own_code, int) and own_code > 0 else code
    reason, message = _text(status.get("reason")), _text(status.get("message"))
    details = status.get("details")
    details = details if isinstance(details, Mapping) else {}
    if retry_after is None:
        retry_after = _positive(details.get("retryAfterSeconds"))
    kind = _BY_REASON.get(reason) or _BY_CODE.get(code) or (ServerError if code >= 500 else ApiError)
    if issubclass(kind, ServerError) and _is_too_large(reason, message, details):
        kind = FutureVersionError
    return kind(code, reason, message, retry_after=retry_after, details=details, call=call)


def _is_status(content: object) -> bool:
    return isinstance(content, Mapping) and content.get("kind") == "Status"


def _is_too_large(reason: str, message: str, details: Mapping[str, Any]) -> bool:
    """``apierrors.IsTooLargeResourceVersion`` and the two shapes of older servers."""
    causes = details.get("causes")
    for cause in causes if isinstance(causes, list) else ():
        if isinstance(cause, Mapping):
            if cause.get("reason") == "ResourceVersionTooLarge":
                return True
            if reason == "Timeout" and cause.get("message") == _TOO_LARGE:  # 1.17.0 to 1.18.5
                return True
    return reason == "Timeout" and _TOO_LARGE in message  # before 1.17


def _seconds(value: str, date: str) -> float | None:
    """Read ``Retry-After``: a number of seconds, or a date, which is compared with the answer's own ``Date``."""
    try:
        return _positive(float(value))
    except ValueError:
        pass
    try:
        return _positive((parsedate_to_datetime(value) - parsedate_to_datetime(date)).total_seconds())
    except (ValueError, TypeError, OverflowError):  # the last: a year or a zone that no date has
        return None


def _positive(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return float(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
