"""Catalog: what a server serves, and which of it a name means. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from kinformer.errors import AmbiguousError, NoMatchError, RequestError
from kinformer.meta import Resource

__all__ = ["Catalog", "ServedResource"]


@dataclass(frozen=True, slots=True)
class ServedResource:
    """A resource, and what its server says of it (``metav1.APIResource``)."""

    resource: Resource
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """Such as ``"all"``, of ``kubectl get all``."""
    verbs: tuple[str, ...] = ()
    """Such as ``"list"``; as for RBAC."""
    subresources: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """``plural.version.group``, or ``plural.version`` in the core group: what means this and nothing else."""
        parts = (self.resource.plural, self.resource.version, self.resource.group)
        return ".".join(filter(None, parts))


@dataclass(frozen=True, slots=True)
class Catalog:
    """All that one server serves, as it said at one moment.

    Attributes:
        resources: In the server's order, of each group the preferred version first; without subresources.
        failures: Why what a group version serves could not be read, by its ``group/version``. What of it was known
            before may be in ``resources`` all the same.
    """

    resources: tuple[ServedResource, ...] = ()
    failures: Mapping[str, RequestError] = field(default_factory=lambda: MappingProxyType({}))

    def find(self, name: str) -> Resource:
        """The resource that a name means, in the version that its group prefers if the name says none.

        A name is a plural, singular, kind or short name, whatever the letter case: ``"deployments"``, ``"Deployment"``,
        ``"deploy"``; perhaps with its group, ``"deployments.apps"``, or its version and group, ``"deployments.v1.apps"``,
        ``"pods.v1"``. Short names count only where nothing has the name in full.

        Where groups share a name, ``Resource.builtin`` decides, so ``"pods"`` and ``"events"`` are those of the core group
        whatever else is installed; of other groups none is better than another.

        Raises:
            NoMatchError: Nothing has that name.
            AmbiguousError: Several have; the error lists names that are clear.
        """
        noun, dot, rest = name.lower().partition(".")
        found = self._within(noun, rest) if dot else self._usual(noun)
        if len(found) == 1:
            return found[0].resource
        if not found:
            raise NoMatchError(f"this server serves no resource called {name!r}{self._missing()}")
        candidates = tuple(one.full_name for one in found)
        raise AmbiguousError(
            f"{name!r} may mean {' or '.join(candidates)}: write one of these", candidates=candidates
        )

    def find_kind(self, api_version: str, kind: str) -> Resource:
        """The resource whose objects say that they are this.

        Args:
            api_version: Such as ``"apps/v1"`` or ``"v1"``.
            kind: Such as ``"Deployment"``; letter case matters.

        Raises:
            NoMatchError: Nothing is; the message has the API versions that do have the kind, or kinds that may be meant.
            AmbiguousError: Several are, which few servers do.
        """
        alike = [one for one in self.resources if one.resource.kind == kind]
        found = [one for one in alike if one.resource.api_version == api_version]
        if len(found) == 1:
            return found[0].resource
        if not found:
            others = ", ".join(dict.fromkeys(one.resource.api_version for one in alike))
            hint = f", but in {others}" if others else self._meant(api_version, kind)
            raise NoMatchError(f"this server serves no {kind} of {api_version}{hint}{self._missing()}")
        candidates = tuple(one.full_name for one in found)
        raise AmbiguousError(
            f"{kind} of {api_version} may mean {' or '.join(candidates)}", candidates=candidates
        )

    def _meant(self, api_version: str, kind: str) -> str:
        """The kinds that a word which is none may stand for, for the end of a message."""
        found = _named(kind.lower(), self.resources)
        near = [one for one in found if one.resource.api_version == api_version] or found
        kinds = dict.fromkeys(f"{one.resource.kind} of {one.resource.api_version}" for one in near)
        return f": did you mean {' or '.join(kinds)}?" if kinds else ""

    def _usual(self, noun: str) -> list[ServedResource]:
        """What a name without a group may mean."""
        found = _preferred(_named(noun, self.resources))
        builtin = _builtin(noun)
        if builtin is None:
            return found
        usual = [one for one in found if _place(one.resource) == _place(builtin)]
        # Where its group could not be read, another one of its name must not stand in for it.
        return usual if usual or self._fails(builtin.group) else found

    def _within(self, noun: str, rest: str) -> list[ServedResource]:
        """What it may mean with a version and a group, or with a group alone."""
        version, _, group = rest.partition(".")
        exactly = [
            one for one in self.resources if (one.resource.version, one.resource.group) == (version, group)
        ]
        of_group = (one for one in self.resources if one.resource.group == rest)
        return _named(noun, exactly) or _preferred(_named(noun, of_group))

    def _fails(self, group: str) -> bool:
        return any(api_version.rpartition("/")[0] == group for api_version in self.failures)

    def _missing(self) -> str:
        """What else there may be, for the end of a message."""
        if not self.failures:
            return ""
        return "; unknown is what these serve: " + ", ".join(
            f"{api_version} ({error})" for api_version, error in self.failures.items()
        )


def _preferred(resources: Iterable[ServedResource]) -> list[ServedResource]:
    """Of each only the version that comes first."""
    first: dict[tuple[str, str], ServedResource] = {}
    for one in resources:
        first.setdefault(_place(one.resource), one)
    return list(first.values())


def _named(noun: str, resources: Iterable[ServedResource]) -> list[ServedResource]:
    in_full, in_short = [], []
    for one in resources if noun else ():
        if noun in {one.resource.plural, one.singular, one.resource.kind.lower()}:
            in_full.append(one)
        elif noun in one.short_names:
            in_short.append(one)
    return in_full or in_short


def _place(resource: Resource) -> tuple[str, str]:
    return resource.group, resource.plural


def _builtin(noun: str) -> Resource | None:
    try:
        return Resource.builtin(noun)
    except LookupError:
        return None
