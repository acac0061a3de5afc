"""How commands end from outside: signals at awkward moments, and output that cannot be written."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event

import pytest

from tests.wire.haste import is_soon

pytestmark = [pytest.mark.wire, pytest.mark.timeout(60)]

FULL = Path("/dev/full")

CONTROLLER = """
from kinformer.controller import Controller, Request
from kinformer.meta import Resource

async def reconcile(request: Request) -> None:
    pass

controller = Controller("idle", reconcile).watches(Resource.builtin("ConfigMap"))
"""

COMMANDS = {
    "apiserver": (["apiserver"], "Ctrl-C ends it"),
    "run": (["run", "idle.py", "--embedded"], "running idle against"),
    "demo": (["demo"], "An apiserver listens on"),
}


def command(name: str) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "kinformer", *COMMANDS[name][0]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder; what a command keeps for itself goes to ``tmp`` in it."""
    (tmp_path / "idle.py").write_text(CONTROLLER)
    (tmp_path / "tmp").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("apiserver", signal.SIGINT),
        ("apiserver", signal.SIGHUP),
        ("run", signal.SIGTERM),
        ("run", signal.SIGHUP),
        ("demo", signal.SIGTERM),
    ],
)
def test_each_signal_ends_each_command_within_a_second_and_leaves_nothing(
    folder: Path, name: str, number: signal.Signals
) -> None:
    environ = {**os.environ, "TMPDIR": str(folder / "tmp")}
    with subprocess.Popen(
        command(name), cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert any(COMMANDS[name][1] in line for line in process.stdout)
        began = time.perf_counter()
        process.send_signal(number)
        process.send_signal(number)  # twice, as people do
        _, stderr = process.communicate(timeout=10)
        assert is_soon(time.perf_counter() - began, 1)
    assert process.returncode == (130 if name == "demo" else 0)
    assert "Traceback" not in stderr
    assert list((folder / "tmp").iterdir()) == []


@pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("name", COMMANDS)
def test_output_that_cannot_be_written_is_one_line_on_stderr(folder: Path, name: str) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            command(name), cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=30, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "kinformer: error: stdout cannot be written to: No space left on device\n"


def test_an_apiserver_serves_without_any_stdout(folder: Path) -> None:
    code = "import os, sys; os.close(1); os.execv(sys.executable, sys.argv[1:])"  # as '>&-' does in a shell
    arguments = [*command("apiserver"), "--write-kubeconfig", "kubeconfig"]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as process:
        while not (folder / "kubeconfig").exists() and process.poll() is None:
            Event().wait(0.05)
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate(timeout=10)
    assert (process.returncode, stderr) == (0, "")
