"""Which transport carries the requests of a client."""

from typing import Final, Literal

import httpx

from kinformer.client._config import Config
from kinformer.client._proxies import proxy_for
from kinformer.client._stream import SOCKET_OPTIONS, StreamTransport
from kinformer.clock import Clock
from kinformer.errors import ConfigError

__all__ = ["Streaming", "transport_for"]

Streaming = Literal["kinformer", "httpx"]
"""Whose transport carries GET requests: our own, which costs a fraction for each event of a watch, or httpx's."""

_LIMITS: Final = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=60.0)
"""Every watch may hold a connection, so their number is not bounded."""


def transport_for(config: Config, *, streaming: Streaming, clock: Clock) -> httpx.AsyncBaseTransport:
    """A transport to the server of a configuration, through a proxy where the configuration or the environment names one.

    What goes through a proxy is httpx's in any case.

    Raises:
        ConfigError: A file of the TLS settings, or the proxy, cannot be used.
    """
    tls = config.tls.context() if config.url.startswith("https:") else None
    proxy = proxy_for(config.url, config.proxy)
    try:
        general = httpx.AsyncHTTPTransport(
            verify=tls or False,
            trust_env=False,
            limits=_LIMITS,
            proxy=proxy.url if proxy else None,
            socket_options=SOCKET_OPTIONS,
        )
    except (ValueError, ImportError, httpx.InvalidURL) as error:  # a scheme, a missing library, or no URL
        where = "the configuration" if config.proxy else "$HTTPS_PROXY, $HTTP_PROXY, $ALL_PROXY or $NO_PROXY"
        raise ConfigError(f"the proxy that {where} names cannot be used: {error}") from error
    if proxy or streaming == "httpx":
        return general
    return StreamTransport(tls, others=general, clock=clock)
