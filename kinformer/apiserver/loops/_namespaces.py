"""NamespaceLedger: what lies in which namespace, and what the beginning and the end of one take (rules N-2, N-4).

The rules are those of ``pkg/controller/namespace/deletion`` of Kubernetes.
"""

from collections.abc import Iterator

from kinformer.apiserver.loops._actions import Action, CreateAccount, Delete, FinalizeNamespace
from kinformer.apiserver.loops._nodes import Node

__all__ = ["NamespaceLedger"]


class NamespaceLedger:
    """The content of each namespace and the namespaces that are going; pure.

    A namespace that is being deleted is emptied: each object in it is deleted once for each state that is not yet
    deleting; objects with finalizers are waited for. When nothing is left the namespace is finalized.

    Args:
        has_accounts: Whether each namespace that stays is to have a ServiceAccount ``default``.
    """

    def __init__(self, *, has_accounts: bool = False) -> None:
        self._has_accounts = has_accounts
        self._namespaces: dict[str, Node] = {}
        self._content: dict[str, dict[str, Node]] = {}
        self._concerned: dict[str, None] = {}  # an ordered set of names

    def put(self, node: Node) -> None:
        """Take in the present state of an object."""
        if node.namespace:
            self._content.setdefault(node.namespace, {})[node.place] = node
            self._concerned[node.namespace] = None
        elif _is_namespace(node):
            self._namespaces[node.name] = node
            self._concerned[node.name] = None

    def remove(self, node: Node) -> None:
        """Take out an object that is gone."""
        if node.namespace:
            content = self._content.get(node.namespace, {})
            content.pop(node.place, None)
            if not content:
                self._content.pop(node.namespace, None)
            self._concerned[node.namespace] = None
        elif _is_namespace(node):
            self._namespaces.pop(node.name, None)

    def concern(self, node: Node) -> None:
        """Look at an object, or a namespace, again, as after an action that failed."""
        self._concerned[node.namespace or node.name] = None

    def decide(self) -> Iterator[Action]:
        """What is to be done about whatever has changed since the last time; each concern is answered once."""
        concerned, self._concerned = self._concerned, {}
        for name in concerned:
            namespace = self._namespaces.get(name)
            if namespace is None:
                continue
            content = self._content.get(name, {})
            if not namespace.is_deleting:
                if self._has_accounts and f"/registry/core/serviceaccounts/{name}/default" not in content:
                    yield CreateAccount(namespace)
                continue
            if not content:
                yield FinalizeNamespace(namespace)
            for node in content.values():
                if not node.is_deleting:
                    yield Delete(node, "Background")


def _is_namespace(node: Node) -> bool:
    return node.kind == "Namespace" and not node.group
