"""What a filtering handler is told in place of what happened; words with an ``x`` pass."""

from typing import Any

import pytest

from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._filter import Filter
from kinformer.meta import ObjectKey

KEY = ObjectKey("n", "a")
Told = Notification[str]


def passes(word: str) -> bool:
    if word == "bad":
        raise ValueError(word)
    return "x" in word


@pytest.mark.parametrize(
    ("story", "told"),
    [
        pytest.param([Added("x", is_initial=True)], [Added("x", is_initial=True)], id="an add that passes"),
        pytest.param([Added("y", is_initial=True)], [], id="an add that does not"),
        pytest.param(
            [Added("x"), Updated("x", "xx")], [Added("x"), Updated("x", "xx")], id="goes on to pass"
        ),
        pytest.param([Added("y"), Updated("y", "x")], [Added("x")], id="begins to pass"),
        pytest.param([Added("x"), Updated("x", "y")], [Added("x"), Deleted("x")], id="ceases to pass"),
        pytest.param([Added("y"), Updated("y", "z"), Deleted("z")], [], id="never passes"),
        pytest.param([Added("x"), Deleted("x")], [Added("x"), Deleted("x")], id="is deleted"),
        pytest.param(
            [Added("x"), Deleted("y")],
            [Added("x"), Deleted("y")],
            id="is deleted with a last state that does not pass",
        ),
        pytest.param([Added("y"), Deleted("x")], [], id="is deleted with a last state that passes"),
        pytest.param(
            [Added("x"), Deleted("x"), Added("y")],
            [Added("x"), Deleted("x")],
            id="has a successor that does not",
        ),
        pytest.param(
            [Added("x"), Deleted("x", is_tombstone=True)],
            [Added("x"), Deleted("x", is_tombstone=True)],
            id="is deleted unseen",
        ),
        pytest.param(
            [Added("x"), Updated("x", "y"), Updated("y", "x"), Updated("x", "x")],
            [Added("x"), Deleted("x"), Added("x"), Updated("x", "x")],
            id="comes and goes, and is shown again",
        ),
        pytest.param([Added("x"), Added("y")], [Added("x"), Deleted("y")], id="an add of what is known"),
    ],
)
def test_only_what_passes_is_told(story: list[Told], told: list[Told]) -> None:
    judge = Filter(passes)
    assert [answer for each in story if (answer := judge(KEY, each)) is not None] == told


def test_objects_are_told_apart() -> None:
    judge = Filter(passes)
    assert judge(KEY, Added("x")) == Added("x")
    assert judge(ObjectKey("n", "b"), Deleted("x")) is None
    assert judge(ObjectKey("m", "a"), Updated("x", "x")) == Added("x")


def test_what_the_predicate_raises_leaves_everything_as_it_was() -> None:
    judge = Filter(passes)
    for answer in (Added("x"), Deleted("bad")):
        with pytest.raises(ValueError, match="bad"):
            judge(KEY, Updated("y", "bad"))
        assert judge(KEY, Updated("bad", "x") if isinstance(answer, Added) else Updated("bad", "y")) == answer


def test_a_predicate_that_gives_something_to_await_is_an_error_and_passes_nothing() -> None:
    async def later() -> bool:
        return True

    when: Any = lambda word: later()  # noqa: E731
    found = Filter[str](when)
    with pytest.raises(TypeError, match="gave something to await"):
        found(KEY, Added("x"))
    assert found(KEY, Deleted("x")) is None
