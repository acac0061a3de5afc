"""Permission: something that a program must be allowed to do, as a Role grants it. Pure."""

from dataclasses import dataclass

from kinformer.meta import Resource

__all__ = ["Permission"]


@dataclass(frozen=True, slots=True)
class Permission:
    """Some verbs on one resource in one namespace; a rule of a Role, and the subject of an access review.

    Attributes:
        resource: What it is about.
        verbs: As RBAC spells them: ``get``, ``list``, ``create`` and so on.
        namespace: Where; ``""`` is the namespace that the program runs in.
        names: Only the objects with these names; none named means all. ``create`` cannot be limited so.
    """

    resource: Resource
    verbs: tuple[str, ...]
    namespace: str = ""
    names: tuple[str, ...] = ()
