"""The least permissions against the set of everything that they allow, spelled out one by one."""

from collections.abc import Iterable, Iterator

from hypothesis import given
from hypothesis import strategies as st

from kinformer.controller import Permission
from kinformer.controller._permissions import EVERYWHERE, least
from kinformer.meta import Resource

PLACES = ("", "a", "b")
NAMES = ("x", "y", "other")
VERBS = ("get", "list", "create")
RESOURCES = [
    Resource.builtin("Pod"),
    Resource.builtin("Deployment"),
    Resource("apps", "v9", "deployments", "Deployment"),
]
PERMISSIONS = st.builds(
    Permission,
    st.sampled_from(RESOURCES),
    st.lists(st.sampled_from(VERBS), min_size=1).map(tuple),
    st.sampled_from([*PLACES, EVERYWHERE]),
    st.lists(st.sampled_from(NAMES[:2]), max_size=2).map(tuple),
    st.sampled_from(["", "status"]),
)


def allowed(permissions: Iterable[Permission]) -> Iterator[tuple[str, ...]]:
    for each in permissions:
        for verb in each.verbs:
            for place in PLACES if each.namespace == EVERYWHERE else [each.namespace]:
                for name in each.names or NAMES:
                    yield each.resource.group, each.combined, verb, place, name


@given(st.lists(PERMISSIONS, max_size=6))
def test_the_least_allow_the_same_in_one_order_and_say_nothing_twice(given_: list[Permission]) -> None:
    found = least(given_)
    assert set(allowed(found)) == set(allowed(given_))
    assert least(reversed(given_)) == found or len({each.resource.version for each in given_}) > 1
    assert least(found) == found
    for each in found:
        assert each.verbs
        for other in found:
            if other != each and is_wider(other, each):
                assert set(each.verbs).isdisjoint(other.verbs)


def is_wider(other: Permission, each: Permission) -> bool:
    return (
        (other.resource, other.subresource) == (each.resource, each.subresource)
        and other.namespace in {each.namespace, EVERYWHERE}
        and other.names in {each.names, ()}
    )
