import subprocess
import sys
from pathlib import Path

import pytest

from kinformer.client import BearerToken, Config, Tls, load_config
from kinformer.errors import ConfigError

IN_CLUSTER = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def account(tmp_path: Path) -> Path:
    for name, text in (("token", "hunter2\n"), ("ca.crt", "pem"), ("namespace", "prod\n")):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    "url",
    ["", "host:6443", "ftp://host", "https://", "https://host:0", "https://[::1", "/api", "http://xn--.com"],
)
def test_a_url_that_leads_nowhere_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="https://host:6443"):
        Config(url)


def test_a_url_with_a_password_is_refused_without_saying_it() -> None:
    for url in ("https://me:hunter2@host", "ftp://me:hunter2@host"):
        with pytest.raises(ValueError, match="server's url must") as caught:
            Config(url)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://host?", "https://host#", "https://host/?a=b", "https://host/#a"])
def test_a_url_that_would_swallow_the_path_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="no user, query or fragment"):
        Config(url)


@pytest.mark.parametrize("name", [".host", "a\0b", "\xe9", "a b"])
def test_a_server_name_that_no_certificate_has_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="tls-server-name must be a name"):
        Config("https://host", tls=Tls(server_name=name))


@pytest.mark.parametrize("name", ["host", "a_b.example.", "10.0.0.1", "fd00::1"])
def test_a_server_name_may_be_a_name_or_an_address(name: str) -> None:
    assert Config("https://host", tls=Tls(server_name=name)).tls.server_name == name


def test_a_trailing_slash_is_dropped_and_a_path_stays() -> None:
    assert Config("https://host/k8s/clusters/c-1/").url == "https://host/k8s/clusters/c-1"


def test_no_secret_is_in_a_repr() -> None:
    config = Config("https://host", BearerToken("hunter2"), proxy="http://me:hunter3@proxy")
    assert "hunter" not in repr(config)


async def test_the_configuration_of_a_pod(account: Path) -> None:
    config = Config.in_cluster(environ=IN_CLUSTER, service_account=account)
    assert config.url == "https://10.0.0.1:443"
    assert config.tls == Tls(ca_file=str(account / "ca.crt"))
    assert config.namespace == "prod"
    assert await config.credentials.authorization() == "Bearer hunter2"
    assert "hunter2" not in repr(config)


def test_an_ipv6_host_gets_brackets(account: Path) -> None:
    environ = IN_CLUSTER | {"KUBERNETES_SERVICE_HOST": "fd00::1"}
    assert Config.in_cluster(environ=environ, service_account=account).url == "https://[fd00::1]:443"


def test_a_pod_without_ca_and_namespace_uses_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t")
    config = Config.in_cluster(environ=IN_CLUSTER, service_account=tmp_path)
    assert (config.tls, config.namespace) == (Tls(), "default")


@pytest.mark.parametrize("missing", list(IN_CLUSTER))
def test_outside_of_a_cluster_the_missing_variable_is_named(account: Path, missing: str) -> None:
    environ = {name: value for name, value in IN_CLUSTER.items() if name != missing}
    with pytest.raises(ConfigError, match=f"{missing} is not set"):
        Config.in_cluster(environ=environ, service_account=account)


def test_a_pod_without_a_token_says_why_that_may_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"token cannot be read.*automountServiceAccountToken"):
        Config.in_cluster(environ=IN_CLUSTER, service_account=tmp_path)


async def test_a_pod_is_found_before_a_kubeconfig(account: Path, tmp_path: Path) -> None:
    environ = IN_CLUSTER | {"KUBECONFIG": str(tmp_path / "absent")}
    assert (await load_config(environ=environ, service_account=account)).url == "https://10.0.0.1:443"


async def test_without_a_pod_the_kubeconfig_is_asked(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent does not exist: correct the path or \$KUBECONFIG"):
        await load_config(environ={"KUBECONFIG": str(tmp_path / "absent")})


async def test_without_anything_the_error_says_what_was_tried(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        await load_config(environ={"HOME": str(tmp_path)})
    for part in (
        "KUBERNETES_SERVICE_HOST is not set",
        "$KUBECONFIG is not set",
        "~/.kube/config",
        "give the client a URL",
    ):
        assert part in str(caught.value)


def test_importing_the_client_imports_nothing_heavy() -> None:
    code = "import sys, kinformer.client; print(*sys.modules)"
    loaded = set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
    )
    assert not loaded & {"kubernetes_asyncio", "aiohttp", "yaml", "starlette", "uvicorn", "cryptography"}
