"""What every room's tests need: the number of seeds, patience for the long runs, and somebody who signs certificates."""

import gc
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings
from hypothesis.internal.detection import is_hypothesis_test

if TYPE_CHECKING:
    from tests.certificates import Authority

SEEDS = 20
FEW, SHORT = 50, 25
"""Examples, and the steps of a machine in each: enough to see what was broken on purpose in each machine's subject."""
LONG = 1000
"""Examples in a soak, of twice as many steps."""
PHASES = [
    Phase.explicit,
    Phase.reuse,
    Phase.generate,
    Phase.shrink,
]  # to explain a failure costs too much of its time
PATIENCE = 120
"""Seconds for what hypothesis drives: the usual limit would strike while a failure is being made small."""

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    max_examples=FEW,
    stateful_step_count=SHORT,
    phases=PHASES,
)
settings.register_profile(
    "soak", deadline=None, max_examples=LONG, stateful_step_count=2 * SHORT, phases=PHASES
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seeds", type=int, default=SEEDS, help="seeds for each scenario that takes one")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("soak" if config.getoption("--seeds") > SEEDS else "default")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    driven = [item for item in items if isinstance(item, pytest.Function) and is_hypothesis_test(item.obj)]
    if config.getoption("timeout") is None:
        for item in driven:
            item.add_marker(pytest.mark.timeout(PATIENCE))
    if config.getoption("--seeds") > SEEDS:
        for machine in {
            item.cls for item in driven if item.cls is not None and hasattr(item.cls, "settings")
        }:
            if (
                machine.settings.max_examples != LONG
            ):  # what a machine says itself is meant for the short runs
                machine.settings = settings(machine.settings, max_examples=10 * machine.settings.max_examples)


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()  # many tests collect garbage: what the suite itself consists of need not be looked at each time


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--seeds")))


@pytest.fixture(scope="session")
def authority() -> "Authority":
    from tests.certificates import Authority

    return Authority()
