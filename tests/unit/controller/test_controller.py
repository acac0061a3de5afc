import math
from functools import partial
from typing import Any

import pytest

from kinformer.controller import Controller, Request, RequeueAfter, generation_changed
from kinformer.meta import LabelSelector, Object, ObjectKey, Resource

CONFIG_MAPS = Resource.builtin("ConfigMap")
NODES = Resource.builtin("Node")
SECRETS = Resource.builtin("Secret")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")


async def reconcile(request: Request) -> RequeueAfter | None:
    return None


def controller() -> Controller:
    return Controller("site", reconcile)


def to_shop(obj: Object) -> list[ObjectKey]:
    return [ObjectKey("default", "shop")]


def test_calls_chain_and_declare_caches() -> None:
    built = controller().watches(WEBSITES).owns(CONFIG_MAPS).reads(SECRETS).watches(NODES, map=to_shop)
    declared = built.declaration()
    assert (declared.name, declared.watched, declared.reconcile) == ("site", WEBSITES, reconcile)
    assert list(declared.scopes) == [WEBSITES, CONFIG_MAPS, SECRETS, NODES]
    assert [source.resource for source in declared.sources] == [WEBSITES, CONFIG_MAPS, NODES]


def test_owned_kinds_may_be_declared_before_the_watched_one() -> None:
    declared = controller().owns(CONFIG_MAPS).watches(WEBSITES).declaration()
    owner = {
        "apiVersion": "example.dev/v1",
        "kind": "Website",
        "name": "shop",
        "uid": "u",
        "controller": True,
    }
    page = Object.from_mapping(
        {"metadata": {"name": "page", "namespace": "default", "ownerReferences": [owner]}}, CONFIG_MAPS
    )
    assert declared.sources[0].keys(page) == [ObjectKey("default", "shop")]


def test_a_scope_narrows_the_cache() -> None:
    built = controller().watches(WEBSITES, namespaces=["a"], labels="app=web", when=generation_changed)
    scope = built.scopes[WEBSITES]
    assert scope.namespaces == ("a",)
    assert scope.labels == LabelSelector.parse("app=web")
    assert built.declaration().sources[0].when == (generation_changed,)


def test_writes_are_recorded() -> None:
    built = controller().writes(CONFIG_MAPS).writes(WEBSITES, "status", "scale")
    assert [(str(item.resource), item.subresources) for item in built.written] == [
        ("configmaps", ()),
        ("websites.example.dev", ("status", "scale")),
    ]


def test_a_second_watched_kind_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"watches websites.example.dev already.*events of configmaps give map="
    ):
        controller().watches(WEBSITES).watches(CONFIG_MAPS)


def test_one_resource_has_one_scope() -> None:
    built = controller().watches(WEBSITES, labels="a=b")
    with pytest.raises(ValueError, match=r"declares websites\.example\.dev twice"):
        built.reads(WEBSITES)
    built.watches(WEBSITES, labels="a=b", map=to_shop)


def test_a_cluster_scoped_resource_has_no_namespaces() -> None:
    with pytest.raises(ValueError, match="nodes is cluster-scoped"):
        controller().reads(NODES, namespaces=["default"])


@pytest.mark.parametrize("wrong", ["configmaps", None, Resource])
def test_what_is_no_resource_is_refused(wrong: Any) -> None:
    built = controller()
    for declare in (built.watches, built.owns, built.reads, built.writes):
        with pytest.raises(TypeError, match="takes a Resource, such as"):
            declare(wrong)
    assert not built.scopes
    assert not built.written


async def _async_map(obj: Object) -> list[ObjectKey]:
    return []


def test_an_async_map_or_predicate_is_refused() -> None:
    with pytest.raises(TypeError, match="map=_async_map must be a plain function"):
        controller().watches(WEBSITES, map=_async_map)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="when=_async_map must be a plain function"):
        controller().watches(WEBSITES, when=[_async_map])  # type: ignore[list-item]


@pytest.mark.parametrize("wrong", [[to_shop], [], 3])
def test_a_map_is_one_function(wrong: Any) -> None:
    with pytest.raises(TypeError, match="map= takes functions, not "):
        controller().watches(WEBSITES, map=wrong)


def test_what_is_no_function_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="a function of one request, not 5"):
        Controller("site", 5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a function of one request, not 5"):
        Controller("site").reconciler(5)  # type: ignore[type-var]


class Callable:
    async def __call__(self, request: Request) -> None: ...

    async def method(self, request: Request) -> None: ...


@pytest.mark.parametrize(
    "function", [Callable(), Callable().method, partial(reconcile)], ids=["object", "method", "partial"]
)
def test_whatever_is_async_will_do(function: Any) -> None:
    assert Controller("site", function).watches(WEBSITES).declaration().reconcile is function


def test_a_reconciler_may_be_decorated() -> None:
    built = Controller("site").watches(WEBSITES)

    @built.reconciler
    async def mine(request: Request) -> None: ...

    assert built.declaration().reconcile is mine
    with pytest.raises(
        ValueError, match=r"has a reconciler already, .*mine: call both .* controller for reconcile"
    ):
        built.reconciler(reconcile)


def test_an_incomplete_controller_says_what_is_missing() -> None:
    with pytest.raises(ValueError, match=r"has no reconciler.*@controller.reconciler"):
        Controller("site").watches(WEBSITES).declaration()
    with pytest.raises(ValueError, match=r"does not say what it reconciles: call .watches"):
        controller().owns(CONFIG_MAPS).declaration()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"name": ""}, "needs a name"),
        ({"name": "a\nb"}, "needs a name in one line"),
        ({"name": "site", "workers": 0}, "workers=0 must be at least 1"),
        ({"name": "site", "timeout": 0.0}, "timeout=0.0 must be more than 0"),
        ({"name": "site", "timeout": math.nan}, "timeout=nan must be more than 0"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        Controller(**arguments)


def test_no_timeout_is_infinity() -> None:
    assert Controller("site", timeout=math.inf).timeout == math.inf
