import pytest

from kinformer.client._proxies import Proxy, environment_proxy, proxy_for

PROXY = "http://proxy:3128"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.mark.parametrize(
    ("environ", "url", "proxy"),
    [
        ({}, "https://server", ""),
        ({"HTTPS_PROXY": PROXY}, "https://server", PROXY),
        ({"https_proxy": PROXY}, "https://server:6443/base", PROXY),
        ({"HTTPS_PROXY": PROXY}, "http://server", ""),
        ({"HTTP_PROXY": PROXY}, "http://server", PROXY),
        ({"ALL_PROXY": PROXY}, "https://server", PROXY),
        ({"ALL_PROXY": "http://other", "HTTPS_PROXY": PROXY}, "https://server", PROXY),
        ({"HTTPS_PROXY": "proxy:3128"}, "https://server", PROXY),
        ({"HTTPS_PROXY": "socks5://proxy"}, "https://server", "socks5://proxy"),
        ({"HTTPS_PROXY": ""}, "https://server", ""),
    ],
)
def test_the_scheme_decides_which_proxy_is_asked(
    environ: dict[str, str], url: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert environment_proxy(url) == proxy


@pytest.mark.parametrize(
    ("no_proxy", "url", "proxy"),
    [
        ("server", "https://server", ""),
        ("other, server", "https://server:6443", ""),
        ("server:6443", "https://server:6443", ""),
        ("server:443", "https://server:6443", PROXY),
        ("example.com", "https://api.example.com", ""),
        (".example.com", "https://api.example.com", ""),
        ("example.com", "https://notexample.com", PROXY),
        ("*", "https://server", ""),
        ("10.0.0.1", "https://10.0.0.1", ""),
        ("10.0.0.0/8", "https://10.96.0.1:443", ""),
        ("192.168.0.0/16, 10.0.0.0/8", "https://10.96.0.1", ""),
        ("10.0.0.0/8", "https://11.0.0.1", PROXY),
        ("10.0.0.0/8", "https://server", PROXY),
        ("fd00::/8", "https://[fd00::1]:6443", ""),
        ("fd00::/8", "https://10.0.0.1", PROXY),
        (",, not/a/network", "https://10.0.0.1", PROXY),
    ],
)
def test_what_is_named_goes_without_the_proxy(
    no_proxy: str, url: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    monkeypatch.setenv("NO_PROXY", no_proxy)
    assert environment_proxy(url) == proxy


@pytest.mark.parametrize("host", ["localhost", "localhost.", "127.0.0.1", "127.8.9.10", "[::1]"])
def test_no_proxy_is_asked_for_this_machine(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", PROXY)
    assert environment_proxy(f"https://{host}:6443") == ""


def test_what_the_configuration_names_counts_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert proxy_for("https://server", "") is None
    monkeypatch.setenv("ALL_PROXY", "http://all")
    assert proxy_for("https://server", "") == Proxy("http://all", "$ALL_PROXY")
    monkeypatch.setenv("HTTPS_PROXY", PROXY)
    assert proxy_for("https://server", "") == Proxy(PROXY, "$HTTPS_PROXY")
    assert proxy_for("http://server", "") == Proxy("http://all", "$ALL_PROXY")
    assert proxy_for("https://server", "http://own") == Proxy("http://own", "proxy-url (Config.proxy)")


@pytest.mark.parametrize("url", ["http://me:hunter2@proxy:3128", "http://me:hunt@er2@proxy:3128"])
def test_a_proxy_is_shown_without_its_password(url: str) -> None:
    proxy = Proxy(url, "$HTTPS_PROXY")
    assert str(proxy) == "the proxy proxy:3128 of $HTTPS_PROXY"
    assert "er2" not in repr(proxy)
