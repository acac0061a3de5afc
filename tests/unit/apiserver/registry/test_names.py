"""Names: rules W-6 and W-7."""

from random import Random

import pytest

from kinformer.apiserver.registry._names import (
    check_label_value,
    check_name,
    check_qualified_name,
    generate_name,
)


@pytest.mark.parametrize(
    ("rule", "good", "bad"),
    [
        ("subdomain", ["a", "a-b", "a.b", "1", "a" * 253], ["", "A", "-a", "a-", "a..b", "a_b", "a" * 254]),
        ("label", ["a", "1a", "a" * 63], ["", "a.b", "A", "a" * 64]),
        ("service", ["a", "a1"], ["1a", "a.b", "a-"]),
        ("path", ["system:node", "A b"], ["", ".", "..", "a/b", "a%b"][1:]),
    ],
)
def test_names_by_rule(rule: str, good: list[str], bad: list[str]) -> None:
    assert [check_name(rule, name) for name in good] == [None] * len(good)
    assert all(check_name(rule, name) for name in bad)


@pytest.mark.parametrize("name", ["a", "example.dev/a", "A_b.c-d", "a" * 63])
def test_good_qualified_names(name: str) -> None:
    assert check_qualified_name(name) is None


@pytest.mark.parametrize("name", ["", "/a", "a/", "A.b/c", "a b", "-a", "a" * 64, "x/y/z"])
def test_bad_qualified_names(name: str) -> None:
    assert check_qualified_name(name)


def test_label_values() -> None:
    assert [check_label_value(value) for value in ("", "a", "A_b.c-1")] == [None, None, None]
    assert all(check_label_value(value) for value in ("-", "a b", "a" * 64))


def test_a_generated_name_keeps_58_characters_of_its_prefix() -> None:
    name = generate_name("x" * 100, Random(1))
    assert len(name) == 63
    assert set(name[58:]) <= set("bcdfghjklmnpqrstvwxz2456789")
