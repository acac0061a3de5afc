"""What is missing is said with the way to get it."""

import pytest

from kinformer.cli._complaint import Complaint
from kinformer.cli._extras import require


def test_what_is_there_is_no_matter_for_complaint() -> None:
    require("cli", "json", "argparse")


def test_what_is_missing_is_named_with_the_extra_that_brings_it() -> None:
    with pytest.raises(Complaint) as raised:
        require("cli", "json", "richer_than_rich")
    assert str(raised.value) == (
        "this needs richer_than_rich, which is not installed: pip install 'kinformer[cli]'"
    )


def test_several_are_missing_in_the_plural() -> None:
    with pytest.raises(Complaint, match="needs poor, poorer, which are not installed"):
        require("cli", "poor", "poorer")
