"""Backlogs: whoever replays what they give out ends up with what was offered."""

from collections.abc import Collection, Iterable
from types import MappingProxyType

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kinformer.informer import Added, Deleted, Notification, Updated
from kinformer.informer._backlog import Coalesced, InOrder, Waiting
from kinformer.meta import ObjectKey, Record, Resource

PODS = Resource.builtin("Pod")
NAMES = st.sampled_from("abc")
View = dict[ObjectKey, Record]


def replay(view: View, told: Notification[Record], finals: Collection[Record] = ()) -> None:
    """What a handler that believes everything it is told has in its hands; told nonsense, it fails.

    The old state of an update is what the handler has, or the final state of a deletion that was merged into it.
    """
    match told:
        case Added(obj):
            assert obj.key not in view
            view[obj.key] = obj
        case Updated(old, new):
            assert view[new.key] == old or old in finals
            assert view[new.key].metadata.uid == new.metadata.uid
            view[new.key] = new
        case Deleted(obj):
            assert view.pop(obj.key).metadata.uid == obj.metadata.uid


class BacklogMachine(RuleBasedStateMachine):
    """One history into both backlogs. The in-order one is a list; the coalesced one is as good at its end."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = 0
        self.world: View = {}
        self.offered: list[Waiting] = []
        self.in_order, self.coalesced = InOrder(), Coalesced()
        self.told_in_order: View = {}
        self.told_coalesced: View = {}
        self.order: list[ObjectKey] = []
        self.since: dict[ObjectKey, list[float]] = {}
        self.unseen: set[ObjectKey] = set()  # what was there in the beginning, and has not been deleted since
        self.finals: list[Record] = []

    @initialize(names=st.sets(NAMES))
    def begin(self, names: set[str]) -> None:
        """Somebody joins late and finds these objects."""
        for name in sorted(names):
            self.world[ObjectKey("n", name)] = self.make(name, "u")
        self.in_order.begin(MappingProxyType(self.world), 0.0)
        self.coalesced.begin(MappingProxyType(self.world), 0.0)
        self.clock += 1
        self.order = list(self.world)
        self.since = {key: [0.0] for key in self.order}
        self.unseen = set(self.order)
        self.offered = [Waiting(0.0, Added(record, is_initial=True)) for record in self.world.values()]

    def offer(self, told: Notification[Record]) -> None:
        replay(self.world, told)
        self.clock += 1
        waiting = Waiting(float(self.clock), told)
        self.offered.append(waiting)
        self.in_order.offer([waiting])
        self.coalesced.offer([waiting])
        self.keep_order(waiting.key)
        if isinstance(told, Deleted):
            self.finals.append(told.obj)
            self.unseen.discard(told.obj.key)

    def keep_order(self, key: ObjectKey) -> None:
        """A key comes in at the end, keeps its place while it waits, and loses it when nothing of it is left.

        What is merged into something waits as long as that; what comes to stand beside it, since now.
        """
        pending = self.pending()
        moments, count = self.since.setdefault(key, []), pending.count(key)
        moments += [float(self.clock)] * (count - len(moments))
        del moments[count:]
        self.order = [known for known in self.order if known in pending]
        if key in pending and key not in self.order:
            self.order.append(key)

    def make(self, name: str, uid: str) -> Record:
        metadata = {"name": name, "namespace": "n", "uid": uid, "resourceVersion": str(self.clock + 1)}
        return Record.decode(msgspec.json.encode({"metadata": metadata}), PODS)

    @rule(names=st.lists(NAMES, min_size=1, max_size=3), uid=st.sampled_from("uvw"))
    def change(self, names: list[str], uid: str) -> None:
        for name in names:
            old = self.world.get(ObjectKey("n", name))
            if old is None:
                self.offer(Added(self.make(name, uid)))
            else:
                self.offer(Updated(old, self.make(name, old.metadata.uid)))

    @rule(name=NAMES, is_tombstone=st.booleans())
    def delete(self, name: str, is_tombstone: bool) -> None:
        old = self.world.get(ObjectKey("n", name))
        if old is not None:
            self.offer(Deleted(old if is_tombstone else self.make(name, old.metadata.uid), is_tombstone))

    @rule(names=st.sets(NAMES, min_size=1))
    def replace_unseen(self, names: set[str]) -> None:
        for name in sorted(names):
            old = self.world.get(ObjectKey("n", name))
            if old is not None:
                self.offer(Deleted(old, is_tombstone=True))
                self.offer(Added(self.make(name, f"{old.metadata.uid}'")))

    @rule()
    def resync(self) -> None:
        for record in tuple(self.world.values()):
            self.offer(Updated(record, record))

    @precondition(lambda self: self.offered)
    @rule()
    def pop_in_order(self) -> None:
        told = self.in_order.pop()
        assert told == self.offered.pop(0).notification
        replay(self.told_in_order, told)

    @rule(count=st.integers(1, 6))
    def pop_some_coalesced(self, count: int) -> None:
        for _ in range(min(count, len(self.coalesced))):
            self.pop_coalesced()

    def pop_coalesced(self) -> None:
        [first, *_] = self.rest()
        assert self.coalesced.oldest == self.since[first.key].pop(0)
        told = self.coalesced.pop()
        assert told == first.notification
        assert first.key == self.order[0]
        if isinstance(told, Added):
            assert told.is_initial == (first.key in self.unseen)
        replay(self.told_coalesced, told, self.finals)
        self.keep_order(first.key)

    @rule()
    def clear_and_start_over(self) -> None:
        if len(self.offered) > 6:
            self.in_order.clear()
            self.coalesced.clear()
            self.offered.clear()
            for known in (self.order, self.since, self.unseen):
                known.clear()
            self.told_in_order, self.told_coalesced = dict(self.world), dict(self.world)

    def rest(self) -> list[Waiting]:
        """What is in the coalesced backlog, in the order in which it would come out."""
        content = [
            Waiting(0.0, Added(self.coalesced._content[key], is_initial=True))
            for key in self.order
            if key in self.coalesced._content
        ]
        return content + [one for some in self.coalesced._waiting.values() for one in some]

    def pending(self) -> list[ObjectKey]:
        return [one.key for one in self.rest()]

    @invariant()
    def the_rest_makes_it_whole(self) -> None:
        told = dict(self.told_coalesced)
        for one in self.rest():
            replay(told, one.notification, self.finals)
        assert told == self.world

    @invariant()
    def it_is_bounded_by_the_keys(self) -> None:
        pending = self.pending()
        assert len(pending) == len(self.coalesced) <= 2 * len(set(pending))

    @invariant()
    def counts_are_counts(self) -> None:
        def initial(waiting: Iterable[Waiting]) -> int:
            return sum(isinstance(one.notification, Added) and one.notification.is_initial for one in waiting)

        rest = self.rest()
        assert len(self.in_order) == len(self.offered)
        assert self.in_order.initial == initial(self.offered)
        assert self.coalesced.initial == initial(rest)
        assert self.in_order.oldest == (self.offered[0].since if self.offered else None)
        assert self.coalesced.oldest == (rest[0].since if rest else None)


TestBacklog = BacklogMachine.TestCase
