"""The server of the commands, where it cannot be had. That it serves is what the wire tests show."""

import pytest

from kinformer.cli._complaint import Complaint
from kinformer.cli._embedded import embedded
from tests.etcd import free_ports, needs_grpc


@pytest.mark.wire
async def test_an_etcd_that_is_not_there_is_one_complaint() -> None:
    needs_grpc()
    (port,) = free_ports(1)
    with pytest.raises(Complaint, match=f"etcd at 127.0.0.1:{port}: "):
        async with embedded(etcd=f"127.0.0.1:{port}"):
            raise AssertionError
