"""Merge patch against the pseudo-code of RFC 7386, and against its own inverse."""

from copy import deepcopy
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

from kinformer.apiserver.rest._merge_patch import merge_patch

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def by_the_book(target: Any, patch: Any) -> Any:
    """Section 2 of the RFC, word for word, in place."""
    if not isinstance(patch, dict):
        return patch
    if not isinstance(target, dict):
        target = {}
    for name, value in patch.items():
        if value is None:
            if name in target:
                del target[name]
        else:
            target[name] = by_the_book(target.get(name), value)
    return target


def difference(old: Any, new: Any) -> Any:
    """A patch that makes ``new`` of ``old``, where there is one: ``new`` must hold no null."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    patch = {key: None for key in old if key not in new}
    return {**patch, **{key: difference(old.get(key), value) for key, value in new.items()}}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return value


@given(JSON, JSON)
def test_it_does_what_the_rfc_says(target: Any, patch: Any) -> None:
    kept = deepcopy((target, patch))
    assert merge_patch(target, patch) == by_the_book(deepcopy(target), deepcopy(patch))
    assert (target, patch) == kept


@given(st.dictionaries(st.sampled_from("abc"), JSON), st.dictionaries(st.sampled_from("abc"), JSON))
def test_the_difference_of_two_objects_leads_from_one_to_the_other(old: Any, new: Any) -> None:
    old, new = without_nulls(old), without_nulls(new)
    assert merge_patch(old, difference(old, new)) == new
