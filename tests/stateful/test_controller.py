"""What is declared on a controller, against lists of it; whatever is refused leaves no trace."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.controller import Controller, Request, generation_changed
from kinformer.controller._controller import Written
from kinformer.controller._sources import Scope
from kinformer.meta import Object, ObjectKey, Resource

CONFIG_MAPS = Resource.builtin("ConfigMap")
NODES = Resource.builtin("Node")
WEBSITES = Resource("example.dev", "v1", "websites", "Website")
RESOURCES = st.sampled_from([CONFIG_MAPS, NODES, WEBSITES])
SCOPES = st.sampled_from([{}, {}, {"namespaces": ["a"]}, {"labels": "app=web"}])


async def reconcile(request: Request) -> None: ...


async def asynchronous(obj: Object) -> list[ObjectKey]:
    return []


def to_other(obj: Object) -> list[ObjectKey]:
    return [ObjectKey("default", "other")]


MAPS = st.sampled_from([to_other, to_other, asynchronous, [to_other], 3])
PREDICATES = st.sampled_from([(), (), generation_changed, [generation_changed], [asynchronous], [3], 3])


class ControllerMachine(RuleBasedStateMachine):
    """Calls in any order, sensible or not."""

    def __init__(self) -> None:
        super().__init__()
        self.controller = Controller("site")
        self.watched: list[Resource] = []
        self.scopes: dict[Resource, Scope] = {}
        self.sources: list[tuple[Resource, str, int]] = []  # with the rule, and how many predicates
        self.written: list[Written] = []
        self.has_reconciler = False

    def declare(self, resource: Resource, scope: dict[str, Any], call: Callable[[], object]) -> bool:
        """Make a call that is good but for its scope, and say whether it was taken."""
        wanted = Scope.of(scope.get("namespaces", ()), scope.get("labels"))
        is_narrow = resource is NODES and wanted.namespaces
        if is_narrow or self.scopes.get(resource, wanted) != wanted:
            with pytest.raises(ValueError, match=r"is cluster-scoped|declares .* twice"):
                call()
            return False
        assert call() is self.controller, "calls chain"
        self.scopes[resource] = wanted
        return True

    @rule(resource=RESOURCES, scope=SCOPES, when=PREDICATES)
    def watch(self, resource: Resource, scope: dict[str, Any], when: Any) -> None:
        def call() -> object:
            return self.controller.watches(resource, when=when, **scope)

        if self.watched:
            with pytest.raises(ValueError, match="one controller reconciles one kind"):
                call()
        elif when in ([asynchronous], [3], 3):
            with pytest.raises(TypeError, match="when="):
                call()
        elif self.declare(resource, scope, call):
            self.watched.append(resource)
            self.sources.append((resource, "own", 0 if when == () else 1))

    @rule(resource=RESOURCES, scope=SCOPES, function=MAPS)
    def watch_with_a_map(self, resource: Resource, scope: dict[str, Any], function: Any) -> None:
        def call() -> object:
            return self.controller.watches(resource, map=function, **scope)

        if function is not to_other:
            with pytest.raises(TypeError, match="map="):
                call()
        elif self.declare(resource, scope, call):
            self.sources.append((resource, "map", 0))

    @rule(resource=RESOURCES, scope=SCOPES)
    def own(self, resource: Resource, scope: dict[str, Any]) -> None:
        if self.declare(resource, scope, lambda: self.controller.owns(resource, **scope)):
            self.sources.append((resource, "owner", 0))

    @rule(resource=RESOURCES, scope=SCOPES)
    def read(self, resource: Resource, scope: dict[str, Any]) -> None:
        self.declare(resource, scope, lambda: self.controller.reads(resource, **scope))

    @rule(resource=RESOURCES, subresources=st.lists(st.sampled_from(["status", "scale"]), max_size=2))
    def write(self, resource: Resource, subresources: list[str]) -> None:
        self.controller.writes(resource, *subresources)
        self.written.append(Written(resource, tuple(subresources)))

    @rule(name=st.sampled_from(["watches", "owns", "reads", "writes"]), wrong=st.sampled_from(["pods", None]))
    def name_no_resource(self, name: str, wrong: Any) -> None:
        with pytest.raises((TypeError, ValueError)):
            getattr(self.controller, name)(wrong)

    @rule()
    def decorate(self) -> None:
        if self.has_reconciler:
            with pytest.raises(ValueError, match="has a reconciler already"):
                self.controller.reconciler(reconcile)
        else:
            assert self.controller.reconciler(reconcile) is reconcile
            self.has_reconciler = True

    @invariant()
    def it_has_declared_what_was_taken(self) -> None:
        assert dict(self.controller.scopes) == self.scopes
        assert list(self.controller.written) == self.written
        if not (self.watched and self.has_reconciler):
            with pytest.raises(ValueError, match=r"has no reconciler|does not say what it reconciles"):
                self.controller.declaration()
            return
        declared = self.controller.declaration()
        assert (declared.name, declared.watched, declared.reconcile) == ("site", self.watched[0], reconcile)
        assert dict(declared.scopes) == self.scopes
        assert [
            (source.resource, rule_of(source.keys, self.watched[0]), len(source.when))
            for source in declared.sources
        ] == self.sources


def rule_of(keys: Callable[[Object], Any], watched: Resource) -> str:
    """Which rule leads from an object to these keys."""
    reference = {"apiVersion": watched.api_version, "kind": watched.kind, "name": "owner", "uid": "u"}
    metadata = {"name": "self", "ownerReferences": [{**reference, "controller": True}]}
    found = keys(Object.from_mapping({"metadata": metadata}, NODES))
    key = found if isinstance(found, ObjectKey) else found[0]
    return {"owner": "owner", "other": "map", "self": "own"}[key.name]


TestController = ControllerMachine.TestCase
TestController.settings = settings(max_examples=40, stateful_step_count=20)
