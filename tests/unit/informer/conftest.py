"""Informers with either queue: most of what is said of one holds of the other."""

from functools import partial

import pytest

from tests.unit.informer.stage import Bench, MakeBench


@pytest.fixture(params=["delta", "in-order"])
def make(request: pytest.FixtureRequest) -> MakeBench:
    """Make a bench whose informer has this queue."""
    return partial(Bench, queue=request.param)
