"""What the commands complain about before they begin: one line on stderr, and code 2. They run in this process."""

import json
import logging
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kinformer.cli import main

pytestmark = pytest.mark.wire

CONTROLLER = """
from kinformer.controller import Controller, Request
from kinformer.meta import Resource

async def reconcile(request: Request) -> None: ...

controller = Controller("see", reconcile).watches(Resource.builtin("ConfigMap"))
"""

Complain = Callable[..., str]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty working folder; in the end what a command sets for its whole process is taken back."""
    monkeypatch.chdir(tmp_path)
    path, level = list(sys.path), logging.getLogger("kinformer").level
    yield
    sys.path[:] = path
    logging.getLogger("kinformer").setLevel(level)


@pytest.fixture
def failure(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Runs a command that cannot start; gives the lines on stderr."""

    def lines(*arguments: object) -> list[str]:
        assert main([str(argument) for argument in arguments]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        return err.splitlines()

    return lines


@pytest.fixture
def complaint(failure: Callable[..., list[str]]) -> Complain:
    """Runs a command that cannot start; gives the one line on stderr, behind the program's name."""

    def line(*arguments: object) -> str:
        (said,) = failure(*arguments)
        assert said.startswith("kinformer: error: ")
        return said.removeprefix("kinformer: error: ")

    return line


@pytest.fixture
def website(tmp_path: Path) -> Path:
    path = tmp_path / "website.py"
    path.write_text(CONTROLLER)
    return path


def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, complaint: Complain) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("apiVersion: v1\nkind: Config\n")
    said = complaint("apiserver", "--write-kubeconfig", path)
    assert "was not written by kinformer, so it is left alone" in said
    assert path.read_text() == "apiVersion: v1\nkind: Config\n"


def test_a_kubeconfig_that_cannot_be_written_is_a_complaint(tmp_path: Path, complaint: Complain) -> None:
    (tmp_path / "file").write_text("")
    assert complaint("apiserver", "--write-kubeconfig", tmp_path / "file" / "kubeconfig")


def test_a_port_in_use_is_a_complaint(complaint: Complain) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = complaint("apiserver", "--port", port)
    assert f"cannot listen on 127.0.0.1:{port}" in said


def test_a_server_out_of_reach_is_found_before_anything_runs(
    website: Path, tmp_path: Path, complaint: Complain
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        '{"apiVersion": "v1", "kind": "Config", "current-context": "c",'
        f' "clusters": [{{"name": "k", "cluster": {{"server": "http://127.0.0.1:{port}"}}}}],'
        ' "users": [], "contexts": [{"name": "c", "context": {"cluster": "k"}}]}'
    )
    said = complaint("run", website, "--kubeconfig", kubeconfig)
    assert f"the server at http://127.0.0.1:{port} cannot be reached" in said
    said = complaint("run", website, "--kubeconfig", kubeconfig, "--context", "other")
    assert "'other' is not among the contexts there: c" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "does not exist"), ("{", "is not valid YAML"), ("[]", "must be a mapping")],
)
def test_a_kubeconfig_that_cannot_be_read_is_a_complaint(
    website: Path, tmp_path: Path, content: str | None, said: str, complaint: Complain
) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    assert said in complaint("run", website, "--kubeconfig", path)


def test_wrong_flags_and_missing_files_are_complaints(tmp_path: Path, complaint: Complain) -> None:
    assert "unrecognized arguments: --embeded" in complaint("run", "a.py", "--embeded")
    assert "a.py does not exist" in complaint("run", "a.py")
    (tmp_path / "empty.py").write_text("")
    assert "nothing to run" in complaint("run", "empty.py", "--embedded")


def test_an_error_in_the_users_own_file_shows_its_traceback_and_one_line(
    tmp_path: Path, failure: Callable[..., list[str]]
) -> None:
    (tmp_path / "broken.py").write_text("def f():\n    return 1 / 0\n\nf()\n")
    *traceback, last = failure("run", "broken.py", "--embedded")
    assert last == "kinformer: error: broken.py failed to import: ZeroDivisionError: division by zero"
    assert traceback[0].startswith("Traceback")
    assert not [line for line in traceback if "kinformer/cli" in line or "importlib" in line]


def test_a_manager_with_clients_of_its_own_does_not_take_ours(tmp_path: Path, complaint: Complain) -> None:
    (tmp_path / "own.py").write_text(
        CONTROLLER + "\nfrom kinformer.client import Client\nfrom kinformer.controller import Manager\n"
        "manager = Manager(controller, clients=Client('http://127.0.0.1:1'))\n"
    )
    said = complaint("run", "own.py", "--embedded")
    assert "has clients of its own, so --embedded cannot be heeded" in said


@pytest.mark.parametrize("server", ["https://127.0.0.1:1", "http://127.0.0.1:1"])
def test_a_plugin_that_fails_is_a_complaint(
    website: Path, tmp_path: Path, server: str, complaint: Complain
) -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "false"}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"exec": plugin}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(kubeconfig))
    assert complaint("run", website, "--kubeconfig", "kubeconfig").startswith(
        "kubeconfig kubeconfig, context 'c': "
    )
