"""Exit codes and what goes to stderr."""

from pathlib import Path

import pytest

from kinformer.cli import main


def test_a_complaint_is_one_line_on_stderr_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dance"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("kinformer: error: argument command: invalid choice: 'dance'")
    assert err.count("\n") == 1


def test_details_come_before_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "broken.py"
    file.write_text("1 / 0")
    assert main(["run", str(file)]) == 2
    *details, line = capsys.readouterr().err.splitlines()
    assert details[0] == "Traceback (most recent call last):"
    assert line == f"kinformer: error: {file} failed to import: ZeroDivisionError: division by zero"
