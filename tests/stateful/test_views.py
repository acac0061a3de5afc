"""The views of a cacher against a list of what was asked for, oldest first."""

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.apiserver.cacher import StoredObject, Views


class ViewsMachine(RuleBasedStateMachine):
    """Three places; who was asked for last goes last."""

    def __init__(self) -> None:
        super().__init__()
        self.views = Views(size=3)
        self.kept: list[tuple[str, StoredObject]] = []
        self.made = 0

    def make(self) -> StoredObject:
        self.made += 1
        content = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": str(self.made)}}
        return StoredObject.of(content)

    @rule(key=st.sampled_from("abcde"))
    def get(self, key: str) -> None:
        before, made = dict(self.kept), self.made
        view = self.views.get(key, self.make)
        assert self.made == made + (key not in before)
        assert before.get(key, view) is view
        self.kept = [*((known, one) for known, one in self.kept if known != key), (key, view)][-3:]

    @invariant()
    def it_holds_no_more_than_it_should(self) -> None:
        assert len(self.views) == len(self.kept)


TestViews = ViewsMachine.TestCase
