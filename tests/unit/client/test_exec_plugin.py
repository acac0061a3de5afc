import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from kinformer.client import Certificate
from kinformer.client._exec_plugin import ExecPlugin
from kinformer.client._issuer import Issued
from kinformer.errors import ConfigError

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"


def read(cluster: dict[str, Any] | None = None, **fields: Any) -> ExecPlugin:
    given = {"command": "p", "apiVersion": V1} | fields
    return ExecPlugin.of(given, command=given["command"], cluster=cluster or {})


def answer(status: Any, *, api_version: str = V1, kind: str = "ExecCredential") -> bytes:
    return json.dumps({"apiVersion": api_version, "kind": kind, "status": status}).encode()


def test_the_fields_are_read() -> None:
    plugin = read(
        args=["token", "--x"],
        env=[{"name": "A", "value": "b"}],
        installHint="Install it with brew.\n",
        interactiveMode="Never",
        provideClusterInfo=True,
        cluster={"server": "https://host"},
    )
    assert plugin == ExecPlugin(
        "p", ("token", "--x"), {"A": "b"}, V1, "Install it with brew.", "Never", {"server": "https://host"}
    )


@pytest.mark.parametrize("api_version", [V1, V1BETA1])
def test_what_may_be_absent_may_also_be_null(api_version: str) -> None:
    absent = dict.fromkeys(("args", "env", "installHint", "interactiveMode", "provideClusterInfo"))
    plugin = read({"server": "s"}, apiVersion=api_version, **absent)
    assert plugin == ExecPlugin("p", api_version=api_version)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"apiVersion": "client.authentication.k8s.io/v1alpha1"}, "exec.apiVersion .*v1alpha1.* must be .*v1beta1"),
        ({"apiVersion": None}, r"exec: Expected `str`, got `null` - at `\$.apiVersion`"),
        ({"args": "hunter2"}, r"exec: Expected `array \| null`, got `str` - at `\$.args`"),
        ({"args": [7]}, r"exec: Expected `str`, got `int` - at `\$.args\[0\]`"),
        ({"env": [{"name": "hunter2"}]}, r"exec: Object missing required field `value` - at `\$.env\[0\]`"),
        ({"interactiveMode": "hunter2"}, r"exec: Invalid enum value 'hunter2' - at `\$.interactiveMode`"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read(**fields)


def test_a_plugin_is_told_what_it_may_do() -> None:
    assert json.loads(read().request(interactive=True)) == {
        "apiVersion": V1,
        "kind": "ExecCredential",
        "spec": {"interactive": True},
    }
    told = read(apiVersion=V1BETA1, provideClusterInfo=True, cluster={"server": "s"}).request(
        interactive=False
    )
    assert json.loads(told) == {
        "apiVersion": V1BETA1,
        "kind": "ExecCredential",
        "spec": {"interactive": False, "cluster": {"server": "s"}},
    }


def test_a_plugin_cannot_be_told_what_json_cannot_say() -> None:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    for config in (cycle, {None: 1}):
        plugin = read(provideClusterInfo=True, cluster={"config": config})
        with pytest.raises(ConfigError, match="what JSON cannot say"):
            plugin.request(interactive=False)


@pytest.mark.parametrize(
    ("mode", "has_terminal", "interactive"),
    [
        ("Never", True, False),
        ("Never", False, False),
        ("IfAvailable", True, True),
        ("IfAvailable", False, False),
        ("Always", True, True),
    ],
)
def test_people_are_asked_where_it_may_be(mode: str, has_terminal: bool, interactive: bool) -> None:
    assert read(interactiveMode=mode).is_interactive(has_terminal=has_terminal) is interactive


def test_a_plugin_that_must_ask_people_is_not_run_without_any() -> None:
    with pytest.raises(ConfigError, match="interactiveMode Always"):
        read(interactiveMode="Always").is_interactive(has_terminal=False)


def test_a_token_and_a_certificate_are_understood() -> None:
    moment = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    assert read().issued(answer({"token": "t", "expirationTimestamp": moment.isoformat()})) == Issued(
        "Bearer t", None, datetime(2026, 1, 1, 10, tzinfo=UTC)
    )
    both = {"token": "t", "clientCertificateData": "c", "clientKeyData": "k", "more": 7}
    assert read().issued(answer(both)) == Issued("Bearer t", Certificate("c", "k"))
    assert read().issued(answer({"clientCertificateData": "c", "clientKeyData": "k"})) == Issued(
        "", Certificate("c", "k")
    )


@pytest.mark.parametrize(
    ("output", "said"),
    [
        (b"", "did not print an ExecCredential as JSON"),
        (b"hunter2", "did not print an ExecCredential as JSON"),
        (b'{"hunter2', "did not print an ExecCredential as JSON"),
        (b"[" * 5000, "did not print an ExecCredential as JSON"),
        (b'["hunter2"]', "did not print an ExecCredential as JSON"),
        (answer({"token": "hunter2"}, api_version=V1BETA1), "where ExecCredential of .*v1' was asked for"),
        (answer({"token": "hunter2"}, kind="Token"), "printed 'Token' of"),
        (answer(None), "neither status.token nor"),
        (answer({"token": ""}), "neither status.token nor"),
        (answer({"token": ["hunter2"]}), "did not print"),
        (answer({"clientCertificateData": "hunter2"}), "a client certificate without its key"),
        (answer({"token": "t", "clientKeyData": "hunter2"}), "a client key without its certificate"),
        (answer({"token": "hunter2", "expirationTimestamp": "tomorrow"}), "RFC3339"),
        (answer({"token": "hunter2", "expirationTimestamp": "2026-01-01T00:00:00"}), "timezone"),
    ],
)
def test_any_other_answer_is_refused_and_not_shown(output: bytes, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        read().issued(output)
    assert "the exec plugin 'p'" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_the_hint_is_for_those_who_lack_the_program() -> None:
    missing = FileNotFoundError(2, "No such file or directory")
    assert str(read(installHint="brew install p").missing(missing)) == (
        "the exec plugin 'p' could not be started (No such file or directory)\n\nbrew install p"
    )
    assert "install it, or correct exec.command" in str(read().missing(missing))


def test_a_complaint_is_passed_on_without_the_secrets_that_are_known() -> None:
    plugin = read(args=["--password=hunter2"], env=[{"name": "SECRET", "value": "swordfish"}])
    said = str(plugin.failed(3, b"+ login --password=hunter2\nSECRET=swordfish is wrong\n"))
    assert said == "the exec plugin 'p' ended with code 3: + login [...] SECRET=[...] is wrong"
    assert str(plugin.failed(1, b"")).endswith("it printed no reason")
    assert len(str(plugin.failed(1, b"x" * 10000))) < 600


def test_arguments_and_environment_are_not_shown() -> None:
    plugin = read(
        args=["hunter2"],
        env=[{"name": "A", "value": "hunter2"}],
        cluster={"config": "hunter2"},
        provideClusterInfo=True,
    )
    assert "hunter2" not in repr(plugin) + str(plugin)
