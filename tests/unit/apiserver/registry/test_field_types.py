"""Field types: rule H-10's decoding, as far as types go."""

from typing import Any

import pytest

from kinformer.apiserver.registry._field_types import Either, ListOf, MapOf, misfits


@pytest.mark.parametrize(
    ("wanted", "value", "found"),
    [
        pytest.param(str, "a", "", id="text"),
        pytest.param(str, 1, "v: number, not string", id="no text"),
        pytest.param(int, 2**63 - 1, "", id="integer"),
        pytest.param(int, 2**63, "v: number, not int64", id="too large"),
        pytest.param(int, 1.0, "v: number, not int64", id="a fraction is no integer"),
        pytest.param(int, True, "v: bool, not int64", id="a boolean is no integer"),
        pytest.param(float, 1, "", id="an integer is a number"),
        pytest.param(dict, [], "v: array, not map", id="no object"),
        pytest.param(list, {}, "v: object, not slice", id="no list"),
        pytest.param(MapOf(str), {"a": "b", "c": None}, "v.c: null, not string", id="values of a map"),
        pytest.param(ListOf(str), ["a", 1], "v[1]: number, not string", id="items of a list"),
        pytest.param({"a": str}, {"a": None, "b": 1}, "", id="null, and unknown fields"),
        pytest.param({"a": {"b": str}}, {"a": {"b": []}}, "v.a.b: array, not string", id="nested"),
        pytest.param(Either(bool, {"a": str}), True, "", id="the first of two"),
        pytest.param(Either(bool, {"a": str}), {"a": 1}, "v.a: number, not string", id="the second of two"),
    ],
)
def test_what_does_not_fit_is_found_with_its_path(wanted: Any, value: Any, found: str) -> None:
    assert ", ".join(f"{path}: {own}, not {go}" for path, own, go in misfits(value, wanted, "v")) == found
