"""A resource client of objects is a reflector's source. mypy reads this file too, wherever the tests are checked."""

import subprocess
import sys
from pathlib import Path

from kinformer.client import ResourceClient
from kinformer.meta import Object
from kinformer.reflector import Source


def source_of(client: ResourceClient[Object]) -> Source:
    return client.where(namespace="default").without_retries()


def no_source(client: ResourceClient[int]) -> Source:
    return client  # type: ignore[return-value]  # a reflector takes objects; the ignore is an error if this fits


def test_mypy_agrees() -> None:
    here = Path(__file__)
    command = [sys.executable, "-m", "mypy", str(here)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=here.parents[2], check=False)
    assert found.returncode == 0, found.stdout
