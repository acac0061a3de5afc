"""Authentication: puts the credentials on each request, and asks for others once when the server refuses them."""

from collections.abc import AsyncGenerator

import httpx

from kinformer.client._credentials import Credentials
from kinformer.errors import ConfigError

__all__ = ["Authentication"]


class Authentication(httpx.Auth):
    """What httpx asks before each request and after each answer.

    A client certificate belongs to its connection, so a 401 ends that connection too: the next request makes another,
    with the certificate that there is by then (client-go closes all of them).

    Raises, from a request:
        ConfigError: The credentials cannot stand in a header; the message does not have them.
    """

    def __init__(self, credentials: Credentials, *, has_certificate: bool) -> None:
        self._credentials = credentials
        self._has_certificate = has_certificate

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Send the request, and where it was refused and other credentials are to be had, once more."""
        await self._sign(request)
        response = yield request
        if response.status_code != 401:
            return
        if self._has_certificate:
            await response.aread()
            connection = response.extensions.get("network_stream")
            if connection is not None:
                await connection.aclose()
        if await self._sign(request, is_rejected=True):
            yield request

    async def _sign(self, request: httpx.Request, *, is_rejected: bool = False) -> bool:
        """Put the header on; gives whether there is one, and it is another one than before."""
        before = request.headers.get("Authorization", "")
        value = await self._credentials.authorization(rejected=before if is_rejected else None)
        is_new = value not in {"", before}
        if not (value.isascii() and value.isprintable()):
            del value, before  # some tools show what is in the frames of an error
            raise ConfigError(
                "the credentials hold a line break or a letter that no header can carry: renew them"
            )
        if is_new:
            request.headers["Authorization"] = value
        return is_new
