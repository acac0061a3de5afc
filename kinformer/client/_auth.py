"""Authentication: puts the credentials on each request, and asks for others once when the server refuses them."""

from collections.abc import AsyncGenerator, Callable
from typing import Any, Final

import httpx

from kinformer.client._credentials import Credentials, fits_header
from kinformer.client._tls import FollowingContext
from kinformer.errors import ConfigError

__all__ = ["Authentication"]


_ATTEMPTS: Final = 16
"""Connections that are closed on behalf of one request, at most; httpx takes more than 20 answers for a loop."""


class Authentication(httpx.Auth):
    """What httpx asks before each request and after each answer.

    A client certificate belongs to its connection. Where a request was refused on one that was made with a certificate
    which is not the present one any more, the connection is closed, and the request made again on another. (client-go
    closes all of them, also those that are in use.)

    Credentials may take long to be had, and the client be closed meanwhile. A closed pool of httpx would make a connection
    all the same, which nobody closes: ``check`` is called before each request, and raises.

    Raises, from a request:
        ConfigError: The credentials cannot stand in a header; the message does not have them.
    """

    def __init__(self, credentials: Credentials, check: Callable[[], object]) -> None:
        self._credentials = credentials
        self._check = check

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Send the request, and where it was refused and there is more to show, once more."""
        await self._sign(request)
        response = yield request
        if response.status_code == 401 and await self._sign(request, is_rejected=True):
            response = yield request
        for _ in range(_ATTEMPTS):
            if response.status_code != 401 or not await _close_if_outdated(response):
                break
            response = yield request

    async def _sign(self, request: httpx.Request, *, is_rejected: bool = False) -> bool:
        """Put the header on; gives whether there is one, and it is another one than before."""
        before = request.headers.get("Authorization", "")
        value = await self._credentials.authorization(rejected=before if is_rejected else None)
        self._check()
        is_new = value not in {"", before}
        if not fits_header(value):
            del value, before  # some tools show what is in the frames of an error
            raise ConfigError(
                "the credentials hold a line break or a letter that no header can carry: renew them"
            )
        if is_new:
            request.headers["Authorization"] = value
        return is_new


async def _close_if_outdated(response: httpx.Response) -> bool:
    """Close the connection if a new one would be made with other certificates, and say whether that was so."""
    connection: Any = response.extensions.get("network_stream")  # httpcore's, or our own one's
    encrypted = None if connection is None else connection.get_extra_info("ssl_object")
    if (
        encrypted is None
        or not isinstance(encrypted.context, FollowingContext)
        or encrypted.context.is_current
    ):
        return False
    await response.aread()
    await connection.aclose()
    return True
