"""What ``kinformer manifests`` prints. That a cluster takes it, and that it is enough, is tests/scenario/test_installed.py."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kinformer.cli import main
from kinformer.cli._arguments import ManifestsCommand
from kinformer.cli._complaint import Complaint
from kinformer.cli._manifests import manifests

GOLDEN = Path(__file__).with_name("manifests.yaml")
HEAD = """
from kinformer.controller import Controller, LeaderElection, Manager
from kinformer.meta import Resource

SITES = Resource("example.dev", "v1", "websites", "Website")
DEPLOYMENTS = Resource.builtin("Deployment")
PODS = Resource.builtin("Pod")

async def reconcile(request): ...

"""
WEBSITE = (
    "Controller('website', reconcile).watches(SITES).owns(DEPLOYMENTS).writes(SITES, 'status', 'finalizers')"
)
MANAGED = f"""
shops = Controller("shops", reconcile).watches(PODS, namespaces=["shop"]).writes(PODS, "eviction")
manager = Manager({WEBSITE}, shops, election=LeaderElection("operator"), address=":9090", grace=60)
"""


@pytest.fixture(autouse=True)
def path() -> Iterator[None]:
    before = list(sys.path)
    yield
    sys.path[:] = before


def file_of(folder: Path, text: str) -> Path:
    file = folder / "operator.py"
    file.write_text(HEAD + text)
    return file


def printed(capsys: pytest.CaptureFixture[str], command: ManifestsCommand) -> list[dict[str, Any]]:
    assert manifests(command) == 0
    return [*yaml.safe_load_all(capsys.readouterr().out)]


def deployment_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    assert objects[-1]["kind"] == "Deployment"
    return objects[-1]


def container_of(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (container,) = deployment_of(objects)["spec"]["template"]["spec"]["containers"]
    return dict(container)


def test_they_are_what_they_were(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = file_of(tmp_path, MANAGED)
    assert main(["manifests", str(file), "--namespace", "ops", "--image", "registry.example/op:1"]) == 0
    assert capsys.readouterr().out == GOLDEN.read_text()


def test_each_object_names_what_came_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = printed(capsys, ManifestsCommand(file_of(tmp_path, MANAGED), namespace="ops"))
    roles: set[tuple[str, str]] = set()
    for obj in objects:
        metadata = obj["metadata"]
        if obj["kind"].endswith("Role"):
            roles.add((obj["kind"], metadata.get("namespace", "")))
        if obj["kind"].endswith("Binding"):
            assert (obj["roleRef"]["kind"], metadata.get("namespace", "")) in roles
            assert obj["subjects"] == [{"kind": "ServiceAccount", "name": "operator", "namespace": "ops"}]
    assert roles == {("ClusterRole", ""), ("Role", "ops"), ("Role", "shop")}
    assert deployment_of(objects)["spec"]["template"]["spec"]["serviceAccountName"] == "operator"


def test_a_single_controller_gives_its_name_and_probes_at_a_port_that_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    objects = printed(capsys, ManifestsCommand(file_of(tmp_path, f"c = {WEBSITE}")))
    assert {obj["metadata"]["name"] for obj in objects} == {"website"}
    container = container_of(objects)
    assert container["command"] == [
        "kinformer",
        "run",
        "/app/operator.py",
        "--preflight",
        "--address",
        ":8080",
    ]
    assert container["ports"] == [{"name": "http", "containerPort": 8080}]
    assert container["image"] == "website:latest"
    spec = deployment_of(objects)["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"}), "two would work at once"
    assert "Namespace" not in {obj["kind"] for obj in objects}


def test_replicas_that_share_keys_are_two_and_may_read_the_leases_of_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"from kinformer.controller import Sharding\nm = Manager({WEBSITE}, sharding=Sharding('mail'))"
    objects = printed(capsys, ManifestsCommand(file_of(tmp_path, text), namespace="ops"))
    assert deployment_of(objects)["spec"]["replicas"] == 2
    assert {obj["metadata"]["name"] for obj in objects if obj["kind"] != "Namespace"} == {"mail"}
    (role,) = (obj for obj in objects if obj["kind"] == "Role")
    assert role["metadata"]["namespace"] == "ops"
    verbs = ["create", "delete", "get", "list", "update"]
    assert role["rules"] == [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs}]


def test_several_controllers_are_called_like_their_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, f"a = {WEBSITE}\nb = Controller('b', reconcile).watches(PODS)")
    file = file.rename(tmp_path / "My_Operator.py")
    assert {obj["metadata"]["name"] for obj in printed(capsys, ManifestsCommand(file))} == {"my-operator"}
    objects = printed(capsys, ManifestsCommand(file, "b", "renamed"))
    assert {obj["metadata"]["name"] for obj in objects} == {"renamed"}
    assert container_of(objects)["command"][2] == "/app/My_Operator.py:b"


def test_a_manager_without_an_address_has_no_probes_and_hears_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert manifests(ManifestsCommand(file_of(tmp_path, f"m = Manager({WEBSITE})"))) == 0
    text = capsys.readouterr().out
    assert "\n# There are no probes, since the Manager has no address=; give it address=':8080'.\n" in text
    container = container_of([*yaml.safe_load_all(text)])
    assert not {"ports", "livenessProbe", "readinessProbe"} & container.keys()
    assert "--address" not in container["command"]


def test_a_manager_with_clients_of_its_own_is_asked_for_no_preflight(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"from kinformer import Client\nm = Manager({WEBSITE}, clients=Client('http://x'), address=':1')"
    objects = printed(capsys, ManifestsCommand(file_of(tmp_path, text)))
    assert container_of(objects)["command"] == ["kinformer", "run", "/app/operator.py"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "has neither a Controller nor a Manager at its top level"),
        ("c = Controller('c', reconcile)", "controller c does not say what it reconciles"),
        (f"m = Manager({WEBSITE}, address='localhost:9')", "which no probe of a cluster reaches"),
        (f"m = Manager({WEBSITE}, address='127.0.0.1:0')", "leave out the host, as in address=':8080'"),
        (f"m = Manager({WEBSITE}, address='[::1]:9')", "as in address=':9'"),
        (f"m = Manager({WEBSITE}, address=':0')", "a free port that no probe knows"),
        (
            f"m = Manager({WEBSITE}, grace=float('inf'))",
            "has grace=inf, which no pod gets: give it a number of seconds",
        ),
        (
            "c = Controller('c', reconcile).watches(PODS, namespaces=['a: b'])",
            "pods in the namespace 'a: b': its name",
        ),
        (
            f"m = Manager({WEBSITE}, election=LeaderElection('a', namespace='-'))",
            "ValueError: namespace='-' must be small letters",
        ),
    ],
)
def test_what_cannot_be_installed_is_one_complaint(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(Complaint) as raised:
        manifests(ManifestsCommand(file_of(tmp_path, text)))
    assert complaint in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_of_any_name_is_told_of_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, f"c = {WEBSITE}").rename(tmp_path / "web\nkind: Evil.py")
    objects = printed(capsys, ManifestsCommand(file))
    assert all(obj["metadata"]["name"] == "website" for obj in objects)
    assert container_of(objects)["command"][2] == "/app/web\nkind: Evil.py"


def test_the_command_ends_with_two_and_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", str(tmp_path / "nowhere.py")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
