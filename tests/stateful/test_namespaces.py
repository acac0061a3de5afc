from itertools import count

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinformer.apiserver.loops import Action, CreateAccount, Delete, FinalizeNamespace, NamespaceLedger, Node

NAMES = st.sampled_from("ab")


def place_of(namespace: str) -> str:
    return f"/registry/core/namespaces/{namespace}"


def account_of(namespace: str) -> str:
    return f"/registry/core/serviceaccounts/{namespace}/default"


class NamespacesMachine(RuleBasedStateMachine):
    """Two namespaces and what lies in them; the model is a dict of everything that is stored."""

    has_accounts = False

    def __init__(self) -> None:
        super().__init__()
        self.ledger = NamespaceLedger(has_accounts=self.has_accounts)
        self.nodes: dict[str, Node] = {}
        self.numbers = count()

    @rule(name=NAMES)
    def open_namespace(self, name: str) -> None:
        if place_of(name) not in self.nodes:
            self.put(Node(place_of(name), f"u{next(self.numbers)}", "", "Namespace", "", name))

    @rule(name=NAMES, is_held=st.booleans())
    def create(self, name: str, is_held: bool) -> None:
        """Even where the namespace is going, or is not there: the ledger sees what the storage has."""
        uid = f"u{next(self.numbers)}"
        finalizers = ("mine",) if is_held else ()
        self.put(Node(f"/registry/core/pods/{name}/{uid}", uid, "", "Pod", name, uid, finalizers=finalizers))

    @rule(name=NAMES)
    def delete_account(self, name: str) -> None:
        if account_of(name) in self.nodes:
            self.remove(self.nodes[account_of(name)])

    @rule(name=NAMES)
    def delete_namespace(self, name: str) -> None:
        if place_of(name) in self.nodes:
            self.put(self.nodes[place_of(name)]._replace(is_deleting=True))

    @precondition(lambda self: any(node.finalizers for node in self.nodes.values()))
    @rule(data=st.data())
    def release(self, data: st.DataObject) -> None:
        """Somebody takes the finalizer off: what is being deleted goes."""
        held = [place for place, node in self.nodes.items() if node.finalizers]
        node = self.nodes[data.draw(st.sampled_from(held))]._replace(finalizers=())
        if node.is_deleting:
            self.remove(node)
        else:
            self.put(node)

    @invariant()
    def a_namespace_that_goes_is_emptied_and_then_gone(self) -> None:
        while actions := list(self.ledger.decide()):
            for action in actions:
                self.perform(action)
        assert self.ledger._content.keys() == {node.namespace for node in self.nodes.values()} - {""}
        for name in "ab":
            content = [node for node in self.nodes.values() if node.namespace == name]
            namespace = self.nodes.get(place_of(name))
            if namespace is not None and self.has_accounts and not namespace.is_deleting:
                assert account_of(name) in self.nodes
            if namespace is not None and namespace.is_deleting:
                assert content
                assert all(node.is_deleting and node.finalizers for node in content)

    def perform(self, action: Action) -> None:
        """As the server does; what is decided about must be there, since everything is done at once."""
        node = self.nodes[action.node.place]
        match action:
            case FinalizeNamespace():
                assert node.is_deleting
                assert not [other for other in self.nodes.values() if other.namespace == node.name]
                self.remove(node)
            case CreateAccount():
                assert self.has_accounts
                assert not node.is_deleting
                assert account_of(node.name) not in self.nodes
                uid = f"u{next(self.numbers)}"
                self.put(Node(account_of(node.name), uid, "", "ServiceAccount", node.name, "default"))
            case Delete():
                namespace = self.nodes[place_of(node.namespace)]
                assert namespace.is_deleting, "nothing is deleted from a namespace that stays"
                assert not node.is_deleting, "nothing is deleted twice"
                if node.finalizers:
                    self.put(node._replace(is_deleting=True))
                else:
                    self.remove(node)
            case _:
                raise AssertionError(action)

    def put(self, node: Node) -> None:
        self.nodes[node.place] = node
        self.ledger.put(node)

    def remove(self, node: Node) -> None:
        del self.nodes[node.place]
        self.ledger.remove(node)


class AccountsMachine(NamespacesMachine):
    """The same, with an account in each namespace that stays."""

    has_accounts = True


TestNamespaces = NamespacesMachine.TestCase
TestAccounts = AccountsMachine.TestCase
TestAccounts.settings = settings(TestAccounts.settings, stateful_step_count=12)
