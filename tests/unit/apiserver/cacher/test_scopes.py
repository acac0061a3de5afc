"""Whom a change can concern."""

import pytest

from kinformer.apiserver.cacher._scopes import Scope, Scopes

SCOPES = {
    "all": Scope(),
    "here": Scope("here"),
    "a": Scope("", "a"),
    "here/a": Scope("here", "a"),
    "there/a": Scope("there", "a"),
}


@pytest.mark.parametrize(
    ("namespace", "name", "found"),
    [
        ("here", "a", ["here/a", "here", "a", "all"]),
        ("here", "b", ["here", "all"]),
        ("there", "a", ["there/a", "a", "all"]),
        ("", "a", ["a", "all"]),
    ],
)
def test_a_change_concerns_those_who_watch_it_its_namespace_its_name_or_all(
    namespace: str, name: str, found: list[str]
) -> None:
    scopes = Scopes[str]()
    for watcher, scope in SCOPES.items():
        scopes.add(watcher, scope)
    assert scopes.of(namespace, name) == found
    assert set(found) == {watcher for watcher, scope in SCOPES.items() if scope.holds(namespace, name)}


def test_whoever_leaves_is_found_no_more_and_leaves_nothing() -> None:
    scopes = Scopes[str]()
    scopes.add("x", Scope("here"))
    scopes.add("x", Scope())
    assert (len(scopes), list(scopes), "x" in scopes) == (1, ["x"], True)
    assert scopes.of("here", "a") == ["x"]
    scopes.discard("x")
    scopes.discard("x")
    assert (len(scopes), scopes.of("here", "a")) == (0, [])
    assert not scopes._watchers
