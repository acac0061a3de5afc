"""Tokens: those of service accounts, signed and not stored (rules A-3, R-3).

They are JSON Web Tokens with the claims of a real server's, and an HMAC in place of its signature: RFC 7519, RFC 7518 3.2.
"""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

__all__ = ["AUDIENCE", "Claims", "Tokens"]

AUDIENCE: Final = "https://kubernetes.default.svc.cluster.local"
"""Whom a token must be for to be good here."""

_HEADER: Final = {"alg": "HS256", "typ": "JWT"}


@dataclass(frozen=True, slots=True)
class Claims:
    """What a token says: it stands for the service account of this uid, until ``expires``."""

    namespace: str
    name: str
    uid: str
    expires: datetime
    audiences: tuple[str, ...] = (AUDIENCE,)


class Tokens:
    """Signs claims and reads them back. Pure.

    Args:
        secret: Who has it can make tokens.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, claims: Claims, now: datetime) -> str:
        """The token."""
        payload = {
            "iss": AUDIENCE,
            "sub": f"system:serviceaccount:{claims.namespace}:{claims.name}",
            "aud": claims.audiences,
            "iat": int(now.timestamp()),
            "exp": int(claims.expires.timestamp()),
            "kubernetes.io": {
                "namespace": claims.namespace,
                "serviceaccount": {"name": claims.name, "uid": claims.uid},
            },
        }
        text = f"{_part(msgspec.json.encode(_HEADER))}.{_part(msgspec.json.encode(payload))}"
        return f"{text}.{self._signature(text)}"

    def read(self, token: str, now: datetime, audiences: Sequence[str] = (AUDIENCE,)) -> Claims | None:
        """What a token says; ``None`` where it was not signed here, is for nobody of these, or has expired."""
        text, _, signature = token.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(text).encode()):
            return None
        payload: dict[str, Any] = msgspec.json.decode(_bytes(text.rpartition(".")[2]))
        account = payload["kubernetes.io"]["serviceaccount"]
        claims = Claims(
            payload["kubernetes.io"]["namespace"],
            account["name"],
            account["uid"],
            datetime.fromtimestamp(payload["exp"], UTC),
            tuple(payload["aud"]),
        )
        is_good = now < claims.expires and not set(audiences).isdisjoint(claims.audiences)
        return claims if is_good else None

    def _signature(self, text: str) -> str:
        return _part(hmac.digest(self._secret, text.encode(), hashlib.sha256))


def _part(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _bytes(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
