"""Filters: which objects of a resource a request is about."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Self

from kinformer.meta import FieldSelector, LabelSelector

__all__ = ["EVERYTHING", "Fields", "Filters", "Labels"]

Labels = str | LabelSelector | Mapping[str, str]
"""A label selector: as text (``"app=web,tier in (a,b)"``), parsed, or as labels that must all be equal."""

Fields = str | FieldSelector | Mapping[str, str]
"""A field selector: as text (``"status.phase!=Running"``), parsed, or as fields that must all be equal."""


@dataclass(frozen=True, slots=True)
class Filters:
    """A namespace and two selectors in the form in which they are sent; ``""`` leaves one out."""

    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def but(self, namespace: str | None, labels: Labels | None, fields: Fields | None) -> Self:
        """These filters with some replaced; ``None`` keeps one, ``""`` takes it away.

        Raises:
            ValueError: A selector does not follow its grammar.
        """
        return replace(
            self,
            namespace=self.namespace if namespace is None else namespace,
            labels=self.labels if labels is None else str(_labels(labels)),
            fields=self.fields if fields is None else str(_fields(fields)),
        )

    @property
    def params(self) -> dict[str, str]:
        """The selectors as query parameters."""
        pairs = {"labelSelector": self.labels, "fieldSelector": self.fields}
        return {name: value for name, value in pairs.items() if value}


EVERYTHING: Final = Filters()


def _labels(labels: Labels) -> LabelSelector:
    if isinstance(labels, LabelSelector):
        return labels
    return LabelSelector.parse(labels) if isinstance(labels, str) else LabelSelector.from_labels(labels)


def _fields(fields: Fields) -> FieldSelector:
    if isinstance(fields, FieldSelector):
        return fields
    return FieldSelector.parse(fields) if isinstance(fields, str) else FieldSelector.from_fields(fields)
