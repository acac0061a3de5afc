"""The server of the commands, where it cannot be had. That it serves is what the wire tests show."""

from dataclasses import replace

import pytest

from kinformer.cli._complaint import Complaint
from kinformer.cli._embedded import embedded
from kinformer.client import Anonymous, Client, Kubeconfig
from kinformer.errors import ForbiddenError
from kinformer.meta import Resource
from tests.etcd import free_ports, needs_grpc


@pytest.mark.wire
async def test_with_roles_the_kubeconfig_is_an_administrators_and_nobody_else_comes_in() -> None:
    async with embedded(tls=True, rbac=True) as server:
        assert server.url.startswith("https://")
        async with Client(Kubeconfig(str(server.kubeconfig))) as client:
            assert not (await client.resource(Resource.builtin("Node")).list()).items
        config = await Kubeconfig(str(server.kubeconfig)).load()
        async with Client(replace(config, credentials=Anonymous())) as client:
            with pytest.raises(ForbiddenError, match="system:anonymous"):
                await client.resource(Resource.builtin("Node")).list()


@pytest.mark.wire
async def test_an_etcd_that_is_not_there_is_one_complaint() -> None:
    needs_grpc()
    (port,) = free_ports(1)
    with pytest.raises(Complaint, match=f"etcd at 127.0.0.1:{port}: "):
        async with embedded(etcd=f"127.0.0.1:{port}"):
            raise AssertionError
