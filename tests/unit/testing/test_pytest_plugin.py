"""The plugin, seen from pytest: the cluster lives in its own task, and its failure is the test's."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

FAILING = """
from contextlib import asynccontextmanager

import anyio
import pytest
import pytest_asyncio

from kinformer.testing.pytest_plugin import cluster_for

log = []

@asynccontextmanager
async def flawed():
    "A cluster of which a part fails when it is told to."
    broken = anyio.Event()

    async def part():
        await broken.wait()
        raise OSError("the storage is gone")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(part)
        try:
            yield broken
        finally:
            log.append("left")
            tasks.cancel_scope.cancel()

@pytest_asyncio.fixture
async def broken(request):
    async with cluster_for(request, flawed()) as event:
        yield event
"""


def run(pytester: pytest.Pytester, text: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(text)
    return pytester.runpytest(
        "-W",
        "error",
        "-p",
        "no:cacheprovider",
        "-o",
        "asyncio_mode=auto",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
        "--timeout=10",
        *options,
    )


def test_a_fixture_may_keep_something_with_a_task_group_open(pytester: pytest.Pytester) -> None:
    text = """
async def test_one(broken):
    await anyio.lowlevel.checkpoint()

async def test_two(broken):
    assert log == ["left"]
"""
    run(pytester, FAILING + text).assert_outcomes(passed=2)


def test_a_failure_inside_ends_the_test_at_once_with_the_failure_as_cause(pytester: pytest.Pytester) -> None:
    text = """
async def test_it(broken):
    broken.set()
    await anyio.sleep_forever()
"""
    result = run(pytester, FAILING + text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["*OSError: the storage is gone*", "*RuntimeError: the cluster failed while*"]
    )


def test_a_failure_ends_a_test_that_is_inside_scopes_of_its_own(pytester: pytest.Pytester) -> None:
    text = """
async def test_it(broken):
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.sleep_forever)
        broken.set()
        await anyio.sleep_forever()
"""
    result = run(pytester, FAILING + text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*RuntimeError: the cluster failed while*"])


def test_a_test_that_fails_because_the_cluster_did_shows_both(pytester: pytest.Pytester) -> None:
    text = """
async def test_it(broken):
    broken.set()
    try:
        await anyio.sleep_forever()
    finally:
        assert 1 == 2, "an aftershock"
"""
    result = run(pytester, FAILING + text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*the cluster failed while*"])
    result.stdout.fnmatch_lines(["*OSError: the storage is gone*"])


def test_a_failure_that_no_test_saw_is_an_error_of_the_teardown(pytester: pytest.Pytester) -> None:
    text = """
async def test_it(broken):
    broken.set()
"""
    result = run(pytester, FAILING + text)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*OSError: the storage is gone*"])


def test_a_test_that_fails_by_itself_is_reported_as_it_is(pytester: pytest.Pytester) -> None:
    text = """
async def test_it(broken):
    assert 1 == 2, "my own fault"
"""
    result = run(pytester, FAILING + text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*my own fault*"])
    result.stdout.no_fnmatch_line("*the cluster failed*")


def test_a_cluster_that_cannot_be_entered_is_an_error_of_the_setup(pytester: pytest.Pytester) -> None:
    text = """
@asynccontextmanager
async def impossible():
    raise OSError("no room")
    yield

@pytest_asyncio.fixture
async def never(request):
    async with cluster_for(request, impossible()) as cluster:
        yield cluster

async def test_it(never):
    raise AssertionError("it ran")
"""
    result = run(pytester, FAILING + text)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*OSError: no room*"])


def test_a_test_in_another_loop_than_its_cluster_is_told_so(pytester: pytest.Pytester) -> None:
    text = """
@pytest.mark.asyncio(loop_scope="module")
async def test_it(broken):
    pass
"""
    result = run(pytester, FAILING + text)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*runs in another event loop than its cluster*"])


def test_a_plain_test_may_hold_a_cluster_too(pytester: pytest.Pytester) -> None:
    run(pytester, FAILING + "def test_it(broken):\n    assert not broken.is_set()\n").assert_outcomes(
        passed=1
    )


def test_without_pytest_asyncio_the_plugin_loads_and_the_fixture_says_what_is_missing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_it(cluster): ...")
    code = """
import sys

class Absent:
    def find_spec(self, name, *_):
        if name == "pytest_asyncio":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import pytest
sys.exit(pytest.main(["-W", "error", "--assert=plain", "-p", "no:asyncio", "-p", "no:cacheprovider", "test_it.py"]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "the cluster fixture needs pytest-asyncio: pip install 'kinformer[test]'" in done.stdout
    assert "1 error" in done.stdout


def test_loading_the_plugin_imports_no_server() -> None:
    code = "import sys, kinformer.testing.pytest_plugin; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"starlette", "uvicorn", "kubernetes_asyncio", "hypothesis"} & set(loaded)
