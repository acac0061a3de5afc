import os
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import anyio
import pytest

from kinformer.client import Anonymous, Client, Kubeconfig
from kinformer.errors import ConfigError
from kinformer.system_clock import SystemClock
from kinformer.testing import FakeClock
from tests.kubeconfigs import ANSWER, PLUGIN, content, plugin, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config"


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


async def test_loading_can_be_cancelled(path: Path) -> None:
    script = path.parent / "plugin"
    script.write_text(f"#!/bin/sh\ntouch {path.parent}/begun\nexec sleep 1000\n")
    script.chmod(0o700)
    kubeconfig = write(path, content(exec={"apiVersion": ANSWER["apiVersion"], "command": str(script)}))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(kubeconfig.load)
        while not (path.parent / "begun").exists():
            await SystemClock().sleep(0.01)
        tasks.cancel_scope.cancel()


async def test_an_error_has_no_frames_that_hold_secrets(path: Path) -> None:
    made = content(token="hunter2", exec={"apiVersion": "v1", "command": "x"})
    made["clusters"][0]["cluster"]["server"] = "ftp://host"
    with pytest.raises(ConfigError) as caught:
        await write(path, made).load()
    told = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    frames = [frame for frame in told.stack if "/kinformer/" in frame.filename]
    assert [frame.name for frame in frames] == ["load"]
    assert "hunter2" not in str(frames[0].locals)


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


def with_cluster(field: str, value: Any) -> dict[str, Any]:
    made = content(exec={**PLUGIN, "provideClusterInfo": True})
    made["clusters"][0]["cluster"][field] = value
    return made


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ("a: [", ["is not valid YAML at line 1, column 5", "in quotes"]),
        ("just text", ["must be a mapping with clusters, contexts and users"]),
        ("", ["current-context is not set"]),
        ({"contexts": {"a": 1}}, ["contexts must be a list"]),
        ({"contexts": ["a"]}, ["contexts[0] must be a mapping with a name"]),
        ({"clusters": [{"name": "c", "cluster": 7}]}, ["clusters[c].cluster must be a mapping"]),
        (without(content(), "current-context"), ["current-context is not set: set it, or name a context"]),
        (content() | {"current-context": "gone"}, ["current-context 'gone' is not among the contexts there: dev, prod"]),
        (content() | {"clusters": []}, ["contexts[dev].context.cluster 'c' is not among the clusters: none"]),
        (content() | {"users": []}, ["contexts[dev].context.user 'u' is not among the users: none"]),
        (without(content(), "clusters", 0, "cluster", "server"), ["clusters[c].cluster.server is missing"]),
        (content() | {"clusters": [{"name": "c", "cluster": {"server": "dev:6443"}}]}, ["context 'dev'", "server's url must be like 'https://"]),
        (content(**{"client-certificate-data": "aGk=", "client-key-data": "aGk="}), ["context 'dev'", "client-certificate and client-key data cannot be used"]),
        (content(**{"client-certificate-data": "aGk=", "client-key": "absent.key"}), ["users[u].user.client-key cannot be read", "absent.key"]),
        (content(**{"client-certificate-data": "aGk"}), ["users[u].user.client-certificate-data must be a PEM file in base64"]),
        (content(**{"client-certificate": "absent.pem"}), ["users[u].user.client-key or client-key-data must be there"]),
        (content(**{"client-key-data": "aGk="}), ["users[u].user.client-certificate or client-certificate-data must be there"]),
        (content(**{"client-certificate": "absent.pem", "client-key": "absent.key"}), ["context 'dev'", "absent.pem"]),
        (content(token="t", username="me"), ["users[u].user.token and username are both set"]),
        (content(tokenFile="absent"), ["token file", "absent cannot be read"]),
        (content(exec={}, **{"auth-provider": {}}), ["users[u].user.exec and auth-provider are both set"]),
        (content(exec={"apiVersion": "client.authentication.k8s.io/v1", "command": "/no/such/plugin"}), ["context 'dev'", "/no/such/plugin"]),
        (content(exec={"apiVersion": "client.authentication.k8s.io/v1"}), ["users[u].user.exec: ", "command"]),
        (content(exec={"command": "x"}), ["users[u].user.exec: ", "apiVersion"]),
        (content(**{"auth-provider": {"name": "oidc", "config": {}}}), ["users[u].user.auth-provider.config.idp-issuer-url must be a URL"]),
        (content(**{"auth-provider": {"name": "oidc", "config": {"idp-issuer-url": "http://idp"}}}), ["idp-issuer-url must be a URL like 'https:"]),
        (content(**{"auth-provider": {"name": "azure"}}), ["users[u].user.auth-provider.name 'azure' must be oidc or gcp"]),
        (content(**{"as-groups": ["dev"]}), ["users[u].user.as cannot be used: impersonation needs a user"]),
        (content(**{"as": "jane", "as-user-extra": {"k": "v"}}), ["users[u].user.as-user-extra.k must be a list"]),
        (with_cluster("proxy-url", "ftp://proxy"), ["context 'dev'", "proxy's url must be like", "socks5"]),
        (with_cluster("proxy-url", "http://me:hunter2@proxy:x"), ["context 'dev'", "proxy's url must be like"]),
        (with_cluster("extensions", [5]), ["clusters[c].cluster.extensions must be a list of mappings"]),
    ],
)  # fmt: skip
async def test_what_is_wrong_is_said_with_file_and_field(path: Path, what: Any, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        await write(path, what).load()
    for part in [str(path.parent), *parts]:
        assert part in str(caught.value)
    assert "hunter2" not in str(caught.value)


async def test_a_context_that_was_asked_for_must_exist(path: Path) -> None:
    write(path, content())
    with pytest.raises(ConfigError, match="context 'staging' is not among the contexts there: dev, prod"):
        await Kubeconfig(path, context="staging").load()


async def test_a_missing_file_and_one_that_is_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="absent does not exist"):
        await Kubeconfig(tmp_path / "absent").load()
    with pytest.raises(ConfigError, match=f"kubeconfig {tmp_path} cannot be read"):
        await Kubeconfig(tmp_path).load()


async def test_a_home_that_nobody_has_is_told() -> None:
    with pytest.raises(ConfigError, match="kubeconfig ~nobody-of-that-name/config cannot be found"):
        await Kubeconfig("~nobody-of-that-name/config").load()


def test_without_a_home_there_is_no_kubeconfig(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 7)
    assert Kubeconfig.find({}) is None


@pytest.mark.parametrize(
    "user",
    [
        {"tokenFile": "a\0b"},
        {"client-certificate": "a\0b", "client-key-data": "eA=="},
        {"auth-provider": {"name": "oidc", "config": {"idp-issuer-url": "https://[x"}}},
    ],
    ids=["token file", "certificate", "provider"],
)
async def test_a_path_or_url_that_can_be_none_is_told(path: Path, user: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        await write(path, content(**user)).load()


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


def test_loading_imports_nothing_heavy(path: Path) -> None:
    write(path, content(exec=PLUGIN))
    code = (
        "import asyncio, sys, kinformer.client\n"
        f"asyncio.run(kinformer.client.Kubeconfig({str(path)!r}).load())\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"kubernetes_asyncio", "aiohttp", "cryptography"}
