"""The registry: what is served, in which order, and who hears of changes."""

import pytest

from kinformer.apiserver.registry import Registry, Served, version_rank
from kinformer.meta import BUILTINS, Resource


def widget(version: str = "v1", **more: str) -> Served:
    return Served("example.dev", version, "widgets", "Widget", is_custom=True, **more)  # type: ignore[arg-type]


def test_every_built_in_kind_is_served() -> None:
    registry = Registry()
    for row in BUILTINS:
        served = registry.find(row.group, row.version, row.plural)
        assert served is not None
        assert served.resource == Resource(*row[:5])
    assert registry.find("", "v1", "nothing") is None


@pytest.mark.parametrize(
    ("plural", "subresources", "categories"),
    [
        ("pods", ("status",), ("all",)),
        ("deployments", ("status", "scale"), ("all",)),
        ("namespaces", ("status", "finalize"), ()),
        ("configmaps", (), ()),
        ("customresourcedefinitions", ("status",), ("api-extensions",)),
    ],
)
def test_built_in_kinds_know_their_subresources_and_categories(
    plural: str, subresources: tuple[str, ...], categories: tuple[str, ...]
) -> None:
    served = next(each for each in Registry().served() if each.plural == plural)
    assert (served.subresources, served.categories) == (subresources, categories)


def test_custom_kinds_come_change_and_go() -> None:
    registry = Registry()
    heard: list[int] = []
    unsubscribe = registry.subscribe(lambda: heard.append(registry.generation))
    first = widget()
    registry.put_custom("widgets.example.dev", [first])
    registry.put_custom("widgets.example.dev", [widget()])
    assert registry.find("example.dev", "v1", "widgets") is first
    assert len(heard) == 1
    registry.put_custom("widgets.example.dev", [first, widget("v2")])
    assert registry.find("example.dev", "v1", "widgets") is first
    registry.remove_custom("widgets.example.dev")
    registry.remove_custom("widgets.example.dev")
    assert registry.find("example.dev", "v1", "widgets") is None
    assert len(heard) == 3
    unsubscribe()
    registry.put_custom("widgets.example.dev", [first])
    assert len(heard) == 3


def test_groups_list_their_versions_preferred_first_and_core_comes_first() -> None:
    registry = Registry()
    registry.put_custom(
        "widgets.example.dev", [widget(v) for v in ("v1alpha1", "v1", "v2", "v1beta1", "v10")]
    )
    groups = registry.groups()
    assert next(iter(groups)) == ""
    assert groups["example.dev"] == ("v10", "v2", "v1", "v1beta1", "v1alpha1")
    assert groups["autoscaling"] == ("v2", "v1")


def test_versions_are_ranked_as_kubernetes_does() -> None:
    versions = [
        "foo10",
        "v1",
        "v11alpha2",
        "v10beta3",
        "v3beta1",
        "v2",
        "v12alpha1",
        "foo1",
        "v10",
        "v11beta2",
    ]
    assert sorted(versions, key=version_rank) == [
        "v10", "v2", "v1", "v11beta2", "v10beta3", "v3beta1", "v12alpha1", "v11alpha2", "foo1", "foo10",
    ]  # fmt: skip


def test_a_storage_key_leads_back_to_what_lies_there() -> None:
    registry = Registry()
    pods, nodes = registry.find("", "v1", "pods"), registry.find("", "v1", "nodes")
    assert pods is not None
    assert nodes is not None
    assert registry.locate(pods.key("default", "a")) == (pods, "default", "a")
    assert registry.locate(nodes.key("", "a")) == (nodes, "", "a")
    hpa = registry.locate("/registry/autoscaling/horizontalpodautoscalers/default/a")
    assert hpa is not None
    assert hpa[0].version == "v2"
    for key in ("/registry/core/pods/a", "/registry/core/nothing/a/b", "/other", pods.prefix()):
        assert registry.locate(key) is None


def test_a_kind_is_found_by_what_objects_say_of_themselves() -> None:
    registry = Registry()
    found = registry.find_kind("apps/v1", "Deployment")
    assert found is not None
    assert found.plural == "deployments"
    assert registry.find_kind("v1", "Deployment") is None


def test_a_kind_of_ones_own_can_be_registered_once() -> None:
    registry = Registry()
    registry.register(Served("example.dev", "v1", "things", "Thing"))
    assert registry.find("example.dev", "v1", "things") is not None
    with pytest.raises(ValueError, match="is served already"):
        registry.register(Served("example.dev", "v1", "things", "Thing"))


def test_entries_with_schemas_can_be_keys() -> None:
    one, same, other = (
        Served("example.dev", "v1", "sites", "Site", schema={"type": kind})
        for kind in ("object", "object", "array")
    )
    assert {one: 1}.get(same) == 1
    assert {one: 1}.get(other) is None
