from pathlib import Path

import pytest

from kinformer.cli._preflight import show
from kinformer.controller import EVERYWHERE, Forecast, Permission, Preflight, Review
from kinformer.meta import Resource

PODS = Resource.builtin("Pod")
FOUND = Preflight(
    (Review(Permission(PODS, ("get", "list"), EVERYWHERE), ("list",), ("get",)),),
    (Forecast(PODS, EVERYWHERE, 3, 1000),),
    "no [answer]",
)


def test_where_nobody_looks_it_is_the_plain_text_and_what_is_missing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(FOUND, Path("site.py"))
    assert capsys.readouterr().out == f"{FOUND}\n\nMISSING: {FOUND.complaint('site.py')}\n\n"


def test_a_terminal_gets_tables_that_say_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    show(FOUND, Path("site.py"))
    out = capsys.readouterr().out
    assert "\x1b[31mget" in out, "what is missing is red"
    for text in ("everywhere", "about 3.6 kB", "no [answer]", "MISSING: the account", "manifests site.py"):
        assert text in out


def test_where_nothing_is_missing_nothing_is_said_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    show(Preflight((Review(Permission(PODS, ("list",)), ("list",)),)), Path("site.py"))
    assert "MISSING:" not in capsys.readouterr().out
