import socket
import sys

import pytest

from kinformer.client._stream import SOCKET_OPTIONS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names and numbers differ")


def test_a_dead_peer_is_noticed_well_within_75_seconds() -> None:
    options = {option: value for level, option, value in SOCKET_OPTIONS if level == socket.IPPROTO_TCP}
    asked = options[socket.TCP_KEEPINTVL] * options[socket.TCP_KEEPCNT]
    assert options[socket.TCP_KEEPIDLE] + asked <= 60
    assert options[socket.TCP_USER_TIMEOUT] <= 60_000


def test_the_kernel_takes_each_option() -> None:
    with socket.socket() as sock:
        for level, option, value in SOCKET_OPTIONS:
            sock.setsockopt(level, option, value)
            assert sock.getsockopt(level, option) == value
