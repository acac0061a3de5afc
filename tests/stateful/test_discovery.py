"""Discovery documents against the list of what is served at this moment."""

from typing import Any

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from kinformer.apiserver.http._discovery import Discovery
from kinformer.apiserver.registry import Registry, Served

PLACES = [("example.dev", "v1"), ("example.dev", "v1beta1"), ("example.dev", "v2"), ("other.dev", "v1")]
BEST_FIRST = ["v2", "v1", "v1beta1"]
Listed = dict[tuple[str, str], set[str]]
"""The names of resources and subresources, by group and version."""


class DiscoveryMachine(RuleBasedStateMachine):
    """Definitions come and go, and now and then somebody asks; what is kept from before must never show."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = Registry()
        self.discovery = Discovery(self.registry)
        self.builtin = self.listed()
        self.custom: dict[str, list[Served]] = {}
        self.tags: dict[str, tuple[bytes, str]] = {}

    @rule(
        plural=st.sampled_from(["sites", "things"]),
        places=st.sets(st.sampled_from(PLACES), min_size=1),
        subresources=st.sets(st.sampled_from(["status", "scale"])),
    )
    def define(self, plural: str, places: set[tuple[str, str]], subresources: set[str]) -> None:
        self.custom[plural] = [
            Served(group, version, plural, "Some", subresources=tuple(sorted(subresources)), is_custom=True)
            for group, version in sorted(places)
        ]
        self.registry.put_custom(plural, self.custom[plural])

    @rule(plural=st.sampled_from(["sites", "things"]))
    def drop(self, plural: str) -> None:
        self.registry.remove_custom(plural)
        self.custom.pop(plural, None)

    def expected(self) -> Listed:
        listed: Listed = {}
        for served in (entry for entries in self.custom.values() for entry in entries):
            names = {served.plural, *(f"{served.plural}/{name}" for name in served.subresources)}
            listed.setdefault((served.group, served.version), set()).update(names)
        return listed

    def listed(self) -> Listed:
        """What the plain documents show, from the top downwards."""
        groups = {
            entry["name"]: [each["version"] for each in entry["versions"]]
            for entry in self.discovery.group_list()["groups"]
        }
        return {
            (group, version): {entry["name"] for entry in resources_of(self.discovery, group, version)}
            for group, versions in groups.items()
            for version in versions
        }

    @rule()
    def ask_for_plain_documents(self) -> None:
        assert self.listed() == self.builtin | self.expected()
        for group, version in PLACES:
            found = self.discovery.resource_list(group, version)
            assert (found is None) == ((group, version) not in self.expected())
            assert self.discovery.has_custom_only(group, version)
        assert not self.discovery.has_custom_only("apps", "v1")

    @rule(group=st.sampled_from(["example.dev", "other.dev"]))
    def ask_for_a_group(self, group: str) -> None:
        versions = {version for known, version in self.expected() if known == group}
        best_first = [version for version in BEST_FIRST if version in versions]
        assert list(self.discovery.versions(group)) == best_first
        document = self.discovery.group(group)
        if not versions:
            assert document is None
            return
        assert document is not None
        assert [entry["version"] for entry in document["versions"]] == best_first
        assert document["preferredVersion"] == document["versions"][0]

    @rule(form=st.sampled_from(["v2", "v2beta1"]), is_core=st.booleans())
    def ask_for_the_aggregated_form(self, form: str, is_core: bool) -> None:
        body, tag = self.discovery.aggregated(form, is_core=is_core)
        document = msgspec.json.decode(body)
        assert document["apiVersion"].endswith(f"/{form}")
        listed = {
            (item["metadata"].get("name", ""), entry["version"]): names_of(entry["resources"])
            for item in document["items"]
            for entry in item["versions"]
        }
        if is_core:
            assert list(listed) == [("", "v1")]
        else:
            assert listed == self.builtin | self.expected()
        before = self.tags.setdefault(tag, (body, tag))
        assert before == (body, tag), "one tag stands for one document"
        assert Discovery(self.registry).aggregated(form, is_core=is_core) == (body, tag)


def resources_of(discovery: Discovery, group: str, version: str) -> list[dict[str, Any]]:
    document = discovery.resource_list(group, version)
    assert document is not None
    resources: list[dict[str, Any]] = document["resources"]
    return resources


def names_of(resources: list[dict[str, Any]]) -> set[str]:
    return {
        name
        for entry in resources
        for name in [
            entry["resource"],
            *(f"{entry['resource']}/{sub['subresource']}" for sub in entry.get("subresources", ())),
        ]
    }


TestDiscovery = DiscoveryMachine.TestCase
TestDiscovery.settings = settings(max_examples=30, stateful_step_count=15)
