"""Issued credentials: those that expire, and come from somebody who can be asked for others."""

import logging
import math
from datetime import timedelta
from typing import Final

import anyio

from kinformer.client._issuer import Issued, Issuer
from kinformer.client._tls import Certificate
from kinformer.clock import Clock
from kinformer.errors import ConfigError

__all__ = ["IssuedCredentials"]

_logger: Final = logging.getLogger("kinformer.client")

_MARGIN: Final = timedelta(seconds=60)
"""How long before the end of what was issued something else is asked for."""

_PAUSE: Final = 60.0
"""Seconds between two times of asking because of that, should it fail, or bring what is about to expire too."""


class IssuedCredentials:
    """Credentials and certificates of an issuer, asked for again before they expire, and when they are refused.

    However many requests find out at the same time, the issuer is asked once. A failure is logged, and the old ones are
    used further: the server has the last word on them.

    Invariant: ``_issued`` is what was issued last.
    """

    @classmethod
    async def of(cls, issuer: Issuer, clock: Clock) -> "IssuedCredentials":
        """Ask for the first ones.

        Raises:
            ConfigError: See ``Issuer.issue``.
        """
        return cls(issuer, await issuer.issue(), clock)

    def __init__(self, issuer: Issuer, issued: Issued, clock: Clock) -> None:
        self._issuer = issuer
        self._issued = issued
        self._clock = clock
        self._pause_until = clock.monotonic() + _PAUSE
        self._asked = 0
        self._asking = anyio.Lock()

    @property
    def certificate(self) -> Certificate | None:
        """The present client certificate, if there is one."""
        return self._issued.certificate

    async def authorization(self, *, rejected: str | None = None) -> str:
        """The present header."""
        asked = self._asked
        if rejected == self._issued.authorization or self._is_ending():
            async with self._asking:
                if asked == self._asked:
                    await self._ask()
        return self._issued.authorization

    async def _ask(self) -> None:
        self._pause_until = math.inf  # while we ask, nobody else need wait for the answer, or for nothing
        try:
            self._issued = await self._issuer.issue()
        except ConfigError as error:
            _logger.warning("the credentials could not be renewed: %s", error)
        finally:
            self._pause_until = self._clock.monotonic() + _PAUSE
        self._asked += 1

    def _is_ending(self) -> bool:
        expires = self._issued.expires
        if expires is None or self._clock.monotonic() < self._pause_until:
            return False
        return expires <= self._clock.now() + _MARGIN  # the sum, since Go's zero time has nothing before it

    def __repr__(self) -> str:
        return "<credentials that are issued>"
