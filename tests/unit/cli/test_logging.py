"""What of the log is shown, and who has the last word on it."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kinformer.cli._arguments import RunCommand
from kinformer.cli._complaint import Complaint
from kinformer.cli._logging import show_log
from kinformer.cli._run import run


@contextmanager
def unconfigured() -> Iterator[logging.Logger]:
    """The root logger as in a new process, put back afterwards; within the test, since pytest adds handlers before it."""
    root, ours, path = logging.getLogger(), logging.getLogger("kinformer"), sys.path[:]
    handlers, level, our_level = root.handlers[:], root.level, ours.level
    root.handlers[:] = []
    root.setLevel(logging.WARNING)
    ours.setLevel(logging.NOTSET)
    try:
        yield root
    finally:
        root.handlers[:], sys.path[:] = handlers, path
        root.setLevel(level)
        ours.setLevel(our_level)


@pytest.mark.parametrize(("verbose", "level"), [(False, logging.INFO), (True, logging.DEBUG)])
def test_ours_is_shown_and_warnings_of_others(*, verbose: bool, level: int) -> None:
    with unconfigured() as root:
        show_log(verbose=verbose)
        assert len(root.handlers) == 1
        assert logging.getLogger("kinformer.cli").getEffectiveLevel() == level
        assert logging.getLogger("httpx").getEffectiveLevel() == logging.WARNING


def test_a_level_that_was_set_before_is_kept() -> None:
    with unconfigured():
        logging.getLogger("kinformer").setLevel(logging.ERROR)
        show_log(verbose=False)
        assert logging.getLogger("kinformer").level == logging.ERROR


def test_the_file_configures_the_log_before_we_do(tmp_path: Path) -> None:
    file = tmp_path / "website.py"
    file.write_text(
        "import logging\n"
        "from kinformer import Controller\n"
        "logging.basicConfig(level=logging.INFO, handlers=[logging.NullHandler()])\n"
        "controller = Controller('c', lambda request: None)\n"
    )
    with unconfigured() as root:
        with pytest.raises(Complaint, match="does not say what it reconciles"):
            run(RunCommand(file))
        assert [type(handler) for handler in root.handlers] == [logging.NullHandler]
        assert root.level == logging.INFO
