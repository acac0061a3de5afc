"""A handler of a model that believes what it is told has what fits, and nothing else, whatever was merged before."""

from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.errors import DecodeError
from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._backlog import Coalesced, InOrder, Waiting
from kinformer.informer._fitting import Fitting
from kinformer.informer._views import Views
from kinformer.meta import Record, Resource

PODS = Resource.builtin("Pod")
NAMES = st.sampled_from("ab")
SIZES: st.SearchStrategy[int | str] = st.sampled_from([1, 2, "many", "more"])


class Metadata(msgspec.Struct):
    name: str


class Model(msgspec.Struct):
    metadata: Metadata
    size: int


class FittingMachine(RuleBasedStateMachine):
    """Objects that fit now and then, through either backlog, which is emptied when it pleases."""

    @initialize(coalesces=st.booleans())
    def start(self, coalesces: bool) -> None:
        self.backlog = Coalesced() if coalesces else InOrder()
        self.fitting = Fitting(Views(Model))
        self.world: dict[str, Record] = {}
        self.told: dict[str, int] = {}
        self.last: dict[str, Record] = {}
        """The state of each object when it was last spoken of; absent once it is gone."""
        self.version = 0

    def record(self, name: str, size: int | str) -> Record:
        self.version += 1
        metadata = {"name": name, "uid": name, "resourceVersion": str(self.version)}
        return Record.decode(msgspec.json.encode({"metadata": metadata, "size": size}), PODS)

    def happen(self, notification: Notification[Record]) -> None:
        self.backlog.offer([Waiting(0.0, notification)])

    @rule(name=NAMES, size=SIZES)
    def write(self, name: str, size: int | str) -> None:
        old, new = self.world.get(name), self.record(name, size)
        self.world[name] = new
        self.happen(Added(new) if old is None else Updated(old, new))

    @rule(name=NAMES, size=st.none() | SIZES)
    def delete(self, name: str, size: int | str | None) -> None:
        old = self.world.pop(name, None)
        if old is not None:
            last = old if size is None else self.record(name, size)
            self.happen(Deleted(last, is_tombstone=size is None))

    @rule()
    def resync(self) -> None:
        for record in self.world.values():
            self.happen(Updated(record, record))

    @precondition(lambda self: len(self.backlog) > 0)
    @rule(count=st.integers(1, 3))
    def tell(self, count: int) -> None:
        self.hear_all(min(count, len(self.backlog)))

    def hear_all(self, count: int) -> None:
        for _ in range(count):
            happened = self.backlog.pop()
            if isinstance(happened, Deleted):
                self.last.pop(happened.obj.key.name, None)
            else:
                new = happened.new if isinstance(happened, Updated) else happened.obj
                self.last[new.key.name] = new
            try:
                self.hear(self.fitting(happened))
            except DecodeError:
                self.hear(self.fitting.instead(happened))

    def hear(self, told: Notification[Model] | None) -> None:
        match told:
            case Added(new):
                assert new.metadata.name not in self.told
                self.told[new.metadata.name] = new.size
            case Updated(old, new):
                assert self.told[new.metadata.name] == old.size
                self.told[new.metadata.name] = new.size
            case Deleted(last):
                del self.told[last.metadata.name]
            case None:
                pass

    @invariant()
    def the_handler_has_what_fits_of_what_it_was_told(self) -> None:
        assert self.told == fitting_in(self.last)

    def teardown(self) -> None:
        """Once all is told, that is what fits of all there is."""
        self.hear_all(len(self.backlog))
        assert self.told == fitting_in(self.world)


def fitting_in(records: dict[str, Record]) -> dict[str, Any]:
    sizes = {name: msgspec.json.decode(record.raw)["size"] for name, record in records.items()}
    return {name: size for name, size in sizes.items() if isinstance(size, int)}


TestFitting = FittingMachine.TestCase
