from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from kinformer.client import BearerToken, Client, Config
from kinformer.errors import ClosedError, ConfigError
from kinformer.hooks import NoHooks, RequestFinished
from kinformer.meta import Object, Resource
from kinformer.testing import FakeClock, settle

PODS = Resource.builtin("Pod")


async def test_a_url_is_a_configuration(script: Any) -> None:
    client = Client("http://server/", transport=script)
    assert client.config == Config("http://server")
    with pytest.raises(ValueError, match="must be like"):
        Client("ftp://server")


@pytest.mark.parametrize("given", ["/tmp/kubeconfig", "~/.kube/config", "config", Path("config")])
def test_a_path_is_no_configuration_and_what_is_one_is_told(given: Any) -> None:
    with pytest.raises((ValueError, TypeError), match=r"config=.*; a file is given as Kubeconfig\("):
        Client(given)


def test_what_may_hold_a_password_is_not_shown() -> None:
    with pytest.raises(ValueError, match="config must be a URL") as caught:
        Client("me:hunter2@host")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("timeout", [-1, 0, float("nan")])
def test_a_timeout_that_is_none_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match=r"timeout=.* must be seconds above 0"):
        Client("http://server", timeout=timeout)


async def test_a_path_that_belongs_to_no_resource_can_be_asked_for(script: Any) -> None:
    script.answer({"gitVersion": "v1.36.0"})
    script.answer()
    async with Client("http://server", transport=script) as client:
        assert await client.request("GET", "/version") == b'{"gitVersion": "v1.36.0"}'
        await client.request("POST", "/x", params={"a": "b"}, content=b"hi", content_type="text/plain")
    assert script.asked == ["GET /version", "POST /x a=b"]
    assert script.requests[1].headers["content-type"] == "text/plain"


async def test_a_resource_client_may_be_made_before_the_client_is_entered(script: Any) -> None:
    client = Client("http://server", transport=script)
    pods = client.resource(PODS)
    with pytest.raises(RuntimeError, match="not open: write 'async with Client"):
        await pods.list()
    async with client:
        script.answer({"kind": "PodList", "metadata": {}, "items": []})
        assert (await pods.list()).items == ()
    with pytest.raises(ClosedError, match="make a new one"):
        await pods.list()


async def test_a_client_is_entered_once(script: Any) -> None:
    client = Client("http://server", transport=script)
    async with client:
        with pytest.raises(RuntimeError, match="entered already"):
            await client.__aenter__()
    with pytest.raises(ClosedError):
        await client.__aenter__()


async def test_bad_files_are_told_when_the_client_is_entered() -> None:
    from kinformer.client import Tls

    with pytest.raises(ConfigError, match=r"/no/such/ca\.pem"):
        async with Client(Config("https://server", tls=Tls(ca_file="/no/such/ca.pem"))):
            pass


async def test_a_proxy_of_the_environment_that_cannot_be_used_is_told_when_the_client_is_entered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "foo://proxy")
    with pytest.raises(ConfigError, match=r"the proxy that [$]HTTPS_PROXY, .* names cannot be used"):
        async with Client("https://server"):
            pass


@pytest.mark.parametrize("token", ["t\u00fcr", "a\nb", "a\x00"])
async def test_a_token_that_no_header_can_carry_is_told_without_showing_it(token: str, script: Any) -> None:
    async with Client(Config("http://server", BearerToken(token)), transport=script) as client:
        with pytest.raises(ConfigError, match="no header can carry") as caught:
            await client.request("GET", "/version")
    assert token not in str(caught.value)


async def test_a_client_hands_on_its_clock_and_hooks(script: Any) -> None:
    class Ear(NoHooks):
        heard: RequestFinished | None = None

        def request_finished(self, event: RequestFinished, /) -> None:
            self.heard = event

    clock, ear = FakeClock(), Ear()
    async with Client("http://server", transport=script, timeout=5.0, clock=clock, hooks=ear) as client:
        assert client.clock is clock
        assert client.resource(PODS).clock is clock
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.request, "DELETE", "/x")
            await settle()
            tasks.cancel_scope.cancel()
    assert ear.heard == RequestFinished("DELETE", "/x", 0, 0.0, 1, "server")


async def test_leaving_while_a_request_is_under_way_is_not_a_hang(script: Any) -> None:
    async with anyio.create_task_group() as tasks:
        async with Client("http://server", transport=script) as client:
            tasks.start_soon(client.request, "GET", "/x")
            await settle()
        tasks.cancel_scope.cancel()
    assert script.is_closed


async def test_the_default_model_is_the_handle(script: Any) -> None:
    assert Client("http://server", transport=script).resource(PODS).model is Object


async def test_a_redirect_is_not_followed_with_our_credentials(script: Any) -> None:
    script.answer(b"", 302, {"Location": "http://elsewhere/"})
    async with Client("http://server", transport=script) as client:
        with pytest.raises(Exception, match="302"):
            await client.request("GET", "/x")
    assert [request.url for request in script.requests] == [httpx.URL("http://server/x")]


@pytest.mark.parametrize("path", ["", "version", ".evil.example/version", ":80/version"])
async def test_a_path_that_would_lead_to_another_server_is_refused(script: Any, path: str) -> None:
    async with Client("http://host", transport=script) as client:
        with pytest.raises(ValueError, match="must begin with a slash"):
            await client.request("GET", path)
    assert script.requests == []
