import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kinformer.client import Certificate, Impersonation, Kubeconfig
from kinformer.errors import ConfigError
from tests.certificates import Authority
from tests.kubeconfigs import ANSWER, content, plugin, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config"


def base64ed(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


async def test_the_ways_to_a_cluster_are_translated(path: Path, authority: Authority) -> None:
    what = content()
    what["clusters"][0]["cluster"] |= {
        "insecure-skip-tls-verify": True,
        "tls-server-name": "kubernetes",
        "proxy-url": "http://proxy:3128",
        "certificate-authority": "ca.pem",
    }
    what["users"][0]["user"] = {"client-certificate": "me.pem", "client-key": "me.key"}
    (path.parent / "ca.pem").write_text(authority.pem)
    authority.sign("me").write(path.parent, "me")
    config = await write(path, what).load()
    assert config.tls.verify is False
    assert config.tls.server_name == "kubernetes"
    assert config.proxy == "http://proxy:3128"
    found = (config.tls.ca_file, config.tls.cert_file, config.tls.key_file)
    assert found == tuple(str(path.parent / name) for name in ("ca.pem", "me.pem", "me.key"))


async def test_certificates_may_stand_in_the_kubeconfig_itself_and_then_count(
    path: Path, authority: Authority
) -> None:
    pair, other = authority.sign("me"), authority.sign("other")
    what = content(
        **{
            "client-certificate": "absent.pem",
            "client-certificate-data": base64ed(pair.chain),
            "client-key-data": base64ed(pair.key),
        }
    )
    what["clusters"][0]["cluster"] |= {
        "certificate-authority": "absent.pem",
        "certificate-authority-data": base64ed(authority.pem),
    }
    config = await write(path, what).load()
    assert config.tls.ca_data == authority.pem
    assert config.tls.certificates == Certificate(pair.chain, pair.key)
    assert pair.key not in repr(config)
    other.write(path.parent, "other")
    halves = {"client-certificate-data": base64ed(other.chain), "client-key": "other.key"}
    config = await write(path, content(**halves)).load()
    assert config.tls.certificates == Certificate(other.chain, other.key)


async def test_what_a_user_names_lies_beside_the_file_of_the_user(
    tmp_path: Path, authority: Authority
) -> None:
    folders = [tmp_path / name for name in ("clusters", "users")]
    for folder in folders:
        folder.mkdir()
    cluster, user = (
        content(),
        content(**{"client-certificate": "me.pem", "client-key": "me.key", "tokenFile": "token"}),
    )
    del cluster["users"]
    del user["clusters"]
    cluster["clusters"][0]["cluster"]["certificate-authority"] = "ca.pem"
    (folders[0] / "ca.pem").write_text(authority.pem)
    (folders[1] / "token").write_text("hunter2\n")
    authority.sign("me").write(folders[1], "me")
    write(folders[0] / "config", cluster)
    write(folders[1] / "config", user)
    paths = os.pathsep.join(str(folder / "config") for folder in folders)
    config = await Kubeconfig(paths).load()
    assert config.tls.ca_file == str(folders[0] / "ca.pem")
    assert config.tls.cert_file == str(folders[1] / "me.pem")
    assert await config.credentials.authorization() == "Bearer hunter2"


async def test_a_token_file_is_read_again_and_counts_before_a_token(path: Path) -> None:
    token = path.parent / "token"
    token.write_text("one\n")
    config = await write(path, content(token="old", tokenFile="token")).load()
    assert await config.credentials.authorization() == "Bearer one"
    token.write_text("three\n")
    assert await config.credentials.authorization() == "Bearer three"


async def test_somebody_else_can_be_acted_as(path: Path) -> None:
    user = {"as": "jane", "as-uid": "u-1", "as-groups": ["dev"], "as-user-extra": {"reason": ["x", "y"]}}
    config = await write(path, content(token="t", **user)).load()
    assert config.impersonation == Impersonation("jane", "u-1", ("dev",), {"reason": ("x", "y")})
    assert ("Impersonate-Group", "dev") in config.headers


async def test_fixed_credentials_spare_the_plugin(path: Path, authority: Authority) -> None:
    command = plugin(path, None)
    authority.sign("me").write(path.parent, "me")
    files = {"client-certificate": "me.pem", "client-key": "me.key"}
    for user, header in (
        ({"token": "t"}, "Bearer t"),
        ({"username": "me"}, "Basic bWU6"),
        (files, ""),
    ):
        config = await write(path, content(exec=command, **user)).load()
        assert await config.credentials.authorization() == header
    assert not (path.parent / "runs").exists()


async def test_a_plugin_may_lie_beside_the_kubeconfig_and_is_told_of_the_cluster(
    path: Path, authority: Authority
) -> None:
    what = content(exec={**plugin(path, None), "command": "./plugin", "provideClusterInfo": True})
    (path.parent / "ca.pem").write_text(authority.pem)
    what["clusters"][0]["cluster"] |= {
        "certificate-authority": "ca.pem",
        "tls-server-name": "kubernetes",
        "extensions": [
            {"name": "other", "extension": 1},
            {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}},
        ],
    }
    await write(path, what).load()
    asked = json.loads((path.parent / "asked").read_text())
    assert asked["spec"]["cluster"] == {
        "server": "https://dev:6443/",
        "tls-server-name": "kubernetes",
        "certificate-authority-data": base64ed(authority.pem),
        "config": {"audience": "x"},
    }


async def test_a_plugin_may_issue_certificates(path: Path, authority: Authority) -> None:
    pairs = [authority.sign(name) for name in ("one", "two")]
    for number, pair in enumerate(pairs, 1):
        status = {"clientCertificateData": pair.chain, "clientKeyData": pair.key}
        (path.parent / f"answer-{number}").write_text(json.dumps({**ANSWER, "status": status}))
    script = path.parent / "plugin"
    script.write_text(
        f"#!/bin/sh\necho x >> {path.parent}/runs\ncat {path.parent}/answer-$(($(wc -l < {path.parent}/runs)))\n"
    )
    script.chmod(0o700)
    config = await write(
        path, content(exec={"apiVersion": ANSWER["apiVersion"], "command": str(script)})
    ).load()
    assert config.tls.has_certificate
    held = config.tls.certificates
    assert held is not None
    assert held.certificate == Certificate(*pairs[0])
    assert await config.credentials.authorization(rejected="") == ""
    assert held.certificate == Certificate(*pairs[1])


async def test_a_login_at_an_identity_provider_is_used(path: Path) -> None:
    claims = base64.urlsafe_b64encode(b'{"exp": 32503680000}').decode().rstrip("=")
    token = f"e30.{claims}.x"
    provider = {"idp-issuer-url": "https://idp", "client-id": "me", "id-token": token}
    config = await write(path, content(**{"auth-provider": {"name": "oidc", "config": provider}})).load()
    assert await config.credentials.authorization() == f"Bearer {token}"
    assert token not in repr(config)


async def test_tokens_of_gcloud_are_used(path: Path) -> None:
    script = path.parent / "gcloud"
    printed = '{"credential": {"access_token": "a", "token_expiry": "2999-01-01T00:00:00Z"}}'
    script.write_text(f"#!/bin/sh\necho '{printed}'\n")
    script.chmod(0o700)
    provider = {"name": "gcp", "config": {"cmd-path": str(script), "cmd-args": "config config-helper"}}
    config = await write(path, content(**{"auth-provider": provider})).load()
    assert await config.credentials.authorization() == "Bearer a"


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"token": "hunter\n2"}, r"kubeconfig .*config: users\[u\].user.token must be one line"),
        ({"token": "h\u00fcnter2"}, r"users\[u\].user.token must be one line"),
        ({"tokenFile": "none"}, r"kubeconfig .*config: users\[u\].user.tokenFile cannot be used: .*none"),
        ({"tokenFile": "bad"}, r"users\[u\].user.tokenFile cannot be used: .*bad must hold one line"),
    ],
)
async def test_a_token_that_cannot_be_sent_is_told_with_its_file_and_field(
    tmp_path: Path, user: dict[str, Any], message: str
) -> None:
    (tmp_path / "bad").write_text("hunter\n2")
    with pytest.raises(ConfigError, match=message) as caught:
        await write(tmp_path / "config", content(**user)).load()
    assert "hunter" not in str(caught.value)
