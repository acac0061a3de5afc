"""The page about faults names tests; each of them is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "faults.md"
NAMED = re.compile(r"`((?:scenario|stateful|unit|wire)/[\w/]+)(?:::(\w+))?`")


def test_every_test_that_the_page_about_faults_names_is_there() -> None:
    named = NAMED.findall(PAGE.read_text())
    assert len(named) > 50
    for module, function in named:
        source = (ROOT / "tests" / f"{module}.py").read_text()
        assert not function or f"def {function}(" in source, f"{module}::{function}"


def test_every_scenario_of_other_clients_is_on_the_page_about_faults() -> None:
    page = PAGE.read_text()
    for path in sorted((ROOT / "tests" / "scenario").glob("test_peers_*.py")):
        for report in re.findall(r"[\w-]+/[\w-]+#\d+", path.read_text()):
            assert report in page, f"{path.name} plays {report}"
