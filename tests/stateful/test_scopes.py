"""Watchers by scope against a look at each."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.apiserver.cacher._scopes import Scope, Scopes

WATCHERS = st.integers(0, 5)
SOME, ANY = st.sampled_from(["a", "b"]), st.sampled_from(["", "a", "b"])


class ScopesMachine(RuleBasedStateMachine):
    """Watchers come, move and go. The model asks each whether an object is in its scope."""

    def __init__(self) -> None:
        super().__init__()
        self.scopes = Scopes[int]()
        self.model: dict[int, Scope] = {}

    @rule(watcher=WATCHERS, namespace=ANY, name=ANY)
    def add(self, watcher: int, namespace: str, name: str) -> None:
        self.scopes.add(watcher, Scope(namespace, name))
        self.model[watcher] = Scope(namespace, name)

    @rule(watcher=WATCHERS)
    def discard(self, watcher: int) -> None:
        self.scopes.discard(watcher)
        self.model.pop(watcher, None)

    @rule(namespace=ANY, name=SOME)
    def find(self, namespace: str, name: str) -> None:
        found = self.scopes.of(namespace, name)
        assert sorted(found) == sorted(
            watcher for watcher, scope in self.model.items() if scope.holds(namespace, name)
        )

    @invariant()
    def it_holds_the_same_watchers_and_no_empty_scope(self) -> None:
        assert set(self.scopes) == set(self.model)
        assert len(self.scopes) == len(self.model)
        assert all(self.scopes._watchers.values())


TestScopes = ScopesMachine.TestCase
TestScopes.settings = settings(max_examples=30, stateful_step_count=15)
