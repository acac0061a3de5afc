"""Which kubectls there are: ``KINFORMER_KUBECTLS``, paths separated by ``:``, else the one on the PATH."""

import os
import shutil
from collections.abc import Sequence

import pytest


def kubectls() -> Sequence[str]:
    named = os.environ.get("KINFORMER_KUBECTLS", "")
    found = [path for path in named.split(":") if path] or [shutil.which("kubectl") or ""]
    return [path for path in found if path]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "kubectl" in metafunc.fixturenames:
        missing = pytest.param(
            "", marks=pytest.mark.skip(reason="no kubectl: set KINFORMER_KUBECTLS or put one on PATH")
        )
        metafunc.parametrize("kubectl", kubectls() or [missing])
