"""main: from arguments to an exit code."""

import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from typing import Final, TextIO

from kinformer.cli._arguments import (
    ApiserverCommand,
    Command,
    DemoCommand,
    ManifestsCommand,
    RunCommand,
    parse,
)
from kinformer.cli._complaint import Complaint
from kinformer.cli._logging import show_log

__all__ = ["main"]

_CANNOT_START: Final = 2
_INTERRUPTED: Final = 130
_PIPE_CLOSED: Final = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command to its end.

    Args:
        arguments: What follows the program's name; ``None`` takes it from ``sys.argv``.

    Returns:
        The exit code: 0 done, or interrupted where that is the normal end; 1 failed; 2 could not be started, with one
        line on stderr that says why; 130 interrupted; 141 nobody reads our output any more.
    """
    _open_missing_streams()
    try:
        return _perform(parse(sys.argv[1:] if arguments is None else arguments, version=version("kinformer")))
    except Complaint as complaint:
        sys.stderr.write(f"{complaint.details}kinformer: error: {complaint}\n")
        return _CANNOT_START
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # or the interpreter's own flush fails again
        return _PIPE_CLOSED


def _open_missing_streams() -> None:
    """Give the null device to output that was closed before we started, so that no socket gets its number."""
    if sys.stdout is None:
        sys.stdout = _null()
    if sys.stderr is None:
        sys.stderr = _null()


def _null() -> TextIO:
    """Open for as long as the process lives."""
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)


def _perform(command: Command) -> int:
    """Each command's module is imported when it is asked for: ``--help`` stays quick, and rich stays optional."""
    match command:
        case DemoCommand():
            from kinformer.cli._demo import demo

            return demo()
        case RunCommand():
            from kinformer.cli._run import run

            return run(command)
        case ManifestsCommand():
            from kinformer.cli._manifests import manifests

            return manifests(command)
        case ApiserverCommand():
            from kinformer.cli._apiserver import serve

            show_log(verbose=command.verbose)
            return serve(command)
