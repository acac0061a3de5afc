"""How the demo ends; what it plays is in tests/wire/test_cli.py."""

import io

from rich.console import Console

from kinformer.cli._demo import verdict


def test_a_world_that_has_converged_ends_with_zero() -> None:
    out = io.StringIO()
    assert verdict(Console(file=out), ()) == 0
    assert out.getvalue() == "The world is what it should be.\n"


def test_a_world_that_has_not_ends_with_one_and_what_is_wrong() -> None:
    out = io.StringIO()
    assert verdict(Console(file=out, width=20), ["Deployment blog: spec.replicas is [7] instead of 2"]) == 1
    assert out.getvalue().splitlines()[0] == "wrong: Deployment blog: spec.replicas is [7] instead of 2"
