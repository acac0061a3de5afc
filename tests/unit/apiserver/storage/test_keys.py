"""Ranges of keys."""

import pytest

from kinformer.apiserver.storage import KeyRange


@pytest.mark.parametrize(
    ("keys", "inside", "outside"),
    [
        pytest.param(KeyRange.key("b"), ["b"], ["a", "b\0", "b\0\0", "ba", "c"], id="a key"),
        pytest.param(KeyRange.prefix("b"), ["b", "b\0", "b\U0010ffff"], ["a", "c"], id="a prefix"),
        pytest.param(KeyRange.prefix(""), ["", "a", "\U0010ffff"], [], id="everything"),
        pytest.param(
            KeyRange.prefix("a\U0010ffff"), ["a\U0010ffffb"], ["a", "b"], id="the last code point carries"
        ),
        pytest.param(
            KeyRange.prefix("\U0010ffff"), ["\U0010ffffb"], ["a"], id="nothing comes behind the last of all"
        ),
        pytest.param(KeyRange.prefix("\ud7ff"), ["\ud7ffb"], ["\ue000"], id="surrogates are no text"),
        pytest.param(KeyRange("b", None), ["b", "z"], ["a"], id="from a key on"),
        pytest.param(KeyRange("b", "b"), [], ["a", "b"], id="empty"),
    ],
)
def test_a_range_holds_the_keys_between_its_ends(
    keys: KeyRange, inside: list[str], outside: list[str]
) -> None:
    assert [key for key in (*inside, *outside) if key in keys] == inside
    assert keys.is_empty is (not inside)


def test_the_order_of_keys_is_that_of_their_utf_8_bytes() -> None:
    keys = ["a", "a-", "a/", "b", "\x7f", "\x80", "\uffff", "\U00010000"]
    assert sorted(keys) == sorted(keys, key=str.encode)


def test_a_single_key_is_recognised() -> None:
    assert KeyRange.key("a").single == "a"
    assert KeyRange.prefix("a").single is None


def test_a_range_can_begin_later_but_never_earlier() -> None:
    keys = KeyRange.prefix("/p/")
    assert keys.behind("/p/b") == KeyRange("/p/b", keys.end)
    assert keys.behind("/a") == keys


@pytest.mark.parametrize(
    ("inner", "is_covered"),
    [
        (KeyRange.prefix("/p/a"), True),
        (KeyRange.prefix("/p/"), True),
        (KeyRange("/o", "/p/a"), False),
        (KeyRange("/p/", None), False),
    ],
    ids=str,
)
def test_a_range_covers_what_lies_inside(inner: KeyRange, is_covered: bool) -> None:
    assert KeyRange.prefix("/p/").covers(inner) is is_covered
    assert KeyRange.prefix("").covers(inner)
    assert str(inner).startswith("['/")
