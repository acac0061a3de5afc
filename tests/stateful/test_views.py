"""Both kinds of views against a list of what was shown, oldest first."""

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kinformer.apiserver.cacher import StoredObject
from kinformer.apiserver.cacher import Views as StoredViews
from kinformer.informer import Added, Deleted, Updated
from kinformer.informer._views import Views
from kinformer.meta import Object, Record, Resource

PODS = Resource.builtin("Pod")
KEPT = 128


class ViewsMachine(RuleBasedStateMachine):
    """Records are made, shown and dropped, so that what is made next may lie where another one was."""

    def __init__(self) -> None:
        super().__init__()
        self.views = Views(Object)
        self.count = 0
        self.known: list[Record] = []
        self.shown: list[tuple[Record, Object]] = []
        self.fallen: list[tuple[Record, Object]] = []

    def make(self) -> Record:
        self.count += 1
        content = {"metadata": {"name": f"n{self.count}", "namespace": "default"}}
        return Record.decode(msgspec.json.encode(content), PODS)

    def see(self, record: Record, obj: Object) -> None:
        assert obj.record is record
        assert obj["metadata"]["name"] == record.key.name
        before = [view for known, view in self.shown if known is record]
        if before:
            assert obj is before[0]
        else:
            assert all(obj is not view for _, view in [*self.shown, *self.fallen[-KEPT:]])
            self.shown.append((record, obj))
            self.fallen += self.shown[:-KEPT]
            self.shown = self.shown[-KEPT:]

    def show(self, record: Record) -> None:
        told = self.views.notification(Added(record))
        assert isinstance(told, Added)
        self.see(record, told.obj)

    @rule(count=st.sampled_from([1, 5, 127, 128, 129]))
    def show_new_ones(self, count: int) -> None:
        for _ in range(count):
            self.known.append(self.make())
            self.show(self.known[-1])
            self.show(self.known[-1])
        self.known = self.known[-200:]

    @rule(count=st.sampled_from([1, 60, 300]))
    def show_what_nobody_keeps(self, count: int) -> None:
        for _ in range(count):
            record = self.make()
            told = self.views.notification(Deleted(record, is_tombstone=True))
            assert isinstance(told, Deleted)
            self.see(record, told.obj)

    @rule(data=st.data())
    def show_again(self, data: st.DataObject) -> None:
        if self.known:
            self.show(data.draw(st.sampled_from(self.known)))

    @rule()
    def show_what_fell_out_last_and_what_falls_next(self) -> None:
        for record, _ in [*self.fallen[-1:], *self.shown[:1]]:
            self.show(record)

    @rule(data=st.data(), is_resync=st.booleans())
    def show_an_update(self, data: st.DataObject, is_resync: bool) -> None:
        old = data.draw(st.sampled_from(self.known)) if self.known else self.make()
        new = old if is_resync else self.make()
        told = self.views.notification(Updated(old, new))
        assert isinstance(told, Updated)
        self.see(new, told.new)
        self.see(old, told.old)

    @rule()
    def look_without_sharing(self) -> None:
        for record in self.known[-3:]:
            view = self.views.of(record)
            assert view.record is record
            assert all(view is not shared for _, shared in self.shown)

    @rule()
    def forget(self) -> None:
        self.views.forget()
        self.shown.clear()


ViewsMachine.TestCase.settings = settings(max_examples=30, stateful_step_count=12, deadline=None)
TestViews = ViewsMachine.TestCase


class StoredViewsMachine(RuleBasedStateMachine):
    """Three places; who was asked for last goes last."""

    def __init__(self) -> None:
        super().__init__()
        self.views = StoredViews(size=3)
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


StoredViewsMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestStoredViews = StoredViewsMachine.TestCase
