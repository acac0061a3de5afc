"""The README's and the issue's script, by hand: an apiserver, a controller and kubectl, each a process of its own."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from tests.clients.kubectl import CLOCK, WEBSITE, Followed, Kubectl
from tests.wire.haste import is_soon

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

EXAMPLE = WEBSITE.parent / "03_website_controller.py"
LIMIT = 1.0
"""How long the controller may take to follow, on an idle machine, from the moment at which kubectl is done."""
LATE = 12.0
"""How long the controller runs before its kind is defined: it has asked for it, and would next ask on its own much later."""


@asynccontextmanager
async def kinformer(*arguments: str) -> AsyncIterator[Followed]:
    """One ``kinformer`` command, which must end in good order when it is told to."""
    command = [sys.executable, "-W", "error", "-m", "kinformer", *arguments]
    async with await anyio.open_process(command, env=dict(os.environ)) as process:
        try:
            yield Followed(process)
            process.terminate()
            with CLOCK.move_on_after(10.0):
                await process.wait()
            assert process.returncode == 0
        finally:
            if process.returncode is None:
                process.kill()


async def shows(kubectl: Kubectl, expected: str, *arguments: str) -> None:
    """Ask until kubectl prints what is expected, which must be soon."""
    found: str | None = None
    began = CLOCK.monotonic()
    while found != expected and is_soon(CLOCK.monotonic() - began, LIMIT):
        found = (await kubectl.run(*arguments)).out.strip()
    assert found == expected, f"kubectl {' '.join(arguments)}"


async def follows(followed: Followed, *expected: str) -> None:
    """The next line begins with these columns, and comes soon."""
    began = CLOCK.monotonic()
    assert (await followed.line()).split()[: len(expected)] == list(expected)
    assert is_soon(CLOCK.monotonic() - began, LIMIT)


async def test_the_controller_follows_what_kubectl_says_within_a_second(kubectl: str, tmp_path: Path) -> None:
    config = str(tmp_path / "config")
    run = Kubectl(kubectl, tmp_path, editor="s/replicas:.2/replicas:\\ 4/")
    async with kinformer("apiserver", "--port", "0", "--write-kubeconfig", config) as server:
        assert "http://127.0.0.1:" in await server.line()
        async with kinformer("run", str(EXAMPLE), "--kubeconfig", config):
            await CLOCK.sleep(LATE)
            await run("apply", "-f", str(WEBSITE / "crd.yaml"))
            await run("wait", "--for=condition=Established", "crd/websites.example.dev", "--timeout=10s")
            await run("apply", "-f", str(WEBSITE / "sample.yaml"))
            replicas = ("get", "deployment", "hello", "-o", "jsonpath={.spec.replicas}")
            await shows(run, "1", *replicas)
            await run("get", "websites")

            async with run.follow("get", "deployments", "-w") as followed:
                assert (await followed.line()).split()[:2] == ["NAME", "READY"]
                assert (await followed.line()).split()[:2] == ["hello", "0/1"]
                await run("patch", "website", "hello", "--type=merge", "-p", '{"spec":{"replicas":2}}')
                await follows(followed, "hello", "0/2")
                await run("edit", "website", "hello")
                await follows(followed, "hello", "0/4")

            body = (
                (WEBSITE / "sample.yaml").read_text().replace("title: Hello", "title: Hello\n  replicas: 3")
            )
            await run("apply", "-f", "-", stdin=body)
            await shows(run, "3", *replicas)
            await run("delete", "deployment", "hello")
            await shows(run, "3", *replicas)
            await run("delete", "configmap", "hello")
            await shows(run, "hello", "get", "configmap", "hello", "-o", "jsonpath={.metadata.name}")

            assert "deleted" in await run("delete", "website", "hello", "--timeout=20s")
            await shows(run, "", "get", "deployments,websites", "-o", "name")
            await shows(run, "configmap/website-directory", "get", "configmaps", "-o", "name")
            await shows(run, "{}", "get", "configmap", "website-directory", "-o", "jsonpath={.data}")
