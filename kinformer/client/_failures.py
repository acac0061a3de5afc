"""What comes of a request that got no answer, or another one than success: an error that says what to do about it."""

import ssl
from collections.abc import Mapping
from typing import Final

import httpx

from kinformer.client._calls import Call
from kinformer.client._frames import forget_frames
from kinformer.client._proxies import Proxy
from kinformer.client._status import from_response
from kinformer.client._tls import advice_on, is_about_certificates
from kinformer.errors import RequestError, TransportError

__all__ = ["FAILURES", "answer_error", "transport_error"]

FAILURES: Final = (httpx.HTTPError, ssl.SSLError)
"""What a transport raises; the latter from httpcore, where a server dislikes our certificate after the handshake."""

_NOT_MADE: Final = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
_WANTS_PASSWORD: Final = 407
"""The code that only proxies use: a user and a password are missing, or not accepted."""


def transport_error(call: Call, error: Exception, proxy: Proxy | None) -> TransportError:
    """Name what went wrong, and where; where no connection was made, certainly nothing was done.

    Args:
        call: What was asked.
        error: One of ``FAILURES``; loses its frames.
        proxy: What lies between, where that is known.
    """
    said, refused = str(error) or type(error).__name__, isinstance(error, _NOT_MADE)
    advice, lasting = advice_on(error), is_about_certificates(error)
    forget_frames(error)
    if isinstance(error, httpx.ProxyError):
        return _refused_by(proxy, call, said, wants_password=said.startswith(str(_WANTS_PASSWORD)))
    through = f" through {proxy}" if proxy else ""
    what = f"the server cannot be reached{through}" if refused else f"the connection{through} was lost"
    return TransportError(
        f"{call}: {what}: {said}{advice and '; '}{advice}", refused=refused, lasting=lasting
    )


def answer_error(
    call: Call, code: int, body: bytes, headers: Mapping[str, str], proxy: Proxy | None
) -> RequestError:
    """What an answer other than success means; a proxy that is asked for an ``http`` server answers in its place."""
    if proxy and code == _WANTS_PASSWORD:
        return _refused_by(proxy, call, "407 Proxy Authentication Required", wants_password=True)
    return from_response(code, body, headers, call=str(call))


def _refused_by(proxy: Proxy | None, call: Call, said: str, *, wants_password: bool) -> TransportError:
    advice = "; put a user and a password that it takes into its URL" if wants_password else ""
    return TransportError(
        f"{call}: {proxy or 'the proxy'} refuses: {said}{advice}", refused=True, lasting=wants_password
    )
