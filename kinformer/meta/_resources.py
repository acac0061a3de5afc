"""Resource: one kind as a server serves it."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final, Self

from kinformer.meta._builtins import BUILTINS
from kinformer.meta._keys import ObjectKey

__all__ = ["Resource"]

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")


@dataclass(frozen=True, slots=True)
class Resource:
    """One served resource: where its objects live, and what they call themselves.

    Args:
        group: The API group, ``""`` for the core group.
        version: The version inside the group, such as ``"v1"``.
        plural: The lower-case plural that paths are made of, such as ``"deployments"``.
        kind: What objects write into their ``kind``, such as ``"Deployment"``.
        namespaced: Whether objects live in namespaces, or in the cluster as a whole.

    Raises:
        TypeError: A part is of another type.
        ValueError: A part could not stand in a path, or the kind is empty.
    """

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    def __post_init__(self) -> None:
        for part in ("group", "version", "plural", "kind"):
            _check_type(part, getattr(self, part), str)
        _check_type("namespaced", self.namespaced, bool)
        for field, value, pattern in (
            ("group", self.group or "core", _SUBDOMAIN),
            ("version", self.version, _LABEL),
            ("plural", self.plural, _LABEL),
        ):
            if not pattern.fullmatch(value):
                allowed = (
                    "letters, digits, dashes and dots" if field == "group" else "letters, digits and dashes"
                )
                raise ValueError(f"resource {field} {value!r} must be lower-case {allowed}")
        if not self.kind.isalnum():
            raise ValueError(f"resource kind {self.kind!r} must be a name such as 'Deployment'")

    @classmethod
    def builtin(cls, name: str) -> Self:
        """Find a resource that every cluster has by its kind, plural, singular or short name.

        Letter case does not matter. A name that several groups serve means the one kubectl would take:
        ``Event`` is core ``v1``, ``HorizontalPodAutoscaler`` is ``autoscaling/v2``.

        Raises:
            LookupError: No built-in kind has that name.
        """
        row = _rows_by_name().get(str(name).lower())
        if row is None:
            raise LookupError(
                f"no built-in resource is called {name!r}; for a custom resource write "
                "Resource(group, version, plural, kind)"
            )
        return cls(*BUILTINS[row][:5])

    @property
    def api_version(self) -> str:
        """What objects write into their ``apiVersion``: ``group/version``, or ``version`` in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The URL path of the collection, of one object, or of a subresource of it.

        The cluster-wide collection of a namespaced resource is the path without a namespace. Nothing is quoted: names
        of Kubernetes need not be, and the client quotes what it sends.

        Raises:
            ValueError: A namespace is given for a cluster-scoped resource, a name is given without the namespace that
                it needs, a subresource without a name, or a part could not stand in a path.
        """
        for field, value in (("namespace", namespace), ("name", name), ("subresource", subresource)):
            if value in {".", ".."} or "/" in value or "%" in value:
                raise ValueError(f"{field} {value!r} must not contain '/' or '%', nor be '.' or '..'")
        if namespace and not self.namespaced:
            raise ValueError(f"{self} is cluster-scoped, so it has no namespace {namespace!r}")
        if name and self.namespaced and not namespace:
            raise ValueError(f"{self} is namespaced: name the namespace of {name!r}, as in 'default/{name}'")
        if subresource and not name:
            raise ValueError(f"subresource {subresource!r} belongs to one object: give its name")
        parts = ["/apis", self.group, self.version] if self.group else ["/api", self.version]
        if namespace:
            parts += ["namespaces", namespace]
        parts += [part for part in (self.plural, name, subresource) if part]
        return "/".join(parts)

    def key(self, key: ObjectKey | str) -> ObjectKey:
        """Read a key and check that it fits the scope of this resource.

        Raises:
            ValueError: The text is no key, or it has a namespace where none belongs, or lacks one.
        """
        parsed = key if isinstance(key, ObjectKey) else ObjectKey.parse(key)
        if bool(parsed.namespace) != self.namespaced:
            form = "'namespace/name'" if self.namespaced else "'name' alone"
            raise ValueError(f"key {str(parsed)!r} does not fit {self}: it must be of the form {form}")
        return parsed

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


def _check_type(field: str, value: object, expected: type) -> None:
    if not isinstance(value, expected):
        raise TypeError(f"resource {field} {value!r} must be of type {expected.__name__}")


@cache
def _rows_by_name() -> dict[str, int]:
    """Every name that a row answers to; the first row wins."""
    names: dict[str, int] = {}
    for index, row in enumerate(BUILTINS):
        for name in (row.plural, row.kind.lower(), *row.short_names):
            names.setdefault(name, index)
    return names
