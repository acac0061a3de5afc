"""FieldSelector: parse, print, match.

The grammar is that of ``fields.ParseSelector`` (apimachinery). Which fields may be asked for is the server's matter.
https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

__all__ = ["FieldRequirement", "FieldSelector"]

# Terms end at a comma that no backslash guards; the operator is the first of != == = from the left.
_TERM: Final = re.compile(r"(?:\\.|[^\\,])*", re.DOTALL)
_OPERATOR: Final = re.compile(r"!=|==|=")
_ESCAPE: Final = re.compile(r"\\(.?)|([,=])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FieldRequirement:
    """One term: the field at ``path`` equals ``value``, or does not.

    Raises:
        ValueError: The path is empty or holds a character of the grammar.
    """

    path: str
    value: str
    negated: bool = False

    def __post_init__(self) -> None:
        for part in (self.path, self.value):
            _check_text(self.path, part)
        if not self.path or re.search(r"[=!,\\]", self.path):
            raise ValueError(f"field path {self.path!r} must be a dotted path such as 'metadata.name'")

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the field satisfies this term; an absent field is the empty string."""
        return (fields.get(self.path, "") == self.value) is not self.negated

    def __str__(self) -> str:
        escaped = re.sub(r"[\\,=]", r"\\\g<0>", self.value)
        return f"{self.path}{'!=' if self.negated else '='}{escaped}"


@dataclass(frozen=True, slots=True)
class FieldSelector:
    """Terms that must all hold; without terms it matches everything."""

    requirements: tuple[FieldRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        r"""Read the query form, such as ``status.phase!=Running,spec.nodeName=a``.

        A value may hold ``\\``, ``\,`` and ``\=``.

        Raises:
            ValueError: A term has no operator or no path, or a value is not escaped as it must be.
        """
        terms = []
        at = 0
        while at <= len(text):
            found = _TERM.match(text, at)
            term = found.group() if found else ""
            at += len(term)
            if text[at : at + 1] not in {"", ","}:
                raise ValueError(f"invalid field selector: {text!r} ends in a lone backslash")
            at += 1
            if term:
                terms.append(_requirement(term))
        return cls(tuple(terms))

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> Self:
        """Require each of these fields to have exactly this value."""
        return cls(tuple(FieldRequirement(path, value) for path, value in fields.items()))

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether the fields satisfy every term."""
        return all(requirement.matches(fields) for requirement in self.requirements)

    def exact(self, path: str) -> str | None:
        """The value that the field at ``path`` must have, or ``None`` where none is demanded."""
        return next(
            (term.value for term in self.requirements if term.path == path and not term.negated), None
        )

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _check_text(path: object, part: object) -> None:
    if not isinstance(part, str):
        raise TypeError(f"field {path!r}: {part!r} must be text, as the query has it")


def _requirement(term: str) -> FieldRequirement:
    operator = _OPERATOR.search(term)
    if operator is None:
        raise ValueError(f"invalid field selector: {term!r} must be of the form path=value or path!=value")
    path, value = term[: operator.start()], term[operator.end() :]
    return FieldRequirement(path, _ESCAPE.sub(_unescape, value), operator.group() == "!=")


def _unescape(found: re.Match[str]) -> str:
    escaped, bare = found.groups()
    if bare or escaped not in {"\\", ",", "="}:
        what = f"unescaped {bare!r}" if bare else f"unknown escape '\\{escaped}'"
        raise ValueError(f"invalid field selector: {what} in the value; write \\\\, \\, and \\=")
    return str(escaped)
