"""The socket options by which the kernel finds out that nobody is at the other end any more."""

import socket
from typing import Final

__all__ = ["SOCKET_OPTIONS"]

_IDLE: Final = 15
"""Seconds of silence before the kernel asks (``net.Dialer.KeepAlive`` of Go)."""

_INTERVAL: Final = 5
"""Seconds between two questions."""

_COUNT: Final = 6
"""Questions without an answer after which the connection is dead: 45 s after the last sign of life."""

# Windows and Linux know all of the first four, macOS calls the idle time otherwise, and the last is Linux's.
_WANTED: Final = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", _IDLE),
    (socket.IPPROTO_TCP, "TCP_KEEPALIVE", _IDLE),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", _INTERVAL),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", _COUNT),
    (
        socket.IPPROTO_TCP,
        "TCP_USER_TIMEOUT",
        1000 * (_IDLE + _COUNT * _INTERVAL),
    ),  # what was sent and not confirmed
)

SOCKET_OPTIONS: Final = tuple(
    (level, int(getattr(socket, name)), value) for level, name, value in _WANTED if hasattr(socket, name)
)
"""As ``setsockopt`` takes them: level, option, value. A dead peer is noticed within 45 s."""
