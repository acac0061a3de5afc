"""Every code block of the README and the docs runs, page by page, in an empty folder.

A ``python`` or ``yaml`` block with a title is a file of that name: a test file is run by pytest, any other Python file
is imported, and mypy checks them all. A ``python`` block without a title is a script, and ``sh`` is run by the shell. All that
is Python runs in this process, which has imported what a process of its own would spend most of its time on.
``console`` shows what is typed into several shells at once; the tests in ``wire`` and ``clients`` type it. ``py`` and ``go``
are the code of others, such as a handler of Kopf's, and only shown.
"""

import importlib
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

pytest_plugins = ["pytester"]

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KNOWN = {"python", "yaml", "sh", "console", "text", "toml", "py", "go"}


class Block(NamedTuple):
    language: str
    title: str
    code: str


def blocks(page: Path) -> Iterator[Block]:
    for language, attributes, code in FENCE.findall(page.read_text()):
        title = re.search(r'title="([^"]+)"', attributes)
        yield Block(language, title.group(1) if title else "", code)


def python_files(page: Path) -> dict[str, str]:
    """The content of each by its name; that of the last block which has it."""
    return {block.title: block.code for block in blocks(page) if block.title and block.language == "python"}


def shelves() -> list[dict[Path, dict[str, str]]]:
    """The files of all pages in few groups, in which no two have the same name."""
    found: list[dict[Path, dict[str, str]]] = []
    for page in PAGES:
        files = python_files(page)
        free = (shelf for shelf in found if not any(files.keys() & others for others in shelf.values()))
        if files:
            if (shelf := next(free, None)) is None:
                found.append(shelf := {})
            shelf[page] = files
    return found


def test_the_controller_of_the_readme_is_one_file_of_under_40_lines() -> None:
    """That it is imported, tested and accepted by strict mypy, types included, is tested below."""
    controllers = [block for block in blocks(ROOT / "README.md") if block.title == "website.py"]
    assert [len(block.code.splitlines()) < 40 for block in controllers] == [True]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_runs(page: Path, pytester: pytest.Pytester) -> None:
    pytester.syspathinsert()
    folder = pytester.path
    for number, block in enumerate(blocks(page)):
        assert block.language in KNOWN, (
            f"{page.name}: a block in {block.language!r} is neither run nor known as prose"
        )
        (folder / (block.title or f"block_{number}")).write_text(block.code)
        if block.language == "sh":
            run(folder, "bash", "-euc", block.code)
        elif block.language != "python":
            continue
        elif block.title:
            if not block.title.startswith("test_"):
                importlib.import_module(Path(block.title).stem)
        else:
            runpy.run_path(str(folder / f"block_{number}"), run_name="__main__")
    if tests := [name for name in python_files(page) if name.startswith("test_")]:
        options = ("-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", ".")
        assert pytester.runpytest_inprocess(*options, *tests).ret == pytest.ExitCode.OK


@pytest.mark.timeout(120)
@pytest.mark.parametrize("shelf", shelves(), ids=len)
def test_the_files_of_the_pages_fit_their_types(shelf: dict[Path, dict[str, str]], tmp_path: Path) -> None:
    for page, files in shelf.items():
        (tmp_path / page.stem).mkdir()
        for name, code in files.items():
            (tmp_path / page.stem / name).write_text(code)
    folders = ":".join(map(str, tmp_path.iterdir()))
    paths = map(str, sorted(tmp_path.glob("*/*.py")))
    run(
        ROOT, sys.executable, "-m", "mypy", *paths, MYPYPATH=folders
    )  # in ROOT are our settings, and its cache


def run(folder: Path, *command: str, **variables: str) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
