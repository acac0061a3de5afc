import pytest

from kinformer import Controller, Manager, Request, Resource
from kinformer.controller import LeaderElection, Permission
from kinformer.controller._permissions import EVENTS, EVERYWHERE, least

SITES = Resource("example.dev", "v1", "websites", "Website")
DEPLOYMENTS = Resource.builtin("Deployment")
CONFIG_MAPS = Resource.builtin("ConfigMap")
NODES = Resource.builtin("Node")
PODS = Resource.builtin("Pod")
TELL = Permission(EVENTS, ("create", "patch"), EVERYWHERE)


async def reconcile(request: Request) -> None: ...


def controller(name: str = "website") -> Controller:
    return Controller(name, reconcile)


def test_what_is_watched_is_listed_and_events_are_told_of_it() -> None:
    assert controller().watches(SITES).permissions == (
        TELL,
        Permission(SITES, ("list", "watch"), EVERYWHERE),
    )


def test_what_is_read_or_mapped_is_listed_too() -> None:
    declared = controller().watches(SITES).reads(CONFIG_MAPS).watches(NODES, map=lambda _: [])
    assert Permission(CONFIG_MAPS, ("list", "watch"), EVERYWHERE) in declared.permissions
    assert Permission(NODES, ("list", "watch"), EVERYWHERE) in declared.permissions


def test_what_is_owned_is_written_and_its_owner_waits_for_it() -> None:
    assert controller().watches(SITES).owns(DEPLOYMENTS).permissions == (
        Permission(DEPLOYMENTS, ("create", "delete", "get", "list", "patch", "update", "watch"), EVERYWHERE),
        TELL,
        Permission(SITES, ("list", "watch"), EVERYWHERE),
        Permission(SITES, ("update",), EVERYWHERE, subresource="finalizers"),
    )


def test_of_what_is_owned_no_more_is_written_than_was_said() -> None:
    declared = controller().watches(SITES).owns(DEPLOYMENTS).writes(DEPLOYMENTS, "scale")
    assert [p for p in declared.permissions if p.resource == DEPLOYMENTS] == [
        Permission(DEPLOYMENTS, ("list", "watch"), EVERYWHERE),
        Permission(DEPLOYMENTS, ("get", "patch", "update"), EVERYWHERE, subresource="scale"),
    ]


def test_finalizers_are_a_patch_of_the_object() -> None:
    declared = controller().watches(SITES).writes(SITES, "finalizers")
    assert Permission(SITES, ("get", "list", "patch", "watch"), EVERYWHERE) in declared.permissions


@pytest.mark.parametrize(
    ("part", "verbs"),
    [
        ("status", ("get", "patch", "update")),
        ("eviction", ("create",)),
        ("binding", ("create",)),
        ("token", ("create",)),
        ("log", ("get",)),
    ],
)
def test_a_subresource_takes_the_verbs_that_it_has(part: str, verbs: tuple[str, ...]) -> None:
    declared = controller().watches(SITES).writes(PODS, part)
    assert Permission(PODS, verbs, EVERYWHERE, subresource=part) in declared.permissions


def test_what_is_cached_in_some_namespaces_is_asked_for_there_only() -> None:
    declared = controller().watches(SITES, namespaces=["b", "a"]).writes(SITES, "status").writes(NODES)
    assert declared.permissions == (
        Permission(NODES, ("create", "delete", "get", "patch", "update"), EVERYWHERE),
        Permission(EVENTS, ("create", "patch"), "a"),
        Permission(EVENTS, ("create", "patch"), "b"),
        Permission(SITES, ("list", "watch"), "a"),
        Permission(SITES, ("list", "watch"), "b"),
        Permission(SITES, ("get", "patch", "update"), "a", subresource="status"),
        Permission(SITES, ("get", "patch", "update"), "b", subresource="status"),
    )


def test_a_manager_needs_what_its_controllers_and_its_election_do_once() -> None:
    election = LeaderElection("op", namespace="ops")
    one, other = controller("one").watches(SITES), controller("other").watches(SITES)
    assert Manager(one, other).permissions == one.permissions
    assert set(Manager(one, election=election).permissions) == {*one.permissions, *election.permissions}


def test_nothing_is_said_twice() -> None:
    assert least(
        [
            Permission(PODS, ("list",), EVERYWHERE),
            Permission(PODS, ("watch", "list"), "shop"),
            Permission(PODS, ("watch", "get"), "shop", ("web", "db", "web")),
            Permission(PODS, ("list",), EVERYWHERE, ("web",)),
        ]
    ) == (
        Permission(PODS, ("list",), EVERYWHERE),
        Permission(PODS, ("watch",), "shop"),
        Permission(PODS, ("get",), "shop", ("db", "web")),
    )


def test_versions_of_a_resource_are_one() -> None:
    older = Resource("example.dev", "v1beta1", "websites", "Website")
    assert least([Permission(SITES, ("list",)), Permission(older, ("watch",))]) == (
        Permission(SITES, ("list", "watch")),
    )
