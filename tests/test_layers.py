"""What importing kinformer costs and brings along. (The floors themselves are import-linter's contracts.)"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = (
    "aiohttp",
    "cryptography",
    "grpc",
    "httpx",
    "hypothesis",
    "jsonpatch",
    "kubernetes_asyncio",
    "opentelemetry",
    "prometheus_client",
    "pytest",
    "starlette",
    "tenacity",
    "uvicorn",
    "uvloop",
    "yaml",
)


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "module", ["kinformer", "kinformer.client", "kinformer.controller", "kinformer.informer"]
)
def test_importing_the_library_does_not_import_what_only_some_need(module: str) -> None:
    loaded = python(f"import sys, {module}; print(*sys.modules)").split()
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


@pytest.mark.parametrize("module", ["kinformer.testing", "kinformer.testing.pytest_plugin", "kinformer.cli"])
def test_what_starts_often_does_not_import_a_server(module: str) -> None:
    loaded = python(f"import sys, {module}; print(*sys.modules)").split()
    assert not {name.partition(".")[0] for name in loaded} & {
        "starlette",
        "tenacity",
        "uvicorn",
        "kubernetes_asyncio",
        "aiohttp",
    }


def test_no_file_is_longer_than_400_lines() -> None:
    long = {
        str(path.relative_to(ROOT)): count
        for folder in ("kinformer", "examples", "tests")
        for path in (ROOT / folder).rglob("*.py")
        if (count := len(path.read_text().splitlines())) > 400
    }
    assert not long


def test_no_room_has_logic_at_its_door() -> None:
    for door in (ROOT / "kinformer").rglob("__init__.py"):
        lines = door.read_text().splitlines()
        assert not [line for line in lines if line.startswith(("def ", "class ", "if ", "for ", "try"))], door
