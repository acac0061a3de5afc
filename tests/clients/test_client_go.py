"""client-go against the embedded apiserver: one Go program plays the scene and prints what it finds."""

import os
import shutil
import subprocess
from pathlib import Path

import anyio
import pytest

from tests.clients.stage import CONFIG_MAPS, cluster_with_widgets, post

GO = shutil.which("go")
pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(600),  # the first build compiles client-go: two to three minutes on two cores
    pytest.mark.skipif(GO is None, reason="no go: install Go to try client-go"),
]

POD = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
DEPLOYMENT = {
    "metadata": {"name": "web"},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": POD},
}
EXPECTED = """\
server 1.34
mapped widgets namespace
synced ConfigMap true
synced widgets true
stale update is a conflict true
extracted {"k":"mine"}
apply of a field of another is a conflict true
forced {"k":"theirs"}
failed test of a JSON patch is invalid true
deleted is not found true
scaled 3 2
a new object has a status false
create with a version fails true
status {"phase":"Ready"} generation 1
what breaks the schema is invalid true
applied size 2 generation 2
deletion waits true
leads first
leads second
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("client_go") / "client_go"
    source = Path(__file__).parent / "client_go"
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}
    command = [str(GO), "build", "-o", str(path), "."]
    built = subprocess.run(command, cwd=source, env=environment, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return path


async def test_informers_apply_status_finalizers_scale_and_leases_work(program: Path, tmp_path: Path) -> None:
    async with cluster_with_widgets() as (endpoint, client):
        await post(client, CONFIG_MAPS, {"metadata": {"name": "early"}})
        await post(client, "/apis/apps/v1/namespaces/default/deployments", DEPLOYMENT)
        config = endpoint.write_kubeconfig(tmp_path / "config")
        done = await anyio.run_process([str(program), str(config)], check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout.decode() == EXPECTED
