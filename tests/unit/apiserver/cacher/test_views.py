"""Views: made once, bounded."""

from kinformer.apiserver.cacher import StoredObject, Views


def view() -> StoredObject:
    return StoredObject.of({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}})


def test_everybody_gets_the_same() -> None:
    views = Views()
    assert views.get("a", view) is views.get("a", view)
    assert views.get("b", view) is not views.get("a", view)


def test_the_longest_unused_goes_first() -> None:
    views = Views(size=2)
    first = views.get("a", view)
    views.get("b", view)
    assert views.get("a", view) is first
    views.get("c", view)
    assert len(views) == 2
    assert views.get("a", view) is first
