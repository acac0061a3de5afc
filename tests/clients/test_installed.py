"""Real kubectl applies what ``kinformer manifests`` prints to the embedded apiserver where roles decide; the controller runs by that."""

import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
import yaml

from kinformer import Manager
from kinformer.apiserver import ApiServer, Rbac
from kinformer.client import BearerToken, Client, Config, Tls
from tests.clients.kubectl import CLOCK, WEBSITE, Kubectl, needs
from tests.scenario.installation import controller, printed

pytestmark = [pytest.mark.clients, pytest.mark.timeout(60)]


@pytest.fixture(autouse=True)
def path() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


async def test_what_is_printed_is_applied_and_the_controller_runs_by_it(kubectl: str, tmp_path: Path) -> None:
    needs(kubectl, 24, "create token")
    async with ApiServer(auth=Rbac()) as server, server.serve(tls=True) as endpoint:
        endpoint.write_kubeconfig(tmp_path / "config")
        run = Kubectl(kubectl, tmp_path)
        await run("apply", "-f", str(WEBSITE / "crd.yaml"))
        text = printed("--namespace", "websites")
        assert "deployment.apps/website created" in await run("apply", "-f", "-", stdin=text)
        again = (await run("apply", "-f", "-", stdin=text)).splitlines()
        assert all(line.endswith("unchanged") for line in again), again
        shown = yaml.safe_load(await run("get", "deployment", "website", "-n", "websites", "-o", "yaml"))
        assert shown["spec"]["template"]["spec"]["serviceAccountName"] == "website"
        token = (await run("create", "token", "website", "-n", "websites")).strip()
        tls = Tls(ca_data=endpoint.authority)
        async with (
            Client(Config(endpoint.url, BearerToken(token), tls)) as client,
            anyio.create_task_group() as tasks,
        ):
            manager = Manager(controller(), clients=client)
            await tasks.start(manager.run)
            await run("apply", "-f", str(WEBSITE / "sample.yaml"))
            await run("wait", "website/hello", "--for=jsonpath={.spec.replicas}=1", "--timeout=10s")
            with CLOCK.move_on_after(10):
                while "https://" not in await run("get", "website", "hello", "-o", "jsonpath={.status.url}"):
                    await CLOCK.sleep(0.1)
            assert await run("get", "website", "hello", "-o", "jsonpath={.status.url}")
            account = "--as=system:serviceaccount:websites:website"
            assert (await run("auth", "can-i", "patch", "websites/status", account)).strip() == "yes"
            await run("delete", "clusterrolebinding", "website")
            refusal = await run.run("get", "websites", f"--token={token}")
            assert (
                'User "system:serviceaccount:websites:website" cannot list resource "websites"' in refusal.err
            )
            manager.stop()
