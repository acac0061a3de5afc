"""The objects of a resource, as they are and as they were."""

import math

import pytest

from kinformer.apiserver.cacher import Attributes, CacheEvent, Content, Element, History
from kinformer.apiserver.storage import (
    CompactedError,
    FutureRevisionError,
    InconsistentError,
    KeyRange,
    KeyValue,
)

ALL = KeyRange.prefix("/")


def element(key: str, revision: int) -> Element:
    return Element(KeyValue(key, b"", revision, revision, 1), lambda _: Attributes({}, {}))


def put(content: Content, key: str, revision: int) -> None:
    new = element(key, revision)
    content.apply(CacheEvent.of(revision, key, new, content.get(key), time=0.0))


def delete(content: Content, key: str, revision: int) -> None:
    content.apply(CacheEvent.of(revision, key, None, content.get(key), time=0.0))


def shown(content: Content, revision: int = 0, keys: KeyRange = ALL) -> dict[str, int]:
    return {each.key: each.revision for each in content.read(keys, revision)}


@pytest.fixture
def content() -> Content:
    """At 10 there are a and c; 11 makes b, 12 changes c, 13 removes a, and others write up to 15."""
    content = Content(History(lowest=4, highest=4))
    content.replace([element("/c", 5), element("/a", 4)], 10)
    put(content, "/b", 11)
    put(content, "/c", 12)
    delete(content, "/a", 13)
    content.advance(15)
    return content


@pytest.mark.parametrize(
    ("revision", "expected"),
    [
        (10, {"/a": 4, "/c": 5}),
        (11, {"/a": 4, "/b": 11, "/c": 5}),
        (12, {"/a": 4, "/b": 11, "/c": 12}),
        (13, {"/b": 11, "/c": 12}),
        (15, {"/b": 11, "/c": 12}),
        (0, {"/b": 11, "/c": 12}),
    ],
)
def test_each_revision_since_the_list_can_be_read(
    content: Content, revision: int, expected: dict[str, int]
) -> None:
    assert list(shown(content, revision).items()) == list(expected.items())
    assert len(content.read(ALL, revision)) == len(expected)
    assert content.read(ALL, revision).revision == (revision or 15)


def test_a_range_is_read_from_its_start_to_its_end(content: Content) -> None:
    assert shown(content, 11, KeyRange.prefix("/b")) == {"/b": 11}
    assert shown(content, 10, ALL.behind("/b")) == {"/c": 5}
    assert shown(content, 10, KeyRange.key("/a")) == {"/a": 4}
    assert shown(content, 0, KeyRange("/b", None)) == {"/b": 11, "/c": 12}


def test_neither_the_future_nor_what_was_before_the_list_can_be_read(content: Content) -> None:
    assert (content.oldest, len(content)) == (10, 2)
    with pytest.raises(CompactedError) as caught:
        content.read(ALL, 9)
    assert caught.value.compacted == 10
    with pytest.raises(FutureRevisionError) as future:
        content.read(ALL, 16)
    assert future.value.current == 15


def test_a_full_ring_takes_the_states_before_its_first_event_with_it(content: Content) -> None:
    put(content, "/d", 16)
    assert not content.has(10)
    assert content.has(11)
    put(content, "/d", 17)
    assert not content.has(11)
    assert shown(content, 12) == {"/a": 4, "/b": 11, "/c": 12}


def test_what_was_compacted_cannot_be_read_and_the_rest_can(content: Content) -> None:
    content.forget(12)
    assert [content.has(revision) for revision in (11, 12)] == [False, True]
    content.forget(11)
    assert not content.has(11)


def test_a_list_is_a_new_beginning(content: Content) -> None:
    content.replace([element("/x", 20)], 20)
    assert shown(content) == {"/x": 20}
    assert (content.revision, content.oldest) == (20, 20)
    assert not content.has(15)


def test_without_trust_there_is_no_past_until_there_are_new_writes(content: Content) -> None:
    content.distrust()
    put(content, "/d", 16)
    assert content.oldest == math.inf
    assert shown(content) == {"/b": 11, "/c": 12, "/d": 16}
    with pytest.raises(CompactedError) as caught:
        content.read(ALL, 16)
    assert caught.value.compacted == 16
    content.replace([element("/d", 16)], 17)
    assert not content.has(17)
    content.trust()
    content.trust()
    assert not content.has(17)
    put(content, "/d", 18)
    assert shown(content, 18) == {"/d": 18}


def test_an_event_that_comes_twice_or_too_late_is_refused(content: Content) -> None:
    for revision in (13, 15):
        with pytest.raises(InconsistentError, match=f"at revision {revision} comes behind revision 15"):
            put(content, "/d", revision)
    put(content, "/d", 16)
    put(content, "/e", 16)  # the same transaction
    assert shown(content, 16) == {"/b": 11, "/c": 12, "/d": 16, "/e": 16}
    assert shown(content, 15) == {"/b": 11, "/c": 12}


def test_progress_never_goes_back(content: Content) -> None:
    content.advance(14)
    assert content.revision == 15
