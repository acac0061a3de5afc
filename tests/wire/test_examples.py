"""Every example plays its scene as the script that it is, and ends by itself."""

import ast
import logging
import runpy
from pathlib import Path

import pytest
import yaml

import kinformer.apiserver  # noqa: F401 -- once for all examples, since what each imports is taken back after it
from kinformer.cli import _website
from kinformer.cli._loading import load, select
from kinformer.controller import Controller

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

pytestmark = [pytest.mark.wire, pytest.mark.timeout(60)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_plays_its_scene_and_ends(
    example: Path,
    pytester: pytest.Pytester,  # takes back what a script leaves in its process
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    pytester.syspathinsert(example.parent)
    runpy.run_path(str(example), run_name="__main__")
    out, err = capsys.readouterr()
    assert out
    assert err == ""
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("name", ["03_website_controller.py", "04_owned_objects.py", "06_replicaset.py"])
def test_kinformer_run_finds_the_controller_of_an_example(name: str, pytester: pytest.Pytester) -> None:
    file = ROOT / "examples" / name
    (found,) = select(load(file), "", file)
    assert isinstance(found, Controller)


@pytest.mark.parametrize(
    ("name", "limit"),
    [
        ("01_watch_pods.py", 60),
        ("02_informer.py", 60),
        ("03_website_controller.py", 150),
        ("04_owned_objects.py", 150),
        ("05_leader_election.py", 110),
        ("06_replicaset.py", 340),
        ("07_testing_an_operator.py", 210),
        ("08_sharded_controller.py", 125),
    ],
)
def test_an_example_is_short(name: str, limit: int) -> None:
    assert len((ROOT / "examples" / name).read_text().splitlines()) <= limit


def test_the_demo_runs_the_controller_of_the_example() -> None:
    def parts(path: Path) -> dict[str, str]:
        nodes = ast.parse(path.read_text()).body
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        return {node.name: ast.unparse(node) for node in functions if node.name != "main"}

    assert parts(Path(_website.__file__)) == parts(ROOT / "examples" / "03_website_controller.py")


def test_the_demo_brings_the_definition_of_the_example() -> None:
    definition = yaml.safe_load((ROOT / "examples" / "website" / "crd.yaml").read_text())
    ours, theirs = (crd["spec"]["versions"][0]["schema"] for crd in (_website.CRD, definition))
    spec = ("openAPIV3Schema", "properties", "spec")
    for step in spec:
        ours, theirs = ours[step], theirs[step]
    assert {name: part["type"] for name, part in ours["properties"].items()} == {
        name: part["type"] for name, part in theirs["properties"].items()
    }
    assert ours["required"] == theirs["required"]
    assert _website.CRD["spec"]["names"]["kind"] == definition["spec"]["names"]["kind"]


def test_the_sample_is_what_the_definition_wants() -> None:
    sample = yaml.safe_load((ROOT / "examples" / "website" / "sample.yaml").read_text())
    assert (sample["apiVersion"], sample["kind"]) == ("example.dev/v1", "Website")
    assert sample["spec"]["html"]
