"""What the world of the demo must look like, told without the controller's help. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kinformer.meta import Object

__all__ = ["Page", "World", "differences"]


Facts: TypeAlias = Mapping[tuple[str, ...], Any]
"""Values that an object must have, by path."""


@dataclass(frozen=True, slots=True)
class Page:
    """A Website as its owner wants it."""

    name: str
    html: str
    replicas: int

    @property
    def body(self) -> dict[str, Any]:
        """The object to create."""
        return {
            "metadata": {"name": self.name, "namespace": "default"},
            "spec": {"title": self.name.title(), "html": self.html, "replicas": self.replicas},
        }


@dataclass(frozen=True, slots=True)
class World:
    """What the server has of each kind."""

    websites: Sequence[Object]
    deployments: Sequence[Object]
    config_maps: Sequence[Object]


def differences(pages: Iterable[Page], world: World, *, directory: str) -> list[str]:
    """Each way in which the world is not what these pages ask for, as a sentence; none means that it has converged.

    Args:
        pages: All Websites that should exist.
        world: What a list has shown.
        directory: The name of the ConfigMap that lists the Websites.
    """
    wanted = {page.name: page for page in pages}
    websites, deployments, config_maps = map(_by_name, (world.websites, world.deployments, world.config_maps))
    entries = config_maps.pop(directory, None)
    found = [
        *_surplus("Website", websites, wanted),
        *_surplus("Deployment", deployments, wanted),
        *_surplus("ConfigMap", config_maps, wanted),
    ]
    for name, page in wanted.items():
        site = websites.get(name)
        if site is None:
            found.append(f"Website {name} is missing")
            continue
        found += _unlike(site, "Website", {("spec", "html"): page.html, ("spec", "replicas"): page.replicas})
        found += _unready(site, page)
        replicas: Facts = {("spec", "replicas"): page.replicas, ("status", "readyReplicas"): page.replicas}
        found += _child(deployments.get(name), "Deployment", site, replicas)
        found += _child(config_maps.get(name), "ConfigMap", site, {("data", "index.html"): page.html})
    listed = sorted(entries.at("data", default={})) if entries is not None else []
    if listed != sorted(wanted):
        found.append(f"the directory lists {_words(listed)} instead of {_words(sorted(wanted))}")
    return found


def _by_name(objects: Iterable[Object]) -> dict[str, Object]:
    return {obj.metadata.name: obj for obj in objects}


def _surplus(kind: str, found: Iterable[str], wanted: Mapping[str, Page]) -> Iterator[str]:
    for name in found:
        if name not in wanted:
            yield f"{kind} {name} should be gone"


def _child(child: Object | None, kind: str, site: Object, facts: Facts) -> Iterator[str]:
    name = site.metadata.name
    if child is None:
        yield f"{kind} {name} is missing"
        return
    yield from _unlike(child, kind, facts)
    owner = child.metadata.controller
    if owner is None or owner.uid != site.metadata.uid:
        yield f"{kind} {name} does not belong to its Website"


def _unlike(obj: Object, kind: str, facts: Facts) -> Iterator[str]:
    for path, value in facts.items():
        seen = obj.at(*path, default=None)
        if seen != value:
            yield f"{kind} {obj.metadata.name}: {'.'.join(path)} is {seen!r} instead of {value!r}"


def _unready(site: Object, page: Page) -> Iterator[str]:
    yield from _unlike(site, "Website", {("status", "readyReplicas"): page.replicas})
    conditions = {entry["type"]: entry for entry in site.at("status", "conditions", default=())}
    ready = conditions.get("Ready", {})
    if (ready.get("status"), ready.get("observedGeneration")) != ("True", site.metadata.generation):
        yield f"Website {page.name}: its condition Ready is not True for what it asks for now"


def _words(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
