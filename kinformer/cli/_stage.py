"""Where the demo shows itself: a live table in a terminal, plain lines anywhere else."""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

__all__ = ["LiveStage", "PlainStage", "Row", "Stage", "Terminal"]


class Row(NamedTuple):
    """One Website and what belongs to it, in words."""

    name: str
    website: str
    deployment: str
    config_map: str


class Stage(Protocol):
    """What the demo needs."""

    def open(self) -> AbstractContextManager[object]:
        """Show while the block runs."""

    def say(self, text: str) -> None:
        """Tell what happens."""

    def show(self, rows: Sequence[Row]) -> None:
        """Show the world as it is now."""


class Terminal(Console):
    """A console that says when nobody reads it, where rich would end the process in the middle of our tasks."""

    def on_broken_pipe(self) -> None:
        """Let it be an error like any other.

        Raises:
            BrokenPipeError: Always.
        """
        raise BrokenPipeError("nobody reads the output")


class LiveStage:
    """A table that changes in place, below the story so far."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(_table(()), console=console, auto_refresh=False)

    def open(self) -> AbstractContextManager[object]:
        """Show while the block runs; the last table stays."""
        return self._live

    def say(self, text: str) -> None:
        """Print a line above the table."""
        self._console.print(f"[bold cyan]>[/] {escape(text)}")

    def show(self, rows: Sequence[Row]) -> None:
        """Put these rows in place of the ones before."""
        self._live.update(_table(rows), refresh=True)


class PlainStage:
    """Lines, one for each step and one for each row that has changed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: dict[str, Row] = {}

    def open(self) -> AbstractContextManager[object]:
        """Nothing to open."""
        return nullcontext()

    def say(self, text: str) -> None:
        """Print a line."""
        self._print(f"> {text}")

    def show(self, rows: Sequence[Row]) -> None:
        """Print the rows that differ from what was printed of them before."""
        fresh = {row.name: row for row in rows}
        for name in fresh | self._shown:
            row = fresh.get(name)
            if row is None:
                self._print(f"    {name}: all gone")
            elif row != self._shown.get(name):
                self._print(
                    f"    {name}: Website {row.website}; Deployment {row.deployment}; ConfigMap {row.config_map}"
                )
        self._shown = fresh

    def _print(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


def _table(rows: Sequence[Row]) -> Table:
    table = Table("Website", "wanted and status", "Deployment", "ConfigMap", min_width=76)
    for row in rows:
        cells = (escape(cell) for cell in row)
        table.add_row(*cells, style="dim" if "missing" in row.deployment else "")
    return table
