"""What every room's tests need: the number of seeds, and patience for the long runs."""

import pytest
from hypothesis import settings

SEEDS = 20
settings.register_profile("default", deadline=None, derandomize=True)
settings.register_profile("soak", deadline=None, max_examples=1000)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seeds", type=int, default=SEEDS, help="seeds for each scenario that takes one")


def pytest_configure(config: pytest.Config) -> None:
    settings.load_profile("soak" if config.getoption("--seeds") > SEEDS else "default")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", range(metafunc.config.getoption("--seeds")))
