import pytest

from kinformer.controller._intents import covers


@pytest.mark.parametrize(
    ("found", "wanted", "is_covered"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True),
        ({"a": {"b": 2}}, {"a": {"b": 1}}, False),
        ({"a": [{"name": "x", "default": 1}]}, {"a": [{"name": "x"}]}, True),
        ({"a": [{"name": "x"}, {"name": "y"}]}, {"a": [{"name": "x"}]}, False),
        ({"a": ["x", "y"]}, {"a": ("x", "y")}, True),
        ({"a": ["x"]}, {"a": "x"}, False),
        ({}, {"a": None}, True),
        ({"a": 1}, {"a": None}, False),
        ({"a": 1}, {"a": True}, False),
        ({"a": True}, {"a": True}, True),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": 1}, {"a": 1.0}, True),
    ],
)
def test_what_is_found_says_all_that_is_wanted_or_not(
    found: object, wanted: object, is_covered: bool
) -> None:
    assert covers(found, wanted) is is_covered
