"""The command line as a user meets it: real processes, real sockets, real signals."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.wire.haste import is_soon

pytestmark = [pytest.mark.wire, pytest.mark.timeout(60)]

CONTROLLER = """
from kinformer.controller import Controller, Request
from kinformer.meta import Resource

MAPS = Resource.builtin("ConfigMap")

async def reconcile(request: Request) -> None:
    found = request.lister(MAPS).get(request.key)
    if found is not None and "seen" not in found.at("data", default={}):
        print("seeing", request.key, flush=True)
        await request.client.resource(MAPS).patch(request.key, {"data": {"seen": "yes"}})

controller = Controller("see", reconcile).watches(MAPS)

if __name__ == "__main__":
    raise SystemExit("the main part ran")
"""


def kinformer(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    command = [sys.executable, "-W", "error", "-m", "kinformer", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=50, check=False)


@contextmanager
def started(*arguments: object) -> Iterator[subprocess.Popen[str]]:
    """Run a command while the block runs."""
    command = [sys.executable, "-W", "error", "-m", "kinformer", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line_with(process: subprocess.Popen[str], text: str) -> str:
    """Read the output up to a line with this text."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return line.strip()
    assert process.stderr is not None
    raise AssertionError(f"no line with {text!r}; stderr: {process.stderr.read()}")


def ended(process: subprocess.Popen[str], number: signal.Signals) -> tuple[int, str, float]:
    """Send a signal; exit code, stderr, and how long it took."""
    began = time.perf_counter()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=10)
    return process.returncode, stderr, time.perf_counter() - began


def create(url: str, name: str, namespace: str = "default") -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    response = httpx.post(f"{url}/api/v1/namespaces/{namespace}/configmaps", json=body, trust_env=False)
    response.raise_for_status()


def data_of(url: str, name: str, namespace: str = "default") -> dict[str, str]:
    path = f"{url}/api/v1/namespaces/{namespace}/configmaps/{name}"
    return dict(httpx.get(path, trust_env=False).raise_for_status().json().get("data", {}))


@pytest.fixture
def website(tmp_path: Path) -> Path:
    path = tmp_path / "website.py"
    path.write_text(CONTROLLER)
    return path


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_apiserver_serves_until_interrupted_and_takes_its_kubeconfig_along(
    number: signal.Signals,
) -> None:
    with started("apiserver") as process:
        url = line_with(process, "apiserver:").split()[1]
        kubeconfig = Path(line_with(process, "kubeconfig:").split()[1])
        line_with(process, "Ctrl-C ends it")
        assert kubeconfig.stat().st_mode & 0o777 == 0o600
        assert url in kubeconfig.read_text()
        assert "gitVersion" in httpx.get(f"{url}/version", trust_env=False).json()
        code, stderr, took = ended(process, number)
    assert (code, stderr) == (0, "")
    assert is_soon(took, 1)
    assert not kubeconfig.exists()


@pytest.mark.parametrize("options", [(), ("-v",)])
def test_the_apiserver_logs_each_request_where_it_is_asked_to(options: tuple[str, ...]) -> None:
    with started("apiserver", *options) as process:
        url = line_with(process, "apiserver:").split()[1]
        line_with(process, "Ctrl-C ends it")
        httpx.get(f"{url}/api/v1/namespaces?limit=1", trust_env=False)
        httpx.get(f"{url}/no%0A/such", trust_env=False)
        _, stderr, _ = ended(process, signal.SIGINT)
    logged = [line.partition("kinformer.apiserver: ")[2] for line in stderr.splitlines()]
    requests = ["GET /api/v1/namespaces?limit=1: 200", "GET /no%0A/such: 404"]
    assert [line for line in logged if line.startswith("GET")] == (requests if options else [])


def test_a_kubeconfig_with_a_path_stays_and_is_written_anew_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    for _ in range(2):
        with started("apiserver", "--write-kubeconfig", path) as process:
            url = line_with(process, "apiserver:").split()[1]
            line_with(process, "Ctrl-C ends it")
            assert url in path.read_text()
            assert ended(process, signal.SIGINT)[0] == 0
    assert path.exists()


def test_controllers_of_a_file_run_against_a_kubeconfig_until_interrupted(
    website: Path, tmp_path: Path
) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    with started("apiserver", "--write-kubeconfig", kubeconfig) as server:
        url = line_with(server, "apiserver:").split()[1]
        line_with(server, "Ctrl-C ends it")
        create(url, "before")
        with started("run", website, "--kubeconfig", kubeconfig) as process:
            assert line_with(process, "running see against").endswith(f"{url}; Ctrl-C ends it")
            line_with(process, "seeing default/before")
            create(url, "after")
            line_with(process, "seeing default/after")
            code, stderr, took = ended(process, signal.SIGINT)
        assert code == 0, stderr
        assert "Traceback" not in stderr
        assert is_soon(took, 1)
        assert data_of(url, "before") == {"seen": "yes"}


def test_an_embedded_apiserver_comes_with_its_kubeconfig(website: Path) -> None:
    with started("run", website, "--embedded") as process:
        url = line_with(process, "apiserver:").split()[1]
        assert Path(line_with(process, "kubeconfig:").split()[1]).exists()
        line_with(process, "running see against")
        create(url, "hello")
        line_with(process, "seeing default/hello")
        code, stderr, took = ended(process, signal.SIGTERM)
    assert code == 0, stderr
    assert is_soon(took, 1)


def test_a_namespace_restricts_what_is_watched_and_what_the_preflight_asks_for(website: Path) -> None:
    with started("run", website, "--embedded", "--namespace", "kube-system", "--preflight") as process:
        url = line_with(process, "apiserver:").split()[1]
        assert line_with(process, "configmaps").split("  ")[-1] == "list, watch"
        assert line_with(process, "configmaps").startswith("configmaps  in kube-system  0 ")
        line_with(process, "running see against")
        create(url, "out")
        create(url, "in", "kube-system")
        assert line_with(process, "seeing") == "seeing kube-system/in"
        assert ended(process, signal.SIGINT)[0] == 0
    assert process.returncode == 0


def test_the_demo_converges_and_says_so() -> None:
    began = time.perf_counter()
    done = kinformer("demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "The world is what it should be."
    assert "> Break: somebody deletes the Deployment of blog" in done.stdout
    assert "    shop: all gone" in done.stdout
    assert is_soon(time.perf_counter() - began, 20)


def test_the_demo_can_be_interrupted() -> None:
    with started("demo") as process:
        line_with(process, "> Create")
        code, stderr, took = ended(process, signal.SIGINT)
    assert (code, stderr) == (130, "")
    assert is_soon(took, 2)


def test_an_extra_that_is_missing_is_named() -> None:
    code = "import sys; sys.modules['rich'] = None; from kinformer.cli import main; sys.exit(main(['demo']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        2,
        "kinformer: error: this needs rich, which is not installed: pip install 'kinformer[cli]'\n",
    )


def test_the_version_is_printed() -> None:
    done = kinformer("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("kinformer 0.")


@pytest.mark.parametrize("name", ["apiserver", "demo"])
def test_output_that_nobody_reads_is_no_error(name: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "kinformer", name]
    with os.fdopen(write, "w") as closed:
        done = subprocess.run(
            command, stdout=closed, stderr=subprocess.PIPE, text=True, timeout=20, check=False
        )
    assert (done.returncode, done.stderr) == (141, "")
