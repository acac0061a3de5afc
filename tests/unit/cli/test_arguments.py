"""From the text of a command line to one command."""

from pathlib import Path

import pytest

from kinformer.cli._arguments import (
    ApiserverCommand,
    Command,
    DemoCommand,
    ManifestsCommand,
    RunCommand,
    parse,
)
from kinformer.cli._complaint import Complaint


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("demo", DemoCommand()),
        ("run website.py", RunCommand(Path("website.py"))),
        ("run website.py:controller", RunCommand(Path("website.py"), "controller")),
        ("run dir:with/colon.py", RunCommand(Path("dir:with/colon.py"))),
        (r"run C:\web.py", RunCommand(Path(r"C:\web.py"))),
        ("run website.py --embedded -v", RunCommand(Path("website.py"), embedded=True, verbose=True)),
        (
            "run website.py --kubeconfig k --context c --namespace shop",
            RunCommand(Path("website.py"), kubeconfig="k", context="c", namespace="shop"),
        ),
        ("run website.py --address :8080", RunCommand(Path("website.py"), address=":8080")),
        ("run website.py --preflight", RunCommand(Path("website.py"), preflight=True)),
        ("manifests website.py", ManifestsCommand(Path("website.py"))),
        (
            "manifests website.py:c --name web --namespace shop --image i:1",
            ManifestsCommand(Path("website.py"), "c", "web", "shop", "i:1"),
        ),
        ("apiserver", ApiserverCommand()),
        ("apiserver --port 8001 --write-kubeconfig k", ApiserverCommand(8001, Path("k"))),
        ("apiserver --storage memory", ApiserverCommand()),
        ("apiserver --tls", ApiserverCommand(tls=True)),
        ("apiserver --rbac", ApiserverCommand(tls=True, rbac=True)),
        ("apiserver --storage etcd://127.0.0.1:2379", ApiserverCommand(etcd="127.0.0.1:2379")),
        ("apiserver --storage etcd://[::1]:2379", ApiserverCommand(etcd="[::1]:2379")),
        ("apiserver --storage etcds://here:2379", ApiserverCommand(etcd="etcds://here:2379")),
    ],
)
def test_a_command_line_becomes_a_command(text: str, command: Command) -> None:
    assert parse(text.split(), version="1") == command


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the following arguments are required: command; see kinformer --help"),
        ("dance", "invalid choice: 'dance'"),
        ("run", "the following arguments are required: FILE[:NAME]; see kinformer run --help"),
        ("run a.py --embeded", "unrecognized arguments: --embeded"),
        ("run a.py --embed", "unrecognized arguments: --embed"),
        ("run a.py --embedded --context c", "--embedded brings its own server"),
        ("run a.py --namespace Shop", "'Shop' is no namespace"),
        ("run a.py --namespace shöp", "'shöp' is no namespace"),
        ("run a.py --namespace shop-", "'shop-' is no namespace: it has up to 63 lower-case letters"),
        (f"run a.py --namespace {'a' * 64}", "and no dash at its ends"),
        ("run a.py --address 8080", "address='8080' must be 'host:port'"),
        ("manifests", "the following arguments are required: FILE[:NAME]; see kinformer manifests --help"),
        ("manifests a.py --name Web", "'Web' is no name"),
        ("manifests a.py --name a-", "'a-' is no name"),
        ("manifests a.py --image=", "'' is no image: give its name without spaces"),
        ("apiserver --port 65536", "'65536' is no port: give a number from 0 to 65535"),
        ("apiserver --port x", "'x' is no port"),
        ("apiserver --storage disk", "'disk' is no storage: give memory, or etcd://HOST:PORT"),
        ("apiserver --storage etcd://here", "'etcd://here' is no storage"),
        ("apiserver --storage https://here:1", "'https://here:1' is no storage"),
        ("apiserver --storage etcd://:1", "'etcd://:1' is no storage"),
        ("apiserver --storage here:1", "'here:1' is no storage"),
    ],
)
def test_a_wrong_command_line_is_one_complaint(text: str, complaint: str) -> None:
    with pytest.raises(Complaint) as raised:
        parse(text.split(), version="1")
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("image", ["web\nkind: Evil", "web 1", "web\u2028"])
def test_an_image_cannot_become_yaml_of_its_own(image: str) -> None:
    with pytest.raises(Complaint, match="is no image"):
        parse(["manifests", "a.py", "--image", image], version="1")


@pytest.mark.parametrize("command", ["run", "manifests", "apiserver"])
def test_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([command, "--help"], version="1")
    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert f"  kinformer {command} " in printed
    assert "Exit codes:" in printed
    assert max(map(len, printed.splitlines())) <= 120


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--version"], version="1.2.3")
    assert (ended.value.code, capsys.readouterr().out) == (0, "kinformer 1.2.3\n")
