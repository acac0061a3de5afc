"""The registry against a list of all entries, searched from the front."""

from collections.abc import Callable

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.apiserver.registry import Registry, Served

VERSIONS = st.sampled_from(["v1", "v2"])
NAMES = st.sampled_from(["widgets.example.dev", "things.other.dev"])
SHORT = st.sampled_from([(), ("w",)])


def entry(name: str, version: str, short_names: tuple[str, ...]) -> Served:
    plural, _, group = name.partition(".")
    return Served(group, version, plural, plural.title(), short_names=short_names, is_custom=True)


class RegistryMachine(RuleBasedStateMachine):
    """Definitions come, change and go; now and then somebody registers a kind of his own, which stays."""

    def __init__(self) -> None:
        super().__init__()
        self.registry = Registry()
        self.fixed = list(self.registry.served())
        self.custom: dict[str, list[Served]] = {}
        self.generation = self.registry.generation
        self.heard: list[int] = []
        self.unsubscribe: Callable[[], None] | None = None

    def entries(self) -> list[Served]:
        every = [*self.fixed, *(served for group in self.custom.values() for served in group)]
        seen: dict[tuple[str, str, str], Served] = {}
        for served in every:
            seen.setdefault((served.group, served.version, served.plural), served)
        return list(seen.values())

    @rule(name=NAMES, versions=st.lists(VERSIONS, min_size=1, max_size=2, unique=True), short_names=SHORT)
    def put(self, name: str, versions: list[str], short_names: tuple[str, ...]) -> None:
        made = [entry(name, version, short_names) for version in versions]
        known = {served.version: served for served in self.custom.get(name, [])}
        group = [known[one.version] if known.get(one.version) == one else one for one in made]
        self.registry.put_custom(name, made)
        if group != self.custom.get(name):
            self.custom[name] = group
            self.note_a_change()

    @rule(name=NAMES)
    def remove(self, name: str) -> None:
        self.registry.remove_custom(name)
        if self.custom.pop(name, None) is not None:
            self.note_a_change()

    @rule(version=VERSIONS, name=NAMES, is_meant=st.sampled_from([False, False, True]))
    def register(self, name: str, version: str, is_meant: bool) -> None:
        served = Served(entry(name, version, ()).group, version, name.partition(".")[0], "Own")
        if any(known.qualified == served.qualified and known.version == version for known in self.entries()):
            with pytest.raises(ValueError, match="is served already"):
                self.registry.register(served)
        elif is_meant:  # seldom, since it stays
            self.registry.register(served)
            self.fixed.append(served)
            self.note_a_change()

    @rule()
    def listen_or_not(self) -> None:
        if self.unsubscribe is None:
            self.unsubscribe = self.registry.subscribe(lambda: self.heard.append(self.registry.generation))
        else:
            self.unsubscribe()
            self.unsubscribe()
            self.unsubscribe = None

    def note_a_change(self) -> None:
        assert self.registry.generation > self.generation
        self.generation = self.registry.generation
        assert self.heard[-1:] == ([self.generation] if self.unsubscribe else self.heard[-1:])

    @invariant()
    def it_serves_what_the_list_says(self) -> None:
        entries = self.entries()
        assert list(self.registry.served()) == entries
        for ours, theirs in zip(entries, self.registry.served(), strict=True):
            assert ours is theirs
            assert self.registry.find(ours.group, ours.version, ours.plural) is ours
        assert self.registry.generation == self.generation
        assert self.registry.find("example.dev", "v9", "widgets") is None

    @invariant()
    def kinds_groups_and_storage_keys_lead_to_entries(self) -> None:
        entries = [served for served in self.entries() if served.group.endswith(".dev")]
        groups = {
            group: set(versions) for group, versions in self.registry.groups().items() if ".dev" in group
        }
        assert groups == {
            group: {served.version for served in entries if served.group == group}
            for group in {served.group for served in entries}
        }
        for served in entries:
            found = self.registry.find_kind(f"{served.group}/{served.version}", served.kind)
            assert found is not None
            assert (found.group, found.version, found.kind) == (served.group, served.version, served.kind)
            located = self.registry.locate(served.key("default", "a"))
            assert located is not None
            assert (located[0].qualified, *located[1:]) == (served.qualified, "default", "a")


TestRegistry = RegistryMachine.TestCase
