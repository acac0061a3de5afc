"""How a test drives a real kubectl."""

import contextlib
import os
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import msgspec
import pytest
from anyio.abc import Process

from kinformer.apiserver import ApiServer
from kinformer.system_clock import SystemClock

WEBSITE = Path(__file__).parents[2] / "examples" / "website"
CLOCK = SystemClock()


def needs(kubectl: str, minor: int, what: str) -> None:
    """Skip the test where kubectl is older than 1.``minor``, such as the one of a distribution."""
    shown = subprocess.run([kubectl, "version", "--client", "-o", "json"], capture_output=True, check=True)
    version = msgspec.json.decode(shown.stdout)["clientVersion"]
    if int(version["minor"].rstrip("+")) < minor:
        pytest.skip(f"kubectl {version['gitVersion']} has no {what}")


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str


class Kubectl:
    """One kubectl with a home, a discovery cache and a kubeconfig of its own (A-7).

    ``editor`` is a sed script: what ``kubectl edit`` does to the text.
    """

    def __init__(self, path: str, home: Path, *, editor: str = "s/replaced/rewritten/") -> None:
        self._command = [path, "--kubeconfig", str(home / "config"), "--cache-dir", str(home / "cache")]
        self._environment = {**os.environ, "HOME": str(home), "KUBE_EDITOR": f"sed -i {editor}"}

    async def run(self, *arguments: str, stdin: str = "") -> Result:
        """Run a command to its end."""
        done = await anyio.run_process(
            [*self._command, *arguments], input=stdin.encode(), check=False, env=self._environment
        )
        return Result(done.returncode, done.stdout.decode(), done.stderr.decode())

    async def __call__(self, *arguments: str, stdin: str = "") -> str:
        """Run a command that must succeed; gives what it prints."""
        result = await self.run(*arguments, stdin=stdin)
        assert result.code == 0, f"kubectl {' '.join(arguments)}: {result.out}{result.err}"
        return result.out

    @asynccontextmanager
    async def follow(self, *arguments: str) -> AsyncIterator["Followed"]:
        """Run a command that does not end by itself, and read what it prints."""
        command = [*self._command, *arguments]
        process = await anyio.open_process(command, env=self._environment, stderr=subprocess.STDOUT)
        async with process:
            try:
                yield Followed(process)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()


class Followed:
    """The lines of a command that runs."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._text = ""

    async def line(self, *, timeout: float = 10.0) -> str:
        """The next line; an assertion fails where none comes in time."""
        stdout = self._process.stdout
        assert stdout is not None
        with CLOCK.move_on_after(timeout) as scope:
            while "\n" not in self._text:
                self._text += (await stdout.receive()).decode()
        assert not scope.cancelled_caught, f"no line within {timeout} s after {self._text!r}"
        line, _, self._text = self._text.partition("\n")
        return line


@asynccontextmanager
async def cluster(kubectl: str, home: Path) -> AsyncIterator[Kubectl]:
    async with ApiServer() as server, server.serve() as endpoint:
        endpoint.write_kubeconfig(home / "config")
        yield Kubectl(kubectl, home)


@asynccontextmanager
async def with_websites(kubectl: str, home: Path) -> AsyncIterator[Kubectl]:
    async with cluster(kubectl, home) as run:
        assert "created" in await run("apply", "-f", str(WEBSITE / "crd.yaml"))
        assert "created" in await run("apply", "-f", str(WEBSITE / "sample.yaml"))
        yield run


async def until(claim: Callable[[], bool], *, timeout: float = 10.0) -> None:
    with CLOCK.move_on_after(timeout):
        while not claim():
            await CLOCK.sleep(0.02)
    assert claim()
