"""Token requests: how a service account gets a token (rule R-3).

https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from kinformer.apiserver.auth._tokens import AUDIENCE, Claims, Tokens
from kinformer.apiserver.registry import FieldProblem, bad_request, invalid
from kinformer.meta import Resource

__all__ = ["answer_token_request"]

_REQUESTS: Final = Resource("authentication.k8s.io", "v1", "tokenrequests", "TokenRequest")
_HOUR: Final = 3600
_SHORTEST: Final = 600
_LONGEST: Final = 2**32
"""Seconds that a token lives: by default, at least, and at most."""


def answer_token_request(
    account: Mapping[str, Any], request: Mapping[str, Any], tokens: Tokens, now: datetime
) -> dict[str, Any]:
    """The request with its status filled in.

    Args:
        account: The ServiceAccount.
        request: As it was sent.
        tokens: Signs.
        now: The moment from which the token is good.

    Raises:
        StatusError: 400 for a field of a wrong type, 422 for a value that cannot be had.
    """
    namespace, name = account["metadata"]["namespace"], account["metadata"]["name"]
    spec = request.get("spec") or {}
    if not isinstance(spec, dict):
        raise bad_request("TokenRequest: spec must be an object")
    seconds = spec.get("expirationSeconds")
    seconds = _HOUR if seconds is None else seconds
    audiences = spec.get("audiences") or [AUDIENCE]
    if (
        type(seconds) is not int
        or not isinstance(audiences, list)
        or not all(isinstance(a, str) for a in audiences)
    ):
        raise bad_request("TokenRequest: expirationSeconds must be an integer, and audiences a list of texts")
    if problems := list(_problems(spec, seconds)):
        raise invalid(_REQUESTS, name, problems)
    expires = now.replace(microsecond=0) + timedelta(seconds=seconds)
    claims = Claims(namespace, name, account["metadata"]["uid"], expires, tuple(audiences))
    return {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"audiences": audiences, "expirationSeconds": seconds},
        "status": {
            "token": tokens.sign(claims, now),
            "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
    }


def _problems(spec: Mapping[str, Any], seconds: int) -> list[FieldProblem]:
    problems = []
    if seconds < _SHORTEST:
        text = "may not specify a duration less than 10 minutes"
        problems.append(FieldProblem.invalid("spec.expirationSeconds", seconds, text))
    if seconds > _LONGEST:
        text = "may not specify a duration larger than 2^32 seconds"
        problems.append(FieldProblem.invalid("spec.expirationSeconds", seconds, text))
    if spec.get("boundObjectRef"):
        text = "this server binds tokens to their account only"
        problems.append(FieldProblem.forbidden("spec.boundObjectRef", text))
    return problems
