"""The demo's own judge must see what is wrong, since it decides about the exit code."""

from collections.abc import Callable
from typing import Any

import pytest

from kinformer.cli._expectation import Page, World, differences
from kinformer.cli._website import CONFIG_MAPS, DEPLOYMENTS, WEBSITES
from kinformer.controller import owner_reference
from kinformer.meta import Object, Resource
from kinformer.testing import config_map

PAGE = Page("blog", "<h1>Blog</h1>", 2)
Contents = dict[str, list[dict[str, Any]]]


def contents() -> Contents:
    site = PAGE.body | {
        "apiVersion": "example.dev/v1",
        "kind": "Website",
        "status": {
            "readyReplicas": 2,
            "conditions": [{"type": "Ready", "status": "True", "observedGeneration": 4}],
        },
    }
    site["metadata"] |= {"uid": "u1", "generation": 4}
    owners = [owner_reference(Object.from_mapping(site, WEBSITES))]
    metadata = {"name": "blog", "namespace": "default", "ownerReferences": owners}
    return {
        "websites": [site],
        "deployments": [{"metadata": metadata, "spec": {"replicas": 2}, "status": {"readyReplicas": 2}}],
        "config_maps": [
            config_map("blog", data={"index.html": PAGE.html}, owners=owners),
            config_map("directory", data={"blog": "https://blog/"}),
        ],
    }


def judged(found: Contents) -> list[str]:
    def objects(resource: Resource, items: list[dict[str, Any]]) -> list[Object]:
        return [Object.from_mapping(item, resource) for item in items]

    world = World(
        objects(WEBSITES, found["websites"]),
        objects(DEPLOYMENTS, found["deployments"]),
        objects(CONFIG_MAPS, found["config_maps"]),
    )
    return differences([PAGE], world, directory="directory")


def test_a_world_as_it_should_be_shows_no_difference() -> None:
    assert judged(contents()) == []


def surplus(found: Contents) -> None:
    found["deployments"].append({"metadata": {"name": "old"}})


def orphan(found: Contents) -> None:
    found["deployments"][0]["metadata"]["ownerReferences"][0]["uid"] = "another"


def scaled(found: Contents) -> None:
    found["deployments"][0]["spec"]["replicas"] = 7


def defaced(found: Contents) -> None:
    found["config_maps"][0]["data"]["index.html"] = "x"


def unseen(found: Contents) -> None:
    found["websites"][0]["metadata"]["generation"] = 5


def unready(found: Contents) -> None:
    found["websites"][0]["status"] = {}


def unlisted(found: Contents) -> None:
    del found["config_maps"][1]


@pytest.mark.parametrize(
    ("spoil", "faults"),
    [
        (lambda found: found["websites"].clear(), ["Website blog is missing"]),
        (lambda found: found["deployments"].clear(), ["Deployment blog is missing"]),
        (lambda found: found["config_maps"].pop(0), ["ConfigMap blog is missing"]),
        (surplus, ["Deployment old should be gone"]),
        (orphan, ["Deployment blog does not belong to its Website"]),
        (scaled, ["Deployment blog: spec.replicas is 7 instead of 2"]),
        (defaced, ["ConfigMap blog: data.index.html is 'x' instead of '<h1>Blog</h1>'"]),
        (unseen, ["Website blog: its condition Ready is not True for what it asks for now"]),
        (
            unready,
            [
                "Website blog: status.readyReplicas is None instead of 2",
                "Website blog: its condition Ready is not True for what it asks for now",
            ],
        ),
        (unlisted, ["the directory lists nothing instead of blog"]),
    ],
)
def test_each_fault_is_told(spoil: Callable[[Contents], object], faults: list[str]) -> None:
    found = contents()
    spoil(found)
    assert set(faults) <= set(judged(found))
