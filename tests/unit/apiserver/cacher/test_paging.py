"""Pieces of a list. A number in a name is that of the behaviour in the reference's list."""

from collections.abc import Callable
from itertools import accumulate, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.apiserver.cacher import Attributes, Cut, Element, Page, next_step
from kinformer.apiserver.storage import KeyValue


def elements(count: int) -> list[Element]:
    keys = [f"/{number:03}" for number in range(count)]
    return [Element(KeyValue(key, b"", 1, 1, 1), lambda _: Attributes({}, {})) for key in keys]


def is_even(element: Element) -> bool:
    return int(element.key[1:]) % 2 == 0


@given(
    count=st.integers(0, 12),
    limit=st.integers(0, 13),
    piece=st.integers(1, 13),
    matches=st.sampled_from([None, is_even]),
)
def test_pages_together_are_the_list_however_it_is_read(
    count: int, limit: int, piece: int, matches: Callable[[Element], bool] | None
) -> None:
    everything = elements(count)
    wanted = [each for each in everything if matches is None or matches(each)]
    found: list[Element] = []
    start = "/"
    while start:
        rest = [each for each in everything if each.key >= start]
        page = read(rest, limit, piece, matches)
        found += page.items
        assert limit == 0 or len(page.items) <= limit
        if page.start:
            assert page.start == f"{page.items[-1].key}\0"
            assert page.remaining == (None if matches else count - len(found))
        else:
            assert page.remaining is None
        start = page.start
    assert found == wanted


def read(rest: list[Element], limit: int, piece: int, matches: Callable[[Element], bool] | None) -> Page:
    cut = Cut(limit, matches)
    for at in range(0, len(rest), piece):
        if cut.take(rest[at : at + piece], len(rest) - at):
            break
    return cut.page(7)


def test_a_page_may_be_followed_by_one_without_anything() -> None:
    """What follows was not looked at, so that there may be more is all that is known."""
    page = read(elements(2), 1, 2, is_even)
    assert ([each.key for each in page.items], page.start, page.revision) == (["/000"], "/000\0", 7)


@pytest.mark.parametrize(
    ("limit", "steps"),
    [
        (1, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
        (100, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]),
        (10_000, [10_000, 10_000]),
        (20_000, [20_000, 20_000]),
    ],
)
def test_behaviour_19_steps_double_up_to_ten_thousand(limit: int, steps: list[int]) -> None:
    assert list(accumulate(repeat(limit, len(steps)), lambda step, _: next_step(step))) == steps
