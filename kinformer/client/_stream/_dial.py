"""Dial: from a host and a port to a connection, encrypted where it must be."""

import asyncio
import socket
import ssl
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_address
from typing import NamedTuple

from kinformer.client._stream._connection import Connection
from kinformer.client._stream._keepalive import SOCKET_OPTIONS
from kinformer.client._stream._race import Race, interleave
from kinformer.clock import Clock

__all__ = ["Dialer", "Origin"]


class Origin(NamedTuple):
    """Which server: connections to one origin can stand in for each other."""

    is_secure: bool
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Dialer:
    """Makes connections.

    Attributes:
        tls: What a secure server is judged by; ``None`` where none will be dialled.
        clock: For what is measured on the way, and by the connections.
    """

    tls: ssl.SSLContext | None
    clock: Clock

    async def dial(self, origin: Origin) -> Connection:
        """Look the host up, reach one of its addresses, and shake hands.

        Cancelled anywhere, it leaves no socket; only a look-up in the system's resolver runs on in its thread.

        Raises:
            OSError: One of these did not work out. Errors of TLS are such too.
            UnicodeError: No resolver can be asked for such a host.
        """
        attempts = [partial(self._reach, address, origin) for address in await _look_up(origin)]
        return await Race(attempts, discard=Connection.abort, clock=self.clock).run()

    async def _reach(self, address: str, origin: Origin) -> Connection:
        loop = asyncio.get_running_loop()
        connection = Connection(self.clock)
        try:
            # In two steps, since only the plain transport can be relied upon to close at once wherever this is
            # cancelled: "ssl=" would begin the handshake on a transport that nobody has been given yet.
            plain, _ = await loop.create_connection(lambda: connection, address, origin.port)
            _set_options(plain)
            if origin.is_secure and self.tls is not None:
                secure = await loop.start_tls(plain, connection, self.tls, server_hostname=origin.host)
                if secure is None:  # the connection was lost in the very moment
                    raise ConnectionResetError("the connection was lost after the handshake")  # noqa: TRY301
                connection.is_carried_by(secure)
        except BaseException:
            connection.abort()
            raise
        return connection


async def _look_up(origin: Origin) -> list[str]:
    try:
        return [str(ip_address(origin.host))]
    except ValueError:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        return interleave([(family, str(address[0])) for family, _, _, _, address in found])


def _set_options(transport: asyncio.Transport) -> None:
    sock = transport.get_extra_info("socket")
    for level, option, value in SOCKET_OPTIONS:
        sock.setsockopt(level, option, value)
