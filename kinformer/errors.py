"""What can go wrong, as one tree.

    KinformerError
        RequestError                     a request got no usable answer
            TransportError               no answer: refused, reset, timed out
            DecodeError                  an answer that cannot be read
            ApiError                     the server said no (code, reason, message, retry_after, ...)
                BadRequestError          400: the request itself is wrong
                UnauthorizedError        401: the credentials are missing or not accepted
                ForbiddenError           403: the credentials are fine, the permission is missing
                NotFoundError            404: no such object, or no such resource
                MethodNotAllowedError    405: the resource does not offer this verb
                ConflictError            409: the object has changed, or a field has another owner
                    AlreadyExistsError   409: an object of this name exists
                ExpiredError             410: the resource version or continue token is too old
                InvalidError             422: the object breaks its schema or a rule
                ThrottledError           429: too many requests
                ServerError              5xx: the server failed
                    FutureVersionError   504: the resource version is newer than the server's
        NoMatchError                     the server serves no resource of that name or kind
        AmbiguousError                   it serves several, and which one is meant is not said (candidates)
        ConfigError                      no way to reach a cluster could be made of the configuration
        NotSyncedError                   asked of a cache before its first list
        InconsistencyError               a snapshot is not what the server says it was
        ClosedError                      used after it was closed
        LeadershipLostError              the lease went to someone else
        MembershipLostError              the others may think that we are gone
        TerminalError                    a reconciler's word for: trying again will not help

Which answer becomes which class is decided in one table, ``kinformer.client._status``. A caller's mistake is not
in this tree: it raises ``TypeError``, ``ValueError``, ``LookupError`` or ``RuntimeError`` at once. A wait that ran
out of time raises the built-in ``TimeoutError``.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

__all__ = [
    "AlreadyExistsError",
    "AmbiguousError",
    "ApiError",
    "BadRequestError",
    "ClosedError",
    "ConfigError",
    "ConflictError",
    "DecodeError",
    "ExpiredError",
    "ForbiddenError",
    "FutureVersionError",
    "InconsistencyError",
    "InvalidError",
    "KinformerError",
    "LeadershipLostError",
    "MembershipLostError",
    "MethodNotAllowedError",
    "NoMatchError",
    "NotFoundError",
    "NotSyncedError",
    "RequestError",
    "ServerError",
    "TerminalError",
    "ThrottledError",
    "TransportError",
    "UnauthorizedError",
]


_CAUSES: Final = 3
_CAUSE: Final = 200
"""How many causes a message has, and how many letters of each."""


class KinformerError(Exception):
    """The root of everything that kinformer raises by itself."""


class RequestError(KinformerError):
    """A request got no usable answer."""


class TransportError(RequestError):
    """No answer came: the connection was refused or reset, or time ran out.

    Attributes:
        refused: Whether the connection was refused, so that certainly nothing was done.
        lasting: Whether it stays so until somebody sees to it: a certificate that is not accepted, or a proxy that wants a
            user and a password.
    """

    def __init__(self, message: str, *, refused: bool = False, lasting: bool = False) -> None:
        super().__init__(message)
        self.refused = refused
        self.lasting = lasting

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), refused=self.refused, lasting=self.lasting), self.args


class DecodeError(RequestError):
    """An answer, or one object in it, cannot be read.

    Attributes:
        key: ``namespace/name`` of the object where it could be told, else ``""``.
    """

    def __init__(self, message: str, *, key: str = "") -> None:
        super().__init__(message)
        self.key = key

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), key=self.key), self.args


class ApiError(RequestError):
    """The server said no, with a ``Status`` body.

    Attributes:
        code: The HTTP status code.
        reason: The machine-readable reason, such as ``"NotFound"``; ``""`` where the server gave none.
        message: The server's sentence for people.
        retry_after: Seconds that the server asks to wait, or ``None`` where it does not ask.
        details: The ``details`` of the ``Status``: name, kind, uid, causes. Empty where there are none.
        call: What was asked, such as ``"GET /version"``; ``""`` where that is not known.

    As text it is one line with the call, the message, those causes that the message does not tell, and the code.
    """

    def __init__(
        self,
        code: int,
        reason: str = "",
        message: str = "",
        *,
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
        call: str = "",
    ) -> None:
        said = message or "the server gave no message"
        text = f"{call}{call and ': '}{said}{_causes(message, details)} ({code}{reason and ' '}{reason})"
        super().__init__(" ".join(text.split()))
        self.code = code
        self.reason = reason
        self.message = message
        self.retry_after = retry_after
        self.details: Mapping[str, Any] = details or {}
        self.call = call

    def __reduce__(self) -> tuple[Any, ...]:
        rebuild = partial(
            type(self), retry_after=self.retry_after, details=dict(self.details), call=self.call
        )
        return rebuild, (self.code, self.reason, self.message)


class BadRequestError(ApiError):
    """The request itself is wrong: an unknown parameter value, a body of another kind."""


class UnauthorizedError(ApiError):
    """The credentials are missing or not accepted."""


class ForbiddenError(ApiError):
    """The credentials are fine, the permission is missing."""


class NotFoundError(ApiError):
    """There is no such object, or the server has no such resource."""


class MethodNotAllowedError(ApiError):
    """The resource does not offer this verb."""


class ConflictError(ApiError):
    """The object has changed since it was read, or a field is owned by another manager."""


class AlreadyExistsError(ConflictError):
    """An object of this name exists already."""


class ExpiredError(ApiError):
    """The resource version or the continue token is older than what the server remembers."""


class InvalidError(ApiError):
    """The object breaks its schema or a rule; ``details["causes"]`` names the fields."""


class ThrottledError(ApiError):
    """Too many requests; ``retry_after`` says when to come back, where the server told."""


class ServerError(ApiError):
    """The server failed."""


class FutureVersionError(ServerError):
    """The resource version that was asked for is newer than any that the server has seen."""


class NoMatchError(KinformerError, LookupError):
    """The server serves no resource of that name or kind, now: its definition may be missing, or still to come."""


class AmbiguousError(KinformerError, LookupError):
    """The server serves several resources of that name.

    Attributes:
        candidates: Names that would not be ambiguous, each ``plural.version.group``.
    """

    def __init__(self, message: str, *, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), candidates=self.candidates), self.args


class ConfigError(KinformerError):
    """No way to reach a cluster could be made of the configuration."""


class NotSyncedError(KinformerError):
    """A cache was asked before its first list had arrived."""


class InconsistencyError(KinformerError):
    """A snapshot is not what the server says it was at that version, so that one of the two lost something."""


class ClosedError(KinformerError):
    """Something was used after it had been closed."""


class LeadershipLostError(KinformerError):
    """The lease went to someone else."""


class MembershipLostError(KinformerError):
    """The Lease by which a replica shares keys with others was not renewed in time, so others may have its keys."""


class TerminalError(KinformerError):
    """Raised by a reconciler: trying again will not help, wait for the next event.

    The rule is controller-runtime's ``reconcile.TerminalError``.
    """


def _causes(message: str, details: Mapping[str, Any] | None) -> str:
    """The causes that a message does not tell, for its end; a server may have put anything there."""
    listed = (details or {}).get("causes")
    found = []
    for cause in listed if isinstance(listed, list) else ():
        if isinstance(cause, Mapping):
            parts = [
                part for part in (cause.get("field"), cause.get("message")) if part and isinstance(part, str)
            ]
            if parts and parts[-1] not in message:
                text = ": ".join(parts)
                found.append(text if len(text) <= _CAUSE else f"{text[:_CAUSE]}...")
    more = [f"and {len(found) - _CAUSES} more"] if len(found) > _CAUSES else []
    return "".join(f"; {text}" for text in found[:_CAUSES] + more)
