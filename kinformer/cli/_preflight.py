"""The preflight of ``kinformer run --preflight``, for people: two tables, and what is missing."""

from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kinformer.cli._interruption import say, written
from kinformer.controller import Preflight

__all__ = ["show"]


def show(found: Preflight, file: Path) -> None:
    """Print it: with rich where that is installed and somebody looks, as plain text otherwise.

    Args:
        found: What came out.
        file: What is about to run.
    """
    if find_spec("rich") is None:
        say(f"{found}\n\n")
    else:
        _show_tables(found)
    if complaint := found.complaint(str(file)):
        say(f"MISSING: {complaint}\n\n")


def _show_tables(found: Preflight) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        say(f"{found}\n\n")  # a table for a log must not be folded to a width that nobody has
        return
    with written():
        console.print(_table(("permission", "where", "granted", "missing"), found.permission_rows(), "red"))
        if found.forecasts:
            console.print(_table(("cache", "where", "objects", "memory"), found.forecast_rows(), ""))
        if found.obstacle:
            console.print(f"not everything could be asked: {found.obstacle}", style="yellow", markup=False)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], style: str) -> Any:
    """A table whose last column is in ``style``."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in head:
        table.add_column(name)
    for *cells, last in rows:
        table.add_row(*map(Text, cells), Text(last, style=style))
    return table
