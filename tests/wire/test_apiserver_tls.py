"""The embedded apiserver over TLS, with tokens: what the kubeconfig says is enough, and nothing less is."""

from pathlib import Path

import httpx
import pytest

from kinformer.apiserver import ApiServer, Rbac
from kinformer.client import Client, Kubeconfig
from kinformer.errors import RequestError, UnauthorizedError
from kinformer.meta import Resource

pytestmark = pytest.mark.wire
NAMESPACES = Resource.builtin("Namespace")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_the_kubeconfig_leads_in(tmp_path: Path, host: str) -> None:
    async with ApiServer(auth=Rbac()) as server, server.serve(host, tls=True) as endpoint:
        assert endpoint.url.startswith(f"https://{host}:")
        path = endpoint.write_kubeconfig(tmp_path / "config")
        async with Client(Kubeconfig(str(path))) as client:
            found = await client.resource(NAMESPACES).list()
            assert "default" in [item.metadata.name for item in found.items]
            async with client.resource(NAMESPACES).watch() as batches:
                assert await anext(batches)


async def test_who_does_not_trust_its_authority_does_not_speak_to_it() -> None:
    async with ApiServer() as server, server.serve(tls=True) as endpoint, httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError, match="certificate"):
            await client.get(endpoint.url)


async def test_without_the_token_nothing_is_shown() -> None:
    auth = Rbac(anonymous=False)
    async with ApiServer(auth=auth) as server, server.serve() as endpoint, Client(endpoint.url) as client:
        with pytest.raises(UnauthorizedError):
            await client.resource(NAMESPACES).list()


async def test_plain_http_to_a_port_with_tls_ends_in_an_error_and_harms_nobody(tmp_path: Path) -> None:
    async with ApiServer() as server, server.serve(tls=True) as endpoint:
        async with Client(endpoint.url.replace("https", "http")) as client:
            with pytest.raises(RequestError):
                await client.resource(NAMESPACES).without_retries().list()
        path = endpoint.write_kubeconfig(tmp_path / "config")
        async with Client(Kubeconfig(str(path))) as client:
            assert (await client.resource(NAMESPACES).list()).items
