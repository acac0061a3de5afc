"""Every code block of the README and the docs runs, page by page, in an empty folder.

A ``python`` or ``yaml`` block with a title is a file of that name: a test file is run by pytest, any other Python file
is imported and checked by mypy. A ``python`` block without a title is a script, and ``sh`` is run by the shell.
``console`` shows what is typed into several shells at once; the tests in ``wire`` and ``clients`` type it.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KNOWN = {"python", "yaml", "sh", "console", "text", "toml"}


class Block(NamedTuple):
    language: str
    title: str
    code: str


def blocks(page: Path) -> Iterator[Block]:
    for language, attributes, code in FENCE.findall(page.read_text()):
        title = re.search(r'title="([^"]+)"', attributes)
        yield Block(language, title.group(1) if title else "", code)


def test_the_controller_of_the_readme_is_one_file_of_under_40_lines() -> None:
    """That it is imported, tested and accepted by strict mypy, types included, is the page's own test below."""
    controllers = [block for block in blocks(ROOT / "README.md") if block.title == "website.py"]
    assert [len(block.code.splitlines()) < 40 for block in controllers] == [True]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_of_the_page_runs(page: Path, tmp_path: Path) -> None:
    modules = []
    for block in blocks(page):
        assert block.language in KNOWN, (
            f"{page.name}: a block in {block.language!r} is neither run nor known as prose"
        )
        if block.title:
            (tmp_path / block.title).write_text(block.code)
        if block.language == "sh":
            run(tmp_path, "bash", "-euc", block.code)
        elif block.language != "python":
            continue
        elif not block.title:
            run(tmp_path, sys.executable, "-W", "error", "-c", block.code)
        elif block.title.startswith("test_"):
            options = ("-q", "-W", "error", "-p", "no:cacheprovider", "--rootdir", ".")
            run(tmp_path, sys.executable, "-m", "pytest", *options, block.title)
            modules.append(block.title)
        else:
            run(tmp_path, sys.executable, "-W", "error", "-c", f"import {Path(block.title).stem}")
            modules.append(block.title)
    if modules:
        paths = [str(tmp_path / name) for name in dict.fromkeys(modules)]
        run(
            tmp_path, sys.executable, "-m", "mypy", *paths, at=ROOT
        )  # with our settings, and what it knows already


def run(folder: Path, *command: str, at: Path | None = None) -> None:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(folder),
        "MYPYPATH": str(folder),
    }
    done = subprocess.run(
        command, cwd=at or folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}"
