from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinformer.client import Catalog, ServedResource
from kinformer.errors import AmbiguousError, NoMatchError, ServerError
from kinformer.meta import Resource


def served(name: str, kind: str, *short: str, singular: str | None = None) -> ServedResource:
    """One by its full name, such as ``widgets.v1.example.dev``."""
    plural, version, *group = name.split(".")
    resource = Resource(".".join(group), version, plural, kind)
    return ServedResource(resource, kind.lower() if singular is None else singular, short)


CATALOG = Catalog(
    (
        served("pods.v1", "Pod", "po"),
        served("events.v1", "Event", "ev"),
        served("deployments.v1.apps", "Deployment", "deploy"),
        served("deployments.v1beta1.apps", "Deployment", "deploy"),
        served("events.v1.events.k8s.io", "Event", "ev"),
        served("horizontalpodautoscalers.v2.autoscaling", "HorizontalPodAutoscaler", "hpa"),
        served("horizontalpodautoscalers.v1.autoscaling", "HorizontalPodAutoscaler", "hpa"),
        served("pods.v1beta1.metrics.k8s.io", "PodMetrics", singular=""),
        served("widgets.v2.example.dev", "Widget", "wd"),
        served("widgets.v1.example.dev", "Widget", "wd"),
        served("gadgets.v1.example.dev", "Gadget", "gd", "po"),
        served("gadgets.v1.other.dev", "Gadget", "gd"),
        served("wd.v1.other.dev", "Wardrobe"),
        served("oddities.v1.v1.example.dev", "Oddity"),
    )
)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("deployments", "deployments.v1.apps"),
        ("deployment", "deployments.v1.apps"),
        ("Deployment", "deployments.v1.apps"),
        ("deploy", "deployments.v1.apps"),
        ("Deployment.apps", "deployments.v1.apps"),
        ("deploy.apps", "deployments.v1.apps"),
        ("deployments.v1beta1.apps", "deployments.v1beta1.apps"),
        ("Deployment.v1beta1.apps", "deployments.v1beta1.apps"),
        ("pods", "pods.v1"),
        ("pods.v1", "pods.v1"),
        ("pods.v1.", "pods.v1"),
        ("pods.", "pods.v1"),
        ("po", "pods.v1"),
        ("pods.metrics.k8s.io", "pods.v1beta1.metrics.k8s.io"),
        ("PodMetrics", "pods.v1beta1.metrics.k8s.io"),
        ("po.example.dev", "gadgets.v1.example.dev"),
        ("events", "events.v1"),
        ("ev", "events.v1"),
        ("events.events.k8s.io", "events.v1.events.k8s.io"),
        ("events.v1.events.k8s.io", "events.v1.events.k8s.io"),
        ("hpa", "horizontalpodautoscalers.v2.autoscaling"),
        ("hpa.v1.autoscaling", "horizontalpodautoscalers.v1.autoscaling"),
        ("WIDGETS", "widgets.v2.example.dev"),
        ("widget.v1.example.dev", "widgets.v1.example.dev"),
        ("gadgets.other.dev", "gadgets.v1.other.dev"),
        ("wd", "wd.v1.other.dev"),
        ("wd.example.dev", "widgets.v2.example.dev"),
        ("oddities.v1.example.dev", "oddities.v1.v1.example.dev"),
        ("oddities.v1.v1.example.dev", "oddities.v1.v1.example.dev"),
    ],
)
def test_a_name_means_what_kubectl_users_expect(name: str, found: str) -> None:
    (expected,) = [one.resource for one in CATALOG.resources if one.full_name == found]
    assert CATALOG.find(name) == expected


@pytest.mark.parametrize("name", ["gadgets", "Gadget", "gd"])
def test_a_name_that_two_groups_share_is_not_guessed(name: str) -> None:
    with pytest.raises(AmbiguousError) as caught:
        CATALOG.find(name)
    assert caught.value.candidates == ("gadgets.v1.example.dev", "gadgets.v1.other.dev")
    assert str(caught.value) == (
        f"{name!r} may mean gadgets.v1.example.dev or gadgets.v1.other.dev: write one of these"
    )
    for candidate in caught.value.candidates:
        assert CATALOG.find(candidate).kind == "Gadget"


@pytest.mark.parametrize("name", ["", ".", "nothings", "pods.apps", "pods.v2", "deployments.v1", "pods/log"])
def test_a_name_of_nothing_is_told(name: str) -> None:
    with pytest.raises(NoMatchError) as caught:
        CATALOG.find(name)
    assert str(caught.value) == f"this server serves no resource called {name!r}"


def test_a_kind_is_found_by_its_api_version() -> None:
    assert CATALOG.find_kind("apps/v1", "Deployment") == Resource.builtin("Deployment")
    assert CATALOG.find_kind("v1", "Pod") == Resource.builtin("Pod")
    assert CATALOG.find_kind("example.dev/v1", "Widget").version == "v1"


@pytest.mark.parametrize(
    ("api_version", "kind", "message"),
    [
        ("apps/v2", "Deployment", "no Deployment of apps/v2, but in apps/v1, apps/v1beta1"),
        ("apps/v1", "deployment", "no deployment of apps/v1: did you mean Deployment of apps/v1?"),
        ("apps/v1", "deployments", "no deployments of apps/v1: did you mean Deployment of apps/v1?"),
        ("apps/v2", "pod", "no pod of apps/v2: did you mean Pod of v1?"),
        ("example.dev/v1", "Nothing", "no Nothing of example.dev/v1"),
    ],
)
def test_a_kind_that_is_not_served_is_told_with_where_it_is(
    api_version: str, kind: str, message: str
) -> None:
    with pytest.raises(NoMatchError) as caught:
        CATALOG.find_kind(api_version, kind)
    assert str(caught.value) == f"this server serves {message}"


def test_a_kind_that_two_resources_share_is_not_guessed() -> None:
    catalog = Catalog((served("boxes.v1.example.dev", "Box"), served("crates.v1.example.dev", "Box")))
    with pytest.raises(
        AmbiguousError, match=r"may mean boxes.v1.example.dev or crates.v1.example.dev"
    ) as caught:
        catalog.find_kind("example.dev/v1", "Box")
    assert caught.value.candidates == ("boxes.v1.example.dev", "crates.v1.example.dev")
    assert catalog.find("boxes").plural == "boxes"
    with pytest.raises(AmbiguousError):
        catalog.find("box")


def partly(*failed: str) -> Catalog:
    error = ServerError(503, "ServiceUnavailable", "down")
    kept = tuple(one for one in CATALOG.resources if one.resource.api_version not in failed)
    return Catalog(kept, dict.fromkeys(failed, error))


def test_what_could_not_be_read_is_named_where_something_is_missing() -> None:
    catalog = partly("example.dev/v1", "v1")
    unknown = "; unknown is what these serve: example.dev/v1 (down (503 ServiceUnavailable)), v1 (down"
    with pytest.raises(NoMatchError) as caught:
        catalog.find("nothings")
    assert unknown in str(caught.value)
    with pytest.raises(NoMatchError) as caught:
        catalog.find_kind("v1", "Pod")
    assert unknown in str(caught.value)


def test_no_other_resource_stands_in_for_a_builtin_that_could_not_be_read() -> None:
    assert CATALOG.find("pods").group == ""
    with pytest.raises(NoMatchError, match="no resource called 'pods'"):
        partly("v1").find("pods")
    assert partly("v1").find("pods.metrics.k8s.io").kind == "PodMetrics"
    without_core = Catalog(tuple(one for one in CATALOG.resources if one.resource.group))
    assert without_core.find("pods").kind == "PodMetrics"


def test_the_rest_is_found_although_something_could_not_be_read() -> None:
    assert partly("example.dev/v1").find("deploy") == Resource.builtin("Deployment")


def test_every_full_name_means_its_own() -> None:
    for one in CATALOG.resources:
        assert CATALOG.find(one.full_name) == one.resource


SERVED = st.builds(
    ServedResource,
    st.builds(
        Resource,
        st.sampled_from(["", "apps", "a.dev", "v1.a.dev"]),
        st.sampled_from(["v1", "v2"]),
        st.sampled_from(["pods", "cats", "c"]),
        st.sampled_from(["Pod", "Cat"]),
    ),
    st.sampled_from(["", "pod", "cat"]),
    st.lists(st.sampled_from(["po", "c", "cats"]), max_size=2).map(tuple),
)
NOUNS = st.sampled_from(["pods", "Pods", "pod", "po", "cats", "cat", "c", "dogs"])
RESTS = st.sampled_from(["", ".apps", ".a.dev", ".v1", ".v2.apps", ".v1.a.dev", ".v1.v1.a.dev", "."])


@given(st.lists(SERVED, max_size=6, unique_by=lambda one: one.full_name), NOUNS, RESTS)
def test_whatever_is_served_a_name_means_one_that_has_it_or_nothing(
    served: list[ServedResource], noun: str, rest: str
) -> None:
    having = [one for one in served if has_name(one, noun.lower(), rest)]
    match outcome(Catalog(tuple(served)), noun + rest):
        case NoMatchError():
            assert having == []
        case AmbiguousError(candidates=candidates):
            assert len(candidates) > 1
            assert {one.full_name for one in having} >= set(candidates)
        case found:
            assert found in [one.resource for one in having]
            alike = [
                one
                for one in having
                if (one.resource.group, one.resource.plural) == (found.group, found.plural)
            ]
            in_full = [one for one in alike if has_name(replace(one, short_names=()), noun.lower(), rest)]
            assert found == (in_full or alike)[0].resource, "its group prefers another version"


def has_name(one: ServedResource, noun: str, rest: str) -> bool:
    resource = one.resource
    rests = {"", f".{resource.group}", f".{resource.version}.{resource.group}".rstrip(".")}
    return rest in rests and noun in {resource.plural, one.singular, resource.kind.lower(), *one.short_names}


def outcome(catalog: Catalog, name: str) -> Resource | LookupError:
    try:
        return catalog.find(name)
    except LookupError as error:
        return error
