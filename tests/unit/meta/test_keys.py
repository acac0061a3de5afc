import gc

import pytest

from kinformer.meta import ObjectKey


@pytest.mark.parametrize(
    ("text", "key"),
    [("web", ObjectKey("", "web")), ("default/web", ObjectKey("default", "web"))],
    ids=["cluster scope", "namespaced"],
)
def test_a_key_reads_what_it_prints(text: str, key: ObjectKey) -> None:
    assert ObjectKey.parse(text) == key
    assert str(key) == text


@pytest.mark.parametrize("text", ["", "/", "a/", "/a", "a/b/c"])
def test_text_that_is_no_key_is_refused_by_value(text: str) -> None:
    with pytest.raises(ValueError, match="is not of the form") as caught:
        ObjectKey.parse(text)
    assert repr(text) in str(caught.value)


def test_a_key_of_a_namespace_differs_from_the_same_name_in_the_cluster() -> None:
    assert len({ObjectKey("", "a"), ObjectKey("a", "a"), ObjectKey("", "a")}) == 2


def test_what_is_no_text_is_no_key() -> None:
    with pytest.raises(TypeError, match="object key None must be text"):
        ObjectKey.parse(None)  # type: ignore[arg-type]


def test_keys_sort_by_namespace_and_then_by_name() -> None:
    keys = [ObjectKey("b", "a"), ObjectKey("a", "b"), ObjectKey("", "z"), ObjectKey("a", "a")]
    assert sorted(keys) == [keys[2], keys[3], keys[1], keys[0]]


def test_the_collector_does_not_visit_keys() -> None:
    assert not gc.is_tracked(ObjectKey("a", "b"))
