import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kinformer.client import Anonymous, Client, Kubeconfig
from kinformer.errors import ConfigError
from kinformer.testing import FakeClock


def content(**user: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "dev",
        "contexts": [
            {"name": "dev", "context": {"cluster": "c", "user": "u", "namespace": "team"}},
            {"name": "prod", "context": {"cluster": "p", "user": "u"}},
        ],
        "clusters": [
            {"name": "c", "cluster": {"server": "https://dev:6443/"}},
            {"name": "p", "cluster": {"server": "http://prod:8080"}},
        ],
        "users": [{"name": "u", "user": user}],
    }


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config"


def write(path: Path, what: Any) -> Kubeconfig:
    path.write_text(what if isinstance(what, str) else json.dumps(what))  # JSON is YAML
    return Kubeconfig(path)


async def test_the_current_context_is_taken(path: Path) -> None:
    config = await write(path, content(token="hunter2")).load()
    assert config.url == "https://dev:6443"
    assert config.namespace == "team"
    assert config.tls.verify
    assert await config.credentials.authorization() == "Bearer hunter2"
    assert "hunter2" not in repr(config)


async def test_another_context_can_be_named(path: Path) -> None:
    write(path, content(username="me", password="hunter2"))
    config = await Kubeconfig(path, context="prod").load()
    assert (config.url, config.namespace) == ("http://prod:8080", "default")
    assert (await config.credentials.authorization()).startswith("Basic ")


async def test_a_user_without_credentials_is_anonymous(path: Path) -> None:
    what = content()
    del what["contexts"][0]["context"]["user"]
    assert (await write(path, what).load()).credentials == Anonymous()


def certificate(folder: Path) -> None:
    """A key and a certificate that it signs itself, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "me")])
    now = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=36500))
    pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    (folder / "ca.pem").write_bytes(pem)
    (folder / "me.pem").write_bytes(pem)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "me.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))


async def test_the_ways_to_a_cluster_are_translated(path: Path) -> None:
    what = content()
    what["clusters"][0]["cluster"] |= {
        "insecure-skip-tls-verify": True,
        "tls-server-name": "kubernetes",
        "proxy-url": "http://proxy:3128",
        "certificate-authority": "ca.pem",
    }
    what["users"][0]["user"] = {"client-certificate": "me.pem", "client-key": "me.key"}
    certificate(path.parent)
    config = await write(path, what).load()
    assert config.tls.verify is False
    assert config.tls.server_name == "kubernetes"
    assert config.proxy == "http://proxy:3128"
    found = (config.tls.ca_file, config.tls.cert_file, config.tls.key_file)
    assert found == tuple(str(path.parent / name) for name in ("ca.pem", "me.pem", "me.key"))


async def test_several_files_are_merged_and_the_first_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    write(first, {"current-context": "dev", "contexts": content()["contexts"][:1]})
    write(second, content(token="t") | {"current-context": "prod"})
    paths = os.pathsep.join([str(first), str(tmp_path / "absent"), str(second)])
    assert (await Kubeconfig(paths).load()).url == "https://dev:6443"


def test_kubeconfig_names_the_file_even_if_it_is_missing(tmp_path: Path) -> None:
    found = Kubeconfig.find({"KUBECONFIG": str(tmp_path / "absent")})
    assert found == Kubeconfig(str(tmp_path / "absent"))


def without(what: dict[str, Any], *steps: Any) -> dict[str, Any]:
    inner: Any = what
    for step in steps[:-1]:
        inner = inner[step]
    del inner[steps[-1]]
    return what


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ("a: [", ["is not valid YAML", "line 1"]),
        ("just text", ["must be a mapping with clusters, contexts and users"]),
        ("", ["must be a mapping"]),
        ({"contexts": {"a": 1}}, ["contexts must be a list"]),
        ({"contexts": ["a"]}, ["contexts[0] must be a mapping with a name"]),
        ({"clusters": [{"name": "c", "cluster": 7}]}, ["clusters[c].cluster must be a mapping"]),
        (without(content(), "current-context"), ["current-context is not set: set it, or name a context"]),
        (content() | {"current-context": "gone"}, ["current-context 'gone' is not among the contexts there: dev, prod"]),
        (content() | {"clusters": []}, ["contexts[dev].context.cluster 'c' is not among the clusters: none"]),
        (content() | {"users": []}, ["contexts[dev].context.user 'u' is not among the users: none"]),
        (without(content(), "clusters", 0, "cluster", "server"), ["clusters[c].cluster.server is missing"]),
        (content() | {"clusters": [{"name": "c", "cluster": {"server": "dev:6443"}}]}, ["field cluster.server", "https://"]),
        (content(**{"client-certificate-data": "aGk="}), ["context 'dev'", "client-certificate file", "cannot be used"]),
        (content(**{"client-certificate-data": "aGk"}), ["context 'dev'", "padding"]),
        (content(**{"client-certificate": "absent.pem"}), ["context 'dev'", "absent.pem"]),
        (content(exec={"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/plugin"}), ["context 'dev'", "/no/such/plugin"]),
        (content(**{"auth-provider": {"name": "oidc"}}), ["context 'dev'"]),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_said_with_file_and_field(path: Path, what: Any, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        await write(path, what).load()
    for part in [str(path), *parts]:
        assert part in str(caught.value)


async def test_a_context_that_was_asked_for_must_exist(path: Path) -> None:
    write(path, content())
    with pytest.raises(ConfigError, match="context 'staging' is not among the contexts there: dev, prod"):
        await Kubeconfig(path, context="staging").load()


async def test_a_missing_file_and_one_that_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="absent does not exist"):
        await Kubeconfig(tmp_path / "absent").load()
    with pytest.raises(ConfigError, match=f"kubeconfig {tmp_path} cannot be read"):
        await Kubeconfig(tmp_path).load()


def plugin(path: Path, expires: str | None) -> dict[str, Any]:
    """An exec plugin whose token counts its runs."""
    script = path.parent / "plugin"
    status = {"token": "token-N"} | ({"expirationTimestamp": expires} if expires else {})
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    text = f"#!/bin/sh\necho x >> {path.parent}/runs\nn=$(wc -l < {path.parent}/runs)\n"
    script.write_text(text + f"echo '{json.dumps(answer)}' | sed s/N/$((n))/\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": str(script),
        "interactiveMode": "Never",
    }


async def test_a_plugin_is_asked_again_when_its_token_is_about_to_expire(path: Path) -> None:
    clock = FakeClock()
    config = await write(path, content(exec=plugin(path, "2020-01-01T00:00:00Z"))).load(clock=clock)
    assert await config.credentials.authorization() == "Bearer token-1"
    await clock.advance(59)
    assert await config.credentials.authorization() == "Bearer token-1"
    await clock.advance(2)
    assert await config.credentials.authorization() == "Bearer token-2"
    assert await config.credentials.authorization() == "Bearer token-2"
    assert "token" not in repr(config.credentials)


async def test_a_plugin_is_asked_again_when_the_server_refuses_its_token(path: Path) -> None:
    clock = FakeClock()
    config = await write(path, content(exec=plugin(path, "2999-01-01T00:00:00Z"))).load(clock=clock)
    await clock.advance(61)
    assert await config.credentials.authorization() == "Bearer token-1"
    assert await config.credentials.authorization(rejected="Bearer token-1") == "Bearer token-2"
    assert await config.credentials.authorization(rejected="Bearer token-1") == "Bearer token-2"


async def test_a_plugin_that_fails_later_leaves_the_old_token(
    path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = await write(path, content(exec=plugin(path, None))).load(clock=FakeClock())
    (path.parent / "plugin").unlink()
    assert await config.credentials.authorization(rejected="Bearer token-1") == "Bearer token-1"
    assert "could not be renewed" in caplog.text


async def test_a_client_loads_its_kubeconfig_when_it_is_entered(path: Path) -> None:
    client = Client(write(path, content(token="t")))
    with pytest.raises(RuntimeError, match="has not looked for its configuration"):
        _ = client.config
    async with client:
        assert client.config.url == "https://dev:6443"


@pytest.mark.parametrize(
    ("section", "field", "value", "said"),
    [
        ("contexts", "cluster", ["c"], r"contexts\[dev\].context.cluster must be text, not list$"),
        (
            "contexts",
            "namespace",
            5,
            r"contexts\[dev\].context.namespace must be text, not int: put it in quotes",
        ),
        ("clusters", "server", 5, r"clusters\[c\].cluster.server must be text, not int: put it in quotes"),
        ("clusters", "proxy-url", {}, r"clusters\[c\].cluster.proxy-url must be text, not dict$"),
        ("clusters", "insecure-skip-tls-verify", "maybe", r"verify must be true or false, not str$"),
        ("users", "token", 5, r"users\[u\].user.token must be text, not int: put it in quotes"),
        ("users", "exec", 5, r"users\[u\].user.exec must be a mapping, not int$"),
    ],
)
async def test_a_field_of_the_wrong_type_is_named_without_its_value(
    path: Path, section: str, field: str, value: Any, said: str
) -> None:
    made = content()
    made[section][0][section[:-1]][field] = value
    with pytest.raises(ConfigError, match=said):
        await write(path, made).load()
