from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from kinformer.controller import generation_changed
from kinformer.controller._sources import (
    EventSource,
    Predicate,
    Scope,
    checked_functions,
    keys_of_owners,
    own_key,
    priority_of,
)
from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.meta import LabelSelector, Object, ObjectKey, Resource
from kinformer.workqueue import LOW_PRIORITY

CONFIG_MAPS = Resource.builtin("ConfigMap")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
CLUSTERS = Resource("example.dev", "v1", "clusters", "Cluster", namespaced=False)
SHOP, BAKERY = ObjectKey("default", "shop"), ObjectKey("default", "bakery")


def obj(name: str = "page", resource: Resource = CONFIG_MAPS, **metadata: Any) -> Object:
    return Object.from_mapping({"metadata": {"name": name, "namespace": "default"} | metadata}, resource)


def owned_by(
    *names: str, version: str = "example.dev/v1", kind: str = "Website", controller: bool = True
) -> Object:
    references = [
        {"apiVersion": version, "kind": kind, "name": name, "uid": name, "controller": controller}
        for name in names
    ]
    return obj(ownerReferences=references)


def added(new: Object) -> Added[Object]:
    return Added(new, is_initial=False)


def deleted(last: Object) -> Deleted[Object]:
    return Deleted(last, is_tombstone=False)


def keys(source: EventSource, notification: Notification[Object]) -> list[ObjectKey]:
    return list(source.keys_of(notification))


@pytest.mark.parametrize("notification", [added(obj()), Updated(obj(), obj()), deleted(obj())])
def test_an_object_concerns_itself_once(notification: Notification[Object]) -> None:
    assert keys(EventSource(CONFIG_MAPS, own_key), notification) == [ObjectKey("default", "page")]


def test_an_owned_object_concerns_its_controller() -> None:
    source = EventSource(CONFIG_MAPS, keys_of_owners(WEBSITES, any_owner=False))
    assert keys(source, added(owned_by("shop"))) == [SHOP]
    assert keys(source, deleted(owned_by("shop"))) == [SHOP]


def test_an_object_that_changes_owners_concerns_both() -> None:
    source = EventSource(CONFIG_MAPS, keys_of_owners(WEBSITES, any_owner=False))
    assert keys(source, Updated(owned_by("shop"), owned_by("bakery"))) == [SHOP, BAKERY]


def test_an_object_that_loses_its_owner_still_concerns_it() -> None:
    source = EventSource(CONFIG_MAPS, keys_of_owners(WEBSITES, any_owner=False))
    assert keys(source, Updated(owned_by("shop"), obj())) == [SHOP]


@pytest.mark.parametrize(
    ("owned", "expected"),
    [
        pytest.param(owned_by("shop", version="example.dev/v1alpha1"), [SHOP], id="another version"),
        pytest.param(owned_by("shop", version="example.com/v1"), [], id="another group"),
        pytest.param(owned_by("shop", version="v1"), [], id="the core group"),
        pytest.param(owned_by("shop", kind="Shop"), [], id="another kind"),
        pytest.param(owned_by("shop", controller=False), [], id="not the controller"),
    ],
)
def test_group_and_kind_and_the_mark_must_match(owned: Object, expected: list[ObjectKey]) -> None:
    assert keys(EventSource(CONFIG_MAPS, keys_of_owners(WEBSITES, any_owner=False)), added(owned)) == expected


def test_an_owner_of_the_core_group_is_found() -> None:
    source = EventSource(CONFIG_MAPS, keys_of_owners(Resource.builtin("Pod"), any_owner=False))
    assert keys(source, added(owned_by("shop", version="v1", kind="Pod"))) == [SHOP]


def test_any_owner_takes_owners_without_the_mark() -> None:
    source = EventSource(CONFIG_MAPS, keys_of_owners(WEBSITES, any_owner=True))
    assert keys(source, added(owned_by("shop", "bakery", controller=False))) == [SHOP, BAKERY]


def test_a_cluster_scoped_owner_has_no_namespace() -> None:
    source = EventSource(CONFIG_MAPS, keys_of_owners(CLUSTERS, any_owner=False))
    assert keys(source, added(owned_by("c1", kind="Cluster"))) == [ObjectKey("", "c1")]


def test_a_map_may_give_many_keys_or_one_or_none() -> None:
    found: dict[str, Iterable[ObjectKey] | ObjectKey] = {"a": [SHOP, BAKERY, SHOP], "b": SHOP, "c": ()}
    source = EventSource(CONFIG_MAPS, lambda obj: found[obj.metadata.name])
    assert keys(source, added(obj("a"))) == [SHOP, BAKERY]
    assert keys(source, added(obj("b"))) == [SHOP]
    assert keys(source, added(obj("c"))) == []
    assert keys(source, Updated(obj("b"), obj("a"))) == [SHOP, BAKERY]


@pytest.mark.parametrize("answer", [None, "default/shop", ["default/shop"], [("default", "shop")]])
def test_a_map_that_gives_something_else_is_told_so(answer: Any) -> None:
    def wrong(obj: Object) -> Any:
        return answer

    with pytest.raises(TypeError, match="map of configmaps must give ObjectKeys"):
        keys(EventSource(CONFIG_MAPS, wrong), added(obj()))


def test_all_predicates_must_pass() -> None:
    asked: list[str] = []

    def says(name: str, answer: bool) -> Predicate:
        def predicate(notification: Notification[Object]) -> bool:
            asked.append(name)
            return answer

        return predicate

    yes, no = says("yes", True), says("no", False)
    assert keys(EventSource(CONFIG_MAPS, own_key, (yes, yes)), added(obj()))
    assert not keys(EventSource(CONFIG_MAPS, own_key, (yes, no, yes)), added(obj()))
    assert asked == ["yes", "yes", "yes", "no"]


def test_what_is_merely_listed_and_what_changes_nothing_can_wait() -> None:
    old, new = obj(resourceVersion="7"), obj(resourceVersion="8")
    assert priority_of(Added(new, is_initial=True)) == LOW_PRIORITY
    assert priority_of(Updated(new, new)) == LOW_PRIORITY
    assert priority_of(Updated(old, new)) == 0
    assert priority_of(added(new)) == 0
    assert priority_of(deleted(new)) == 0


def test_namespaces_or_all_of_them_make_a_scope() -> None:
    assert Scope.of(["a", "a"], None) == Scope(("a",))
    assert Scope.of(["b", "a"], None) == Scope(("a", "b"))
    assert Scope.of((), None) == Scope()


def test_labels_may_be_text() -> None:
    assert Scope.of((), "app=web") == Scope((), LabelSelector.parse("app=web"))


@pytest.mark.parametrize(
    ("namespaces", "labels", "error", "text"),
    [
        ("default", None, TypeError, r"write \['default'\]"),
        ([""], None, ValueError, "must not be empty"),
        ((), "a in", ValueError, "in label selector 'a in'"),
    ],
)
def test_a_bad_scope_is_refused(namespaces: Any, labels: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        Scope.of(namespaces, labels)


async def _async_map(obj: Object) -> list[ObjectKey]:
    return []


class _AsyncMap:
    async def __call__(self, obj: Object) -> list[ObjectKey]:
        return []


def test_functions_that_must_answer_at_once_come_back_as_a_tuple() -> None:
    assert checked_functions("map", own_key) == (own_key,)
    assert checked_functions("when", iter([generation_changed] * 2)) == (generation_changed,) * 2
    assert checked_functions("when", ()) == ()


@pytest.mark.parametrize(
    ("functions", "text"),
    [
        pytest.param(_async_map, "when=_async_map must be a plain function", id="async"),
        pytest.param([own_key, _AsyncMap()], "when=.*_AsyncMap object.* must be a plain", id="async call"),
        pytest.param(partial(_async_map), r"when=functools\.partial.* must be a plain", id="async partial"),
        pytest.param([generation_changed, 3], "when= takes functions, not 3", id="one is none"),
        pytest.param(3, "when= takes functions, not 3", id="none at all"),
        pytest.param("text", "when= takes functions, not 't'", id="text"),
    ],
)
def test_what_cannot_answer_at_once_is_refused(functions: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        checked_functions("when", functions)
