"""Rule: one PolicyRule of a role, and what it lets through (rule A-5).

https://kubernetes.io/docs/reference/access-authn-authz/rbac/
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final, Self

from kinformer.apiserver.auth._access import Access, PathAccess

__all__ = ["Rule", "missing"]

_ALL: Final = "*"


@dataclass(frozen=True, slots=True)
class Rule:
    """Verbs on resources, or on paths outside of them.

    Attributes:
        names: The objects that it is about; none means all.
    """

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Self:
        """Read a ``PolicyRule``."""
        fields = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")
        return cls(*(tuple(content.get(field) or ()) for field in fields))

    def to_object(self) -> dict[str, list[str]]:
        """The rule as ``SelfSubjectRulesReview`` shows it."""
        if self.paths:
            return {"verbs": list(self.verbs), "nonResourceURLs": list(self.paths)}
        names = {"resourceNames": list(self.names)} if self.names else {}
        return {
            "verbs": list(self.verbs),
            "apiGroups": list(self.groups),
            "resources": list(self.resources),
            **names,
        }

    def allows(self, access: Access) -> bool:
        """Whether it lets this through."""
        if not _has(self.verbs, access.verb):
            return False
        if isinstance(access, PathAccess):
            return any(_leads_to(path, access.path) for path in self.paths)
        wanted = {access.combined, _ALL, *([f"*/{access.subresource}"] if access.subresource else [])}
        return (
            _has(self.groups, access.group)
            and not wanted.isdisjoint(self.resources)
            and (not self.names or access.name in self.names)
        )

    def __str__(self) -> str:
        fields = {
            "APIGroups": self.groups,
            "Resources": self.resources,
            "ResourceNames": self.names,
            "NonResourceURLs": self.paths,
            "Verbs": self.verbs,
        }
        parts = (f"{name}:{_quoted(values)}" for name, values in fields.items() if values)
        return "{" + ", ".join(parts) + "}"


def missing(held: Sequence[Rule], wanted: Iterable[Rule]) -> Sequence[Rule]:
    """What of the wanted rules the held ones do not cover: each a single verb on a single resource, object or path.

    The rule is that of ``rbac/validation.Covers``: a part must be covered by one of the held rules alone.
    """
    return tuple(
        atom for rule in wanted for atom in _atoms(rule) if not any(_covers(one, atom) for one in held)
    )


def _atoms(rule: Rule) -> Iterator[Rule]:
    for verb in rule.verbs:
        for path in rule.paths:
            yield Rule((verb,), paths=(path,))
        for group, resource in product(rule.groups, rule.resources):
            if not rule.names:
                yield Rule((verb,), (group,), (resource,))
            for name in rule.names:
                yield Rule((verb,), (group,), (resource,), (name,))


def _covers(held: Rule, atom: Rule) -> bool:
    if not _has(held.verbs, atom.verbs[0]):
        return False
    if atom.paths:
        return any(_leads_to(path, atom.paths[0]) for path in held.paths)
    resource = atom.resources[0]
    wanted = {resource, _ALL}
    if "/" in resource:
        wanted.add(f"*/{resource.partition('/')[2]}")
    return (
        _has(held.groups, atom.groups[0])
        and not wanted.isdisjoint(held.resources)
        and (not held.names or (bool(atom.names) and atom.names[0] in held.names))
    )


def _quoted(values: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _has(allowed: Sequence[str], wanted: str) -> bool:
    return wanted in allowed or _ALL in allowed


def _leads_to(pattern: str, path: str) -> bool:
    return pattern == path or (pattern.endswith(_ALL) and path.startswith(pattern.rstrip(_ALL)))
