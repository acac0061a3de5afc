"""Preflight: what a program may do, and what its caches will take, as it looks before they fill. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kinformer.controller._permissions import EVERYWHERE, Permission
from kinformer.meta import Resource

__all__ = ["Forecast", "Preflight", "Review"]

_OVERHEAD: Final = 1.2
"""How much more than its JSON an object takes in a cache; see the documentation's page on memory."""
_UNITS: Final = ("B", "kB", "MB", "GB")


@dataclass(frozen=True, slots=True)
class Review:
    """A permission that was declared, and which of its verbs are granted.

    Attributes:
        permission: What was declared.
        granted: The verbs that the server allows.
        missing: Those that it does not. A verb that is in neither could not be asked about.
    """

    permission: Permission
    granted: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """The verbs that could not be asked about."""
        return tuple(v for v in self.permission.verbs if v not in {*self.granted, *self.missing})


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a cache is going to hold.

    Attributes:
        resource: Of what.
        namespace: Where; ``"*"`` is everywhere.
        objects: How many; ``None`` where the server does not say, as it does not for a selection by labels.
        sample: How many bytes of JSON one of them has; ``None`` where none was seen.
    """

    resource: Resource
    namespace: str
    objects: int | None = None
    sample: int | None = None

    @property
    def size(self) -> int | None:
        """How many bytes it takes, about, if all are like the one that was seen; ``None`` where that is not known."""
        if self.objects == 0:
            return 0
        if self.objects is None or self.sample is None:
            return None
        return int(self.objects * self.sample * _OVERHEAD)


@dataclass(frozen=True, slots=True)
class Preflight:
    """What came out of a look at the cluster; as text it is two tables.

    Attributes:
        reviews: One for each permission that was declared.
        forecasts: One for each cache, in each of its namespaces.
        obstacle: Why not everything could be asked; ``""`` where it could.
    """

    reviews: tuple[Review, ...]
    forecasts: tuple[Forecast, ...] = ()
    obstacle: str = ""

    @property
    def missing(self) -> tuple[Permission, ...]:
        """What is declared and not granted."""
        return tuple(replace(each.permission, verbs=each.missing) for each in self.reviews if each.missing)

    def complaint(self, file: str = "FILE") -> str:
        """What is missing and how it is granted, for people; ``""`` where nothing is missing.

        Args:
            file: Where the program is; it stands in the command that is advised.
        """
        if not self.missing:
            return ""
        lines = (f"  {', '.join(each.verbs)} on {_what(each)} {_where(each)}" for each in self.missing)
        return "\n".join(
            [
                "the account of this program lacks permissions that it declares, and fails where it needs them:",
                *lines,
                f"the fix: apply the roles that 'kinformer manifests {file}' prints, with its --name and --namespace",
            ]
        )

    def permission_rows(self) -> Iterator[tuple[str, str, str, str]]:
        """A line of the first table: resource, where, what is granted, and what is not."""
        for each in self.reviews:
            unknown = (f"{', '.join(each.unknown)}: not known",) if each.unknown else ()
            lacks = ", ".join((*each.missing, *unknown))
            yield _what(each.permission), _where(each.permission), ", ".join(each.granted), lacks

    def forecast_rows(self) -> Iterator[tuple[str, str, str, str]]:
        """A line of the second table: resource, where, objects and bytes, and at last the sum."""
        for each in self.forecasts:
            objects = "not known" if each.objects is None else f"{each.objects:,}"
            yield str(each.resource), _place(each.namespace), objects, _bytes(each.size)
        if len(self.forecasts) > 1:
            known = [each.size for each in self.forecasts if each.size is not None]
            yield "all caches", "", "", _bytes(sum(known) if known else None)

    def __str__(self) -> str:
        tables = [_table(("PERMISSION", "WHERE", "GRANTED", "MISSING"), self.permission_rows())]
        if self.forecasts:
            tables.append(_table(("CACHE", "WHERE", "OBJECTS", "MEMORY"), self.forecast_rows()))
        if self.obstacle:
            tables.append(f"not everything could be asked: {self.obstacle}")
        return "\n\n".join(tables)


def _what(permission: Permission) -> str:
    group = f".{permission.resource.group}" if permission.resource.group else ""
    return f"{permission.combined}{group}"


def _where(permission: Permission) -> str:
    names = f" ({', '.join(permission.names)})" if permission.names else ""
    return _place(permission.namespace) + names


def _place(namespace: str) -> str:
    return {EVERYWHERE: "everywhere", "": "in its own namespace"}.get(namespace, f"in {namespace}")


def _bytes(size: int | None) -> str:
    if size is None:
        return "not known"
    value, unit = float(size), 0
    while value >= 1000 and unit < len(_UNITS) - 1:
        value, unit = value / 1000, unit + 1
    return f"about {value:.3g} {_UNITS[unit]}" if size else "0 B"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )
