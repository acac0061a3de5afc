"""Issuer: somebody who issues credentials, and what is issued."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from kinformer.client._tls import Certificate

__all__ = ["Issued", "Issuer"]


@dataclass(frozen=True, slots=True)
class Issued:
    """What was issued.

    Attributes:
        authorization: The value of the header; ``""`` where there is only a certificate.
        certificate: A client certificate.
        expires: When it is over; ``None`` where that is not told, and then only a refusal ends it.
    """

    authorization: str = field(default="", repr=False)
    certificate: Certificate | None = None
    expires: datetime | None = None


class Issuer(Protocol):
    """Whoever issues: an exec plugin, an identity provider."""

    async def issue(self) -> Issued:
        """Issue something, which is not what was issued before if that can be helped.

        Raises:
            ConfigError: Nothing can be had; the message names the issuer and the reason.
        """
