"""Laying a configuration over a value, and taking members away: rules P-12.2 and P-12.4."""

from typing import Any

import pytest

from kinformer.apiserver.registry import Shape
from kinformer.apiserver.rest._merging import lay_over, remove_paths

KEYED = Shape(fields={"l": Shape(list_type="map", keys=("k",))})


def items(text: str, **more: Any) -> dict[str, Any]:
    return {"l": [{"k": key, **more} for key in text]}


@pytest.mark.parametrize(
    ("live", "config", "order"),
    [
        ("abc", "", "abc"),
        ("", "abc", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "xb", "axbc"),
        ("abc", "bx", "abxc"),
        ("abc", "abcx", "abcx"),
        ("abc", "cba", "cba"),
    ],
)
def test_items_of_both_follow_the_configuration_and_others_stay_with_their_neighbours(
    live: str, config: str, order: str
) -> None:
    found = [item["k"] for item in lay_over(items(live), items(config), KEYED)["l"]]
    assert sorted(found) == sorted(order)
    assert [key for key in found if key in config] == list(config)
    assert [key for key in found if key not in config] == [key for key in live if key not in config]


def test_items_merge_by_key() -> None:
    assert lay_over(items("ab", x=1), items("b", y=2), KEYED)["l"] == [
        {"k": "a", "x": 1},
        {"k": "b", "x": 1, "y": 2},
    ]


def test_neither_argument_is_changed() -> None:
    live, config = {"a": {"b": 1}, **items("ab")}, {"a": {"c": 2}, **items("ba")}
    lay_over(live, config, KEYED)
    assert live == {"a": {"b": 1}, **items("ab")}
    assert config == {"a": {"c": 2}, **items("ba")}


def test_removing_the_last_member_removes_the_container_and_nothing_above_it() -> None:
    value = {"a": {"b": {"c": 1}}}
    assert remove_paths(value, {("f:a", "f:b", "f:c")}, Shape()) == {"a": {}}
    assert value == {"a": {"b": {"c": 1}}}


def test_an_item_goes_as_a_whole_or_keeps_its_key() -> None:
    value = items("ab", x=1)
    assert remove_paths(value, {("f:l", 'k:{"k":"a"}'), ("f:l", 'k:{"k":"a"}', "f:x")}, KEYED) == items(
        "b", x=1
    )
    doomed = {("f:l", 'k:{"k":"a"}', "f:x"), ("f:l", 'k:{"k":"a"}', "f:k")}
    assert remove_paths(value, doomed, KEYED)["l"][0] == {"k": "a"}


def test_what_is_not_there_is_no_matter() -> None:
    assert remove_paths({"a": 1}, {("f:b",), ("f:a", "f:c")}, Shape()) == {"a": 1}
