import httpx
import pytest

from kinformer.client import Client, Config, Tls
from kinformer.client._stream import StreamTransport
from kinformer.client._transports import Streaming, transport_for
from kinformer.errors import ConfigError
from kinformer.testing import FakeClock

DIRECT = Config("http://server")
PROXIED = Config("http://server", proxy="http://proxy:3128")


def carrier(config: Config, streaming: Streaming = "kinformer") -> httpx.AsyncBaseTransport:
    return transport_for(config, streaming=streaming, clock=FakeClock())


def test_streams_are_carried_by_our_transport_where_nothing_lies_between() -> None:
    assert isinstance(carrier(DIRECT), StreamTransport)
    assert isinstance(carrier(Config("https://server", tls=Tls(verify=False))), StreamTransport)


def test_they_are_carried_by_httpx_where_that_is_asked_for() -> None:
    assert isinstance(carrier(DIRECT, "httpx"), httpx.AsyncHTTPTransport)


def test_a_proxy_is_httpx_business(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(carrier(PROXIED), httpx.AsyncHTTPTransport)
    monkeypatch.setenv("HTTP_PROXY", "http://proxy:3128")
    assert isinstance(carrier(DIRECT), httpx.AsyncHTTPTransport)
    monkeypatch.setenv("NO_PROXY", "server")
    assert isinstance(carrier(DIRECT), StreamTransport)


def test_a_proxy_that_cannot_be_used_is_told_with_its_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "foo://proxy")
    with pytest.raises(ConfigError, match=r"the proxy that [$]HTTPS_PROXY, .* names cannot be used"):
        carrier(DIRECT)


def test_a_bad_file_is_told() -> None:
    with pytest.raises(ConfigError, match="/no/such/file"):
        carrier(Config("https://server", tls=Tls(ca_file="/no/such/file")))


def test_any_other_word_for_streaming_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="must be 'kinformer' or 'httpx'"):
        Client("http://server", streaming="aiohttp")  # type: ignore[arg-type]  # the point
