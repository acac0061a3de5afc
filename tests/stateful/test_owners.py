from collections.abc import Sequence
from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.apiserver.loops import (
    Action,
    Delete,
    Detach,
    Node,
    OwnerGraph,
    ReleaseFinalizer,
    Scope,
    Unblock,
)
from kinformer.apiserver.rest import Propagation
from kinformer.meta import OwnerReference

POLICIES: st.SearchStrategy[Propagation] = st.sampled_from(["Background", "Foreground", "Orphan"])
FINALIZERS: dict[Propagation, tuple[str, ...]] = {
    "Background": (),
    "Foreground": ("foregroundDeletion",),
    "Orphan": ("orphan",),
}
Owners = Sequence[tuple[str, bool]]
"""Names, and whether the reference blocks."""


def namespaced(_: str, __: str) -> Scope:
    return Scope.NAMESPACED


class OwnersMachine(RuleBasedStateMachine):
    """Objects that own each other; whatever the graph decides is done at once, and told back as a watch would."""

    def __init__(self) -> None:
        super().__init__()
        self.graph = OwnerGraph(namespaced)
        self.nodes: dict[str, Node] = {}
        self.gone: dict[str, None] = {}
        self.numbers = count()

    @rule(data=st.data())
    def create(self, data: st.DataObject) -> None:
        """Owned by what is there, or now and then by what was there once."""
        name = f"n{next(self.numbers)}"
        self.put(Node(name, name, "", "A", "ns", name, self.draw_owners(data)))

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def change_owners(self, data: st.DataObject) -> None:
        self.put(self.draw_node(data)._replace(owners=self.draw_owners(data)))

    @precondition(lambda self: len(self.nodes) > 1)
    @rule(data=st.data(), policy=POLICIES)
    def close_a_circle_and_delete_it(self, data: st.DataObject, policy: Propagation) -> None:
        places = st.lists(st.sampled_from(sorted(self.nodes)), min_size=2, max_size=3, unique=True)
        first, *others = data.draw(places)
        for place, owner in zip([first, *others], [*others, first], strict=True):
            self.put(self.nodes[place]._replace(owners=self.references([(owner, True)])))
        self.perform(Delete(self.nodes[first], policy))

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def replace(self, data: st.DataObject) -> None:
        """Delete it and create another of the same name, so quickly that only the second is seen."""
        node = self.draw_node(data)
        self.put(Node(node.place, f"u{next(self.numbers)}", "", "A", "ns", node.name))

    @precondition(lambda self: self.nodes)
    @rule(data=st.data(), policy=POLICIES)
    def delete(self, data: st.DataObject, policy: Propagation) -> None:
        self.perform(Delete(self.draw_node(data), policy))

    def draw_node(self, data: st.DataObject) -> Node:
        return self.nodes[data.draw(st.sampled_from(sorted(self.nodes)))]

    def draw_owners(self, data: st.DataObject) -> tuple[OwnerReference, ...]:
        names = st.sampled_from([*sorted(self.nodes), *self.gone][-6:] or ["nobody"])
        return self.references(data.draw(st.lists(st.tuples(names, st.booleans()), max_size=2)))

    @invariant()
    def the_work_comes_to_its_end(self) -> None:
        for _ in range(50):
            actions = list(self.graph.decide())
            if not actions:
                break
            for action in actions:
                if isinstance(action, ReleaseFinalizer):
                    self.check_nobody_is_waited_for(action.node)
            for action in actions:
                self.perform(action)
        else:
            raise AssertionError("the loop does not come to rest")
        self.check_nothing_is_left_to_do()
        self.check_nobody_outlives_all_owners()
        self.check_nobody_waits_for_ever()

    def check_nothing_is_left_to_do(self) -> None:
        """What was decided step by step is what a look at the whole would decide."""
        afresh = OwnerGraph(namespaced)
        for node in self.nodes.values():
            afresh.put(node)
        assert list(afresh.decide()) == []

    def check_nobody_outlives_all_owners(self) -> None:
        alive = {node.uid for node in self.nodes.values()}
        for node in self.nodes.values():
            assert not node.owners or any(owner.uid in alive for owner in node.owners)

    def check_nobody_waits_for_ever(self) -> None:
        """Nobody here has finalizers of its own, so every deletion comes to its end."""
        assert [node for node in self.nodes.values() if node.is_deleting] == []

    def perform(self, action: Action) -> None:
        """As the server does: on what is there now, if it is still the same object."""
        node = self.nodes.get(action.node.place)
        if node is None or node.uid != action.node.uid:
            return
        match action:
            case Delete(_, propagation):
                finalizers = FINALIZERS[propagation]
                if finalizers:
                    self.put(node._replace(is_deleting=True, finalizers=finalizers))
                else:
                    self.remove(node.place)
            case Detach(_, uids):
                self.put(node._replace(owners=tuple(owner for owner in node.owners if owner.uid not in uids)))
            case Unblock():
                self.put(
                    node._replace(owners=self.references([(owner.name, False) for owner in node.owners]))
                )
            case ReleaseFinalizer():
                self.remove(node.place)
            case _:
                raise AssertionError(action)

    def check_nobody_is_waited_for(self, node: Node) -> None:
        """In the foreground an owner goes after those that block it, as an orphan's after all have let go of it."""
        is_orphaning = "orphan" in node.finalizers
        assert not [
            other.place
            for other in self.nodes.values()
            for owner in other.owners
            if owner.uid == node.uid != other.uid and (is_orphaning or owner.block_owner_deletion)
        ]

    def references(self, owners: Owners) -> tuple[OwnerReference, ...]:
        uids = {name: self.nodes[name].uid if name in self.nodes else name for name, _ in owners}
        return tuple(
            OwnerReference("v1", "A", name, uids[name], block_owner_deletion=block) for name, block in owners
        )

    def put(self, node: Node) -> None:
        self.nodes[node.place] = node
        self.graph.put(node)

    def remove(self, place: str) -> None:
        self.nodes.pop(place, None)
        self.gone[place] = None
        self.graph.remove(place)


TestOwners = OwnersMachine.TestCase
TestOwners.settings = settings(max_examples=30)
