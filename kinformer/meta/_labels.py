"""LabelSelector: parse, print, match.

The grammar is that of ``labels.Parse`` (apimachinery); the in-object form is ``metav1.LabelSelector``.
https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

__all__ = ["LabelOperator", "LabelRequirement", "LabelSelector"]

_TOKEN: Final = re.compile(r"[ \t\r\n]*(==|!=|[=!(),><]|[^ \t\r\n=!(),><]+)")
_VALUE: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX: Final = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_SPECIAL: Final = frozenset({"=", "==", "!=", "!", "(", ")", ",", ">", "<"})


class LabelOperator(StrEnum):
    """How a requirement compares (``selection.Operator``)."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    NOT_EQUALS = "!="
    EXISTS = "exists"
    NOT_EXISTS = "!"
    GREATER = ">"
    LESS = "<"


_ARITY: Final[Mapping[LabelOperator, str]] = {
    LabelOperator.IN: "at least one value",
    LabelOperator.NOT_IN: "at least one value",
    LabelOperator.EQUALS: "one value",
    LabelOperator.NOT_EQUALS: "one value",
    LabelOperator.EXISTS: "no value",
    LabelOperator.NOT_EXISTS: "no value",
    LabelOperator.GREATER: "one value",
    LabelOperator.LESS: "one value",
}

_IN_OBJECT: Final[Mapping[str, LabelOperator]] = {
    "In": LabelOperator.IN,
    "NotIn": LabelOperator.NOT_IN,
    "Exists": LabelOperator.EXISTS,
    "DoesNotExist": LabelOperator.NOT_EXISTS,
}


@dataclass(frozen=True, slots=True)
class LabelRequirement:
    """One term of a selector. Values are kept sorted and without repeats.

    Raises:
        ValueError: The key or a value is no label key or value, or the operator takes another number of values.
    """

    key: str
    operator: LabelOperator
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_text(self.key, self.values)
        object.__setattr__(self, "operator", LabelOperator(self.operator))
        object.__setattr__(self, "values", tuple(sorted(set(self.values))))
        _check_key(self.key)
        arity = _ARITY[self.operator]
        fits = {"no value": not self.values, "one value": len(self.values) == 1}.get(arity, bool(self.values))
        if not fits:
            raise ValueError(
                f"label {self.key!r}: operator {self.operator.value!r} takes {arity}, not {self.values}"
            )
        for value in self.values:
            if self.operator in {LabelOperator.GREATER, LabelOperator.LESS}:
                if _integer(value) is None:
                    raise ValueError(
                        f"label {self.key!r}: {value!r} must be a 64-bit integer to compare with"
                    )
            elif not _VALUE.fullmatch(value):
                raise ValueError(
                    f"label {self.key!r}: value {value!r} must be empty, or at most 63 letters, digits, '-', '_' and '.', "
                    "beginning and ending with a letter or digit"
                )

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy this term; an absent key satisfies the negative operators."""
        value = labels.get(self.key)
        match self.operator:
            case LabelOperator.IN | LabelOperator.EQUALS:
                return value in self.values
            case LabelOperator.NOT_IN | LabelOperator.NOT_EQUALS:
                return value not in self.values
            case LabelOperator.EXISTS:
                return value is not None
            case LabelOperator.NOT_EXISTS:
                return value is None
            case LabelOperator.GREATER | LabelOperator.LESS:
                mine, bound = _integer(value or ""), _integer(self.values[0])
                if mine is None or bound is None:
                    return False
                return mine > bound if self.operator is LabelOperator.GREATER else mine < bound

    def __str__(self) -> str:
        match self.operator:
            case LabelOperator.EXISTS:
                return self.key
            case LabelOperator.NOT_EXISTS:
                return f"!{self.key}"
            case LabelOperator.IN | LabelOperator.NOT_IN:
                return f"{self.key} {self.operator.value} ({','.join(self.values)})"
            case _:
                return f"{self.key}{self.operator.value}{self.values[0]}"


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """Terms that must all hold; without terms it matches everything."""

    requirements: tuple[LabelRequirement, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the query form, such as ``app=web,tier in (front,back),!legacy``.

        Raises:
            ValueError: The text does not follow the grammar; the message has the text, what was found and what was expected.
        """
        try:
            return cls(tuple(_Parser(text).selector()))
        except ValueError as error:
            raise ValueError(f"{error}, in label selector {text!r}") from None

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Self:
        """Require each of these labels to have exactly this value.

        Raises:
            ValueError: A key or value is no label key or value.
        """
        return cls(
            tuple(LabelRequirement(key, LabelOperator.EQUALS, (value,)) for key, value in labels.items())
        )

    @classmethod
    def from_object(cls, selector: Mapping[str, Any]) -> Self:
        """Read the form that objects hold: ``matchLabels`` and ``matchExpressions``.

        Raises:
            ValueError: An operator is unknown, or a key or value is no label key or value.
        """
        unknown = sorted(set(selector) - {"matchLabels", "matchExpressions"})
        if unknown:
            raise ValueError(
                f"a label selector has matchLabels and matchExpressions, not {', '.join(unknown)}"
            )
        found = list(cls.from_labels(selector.get("matchLabels") or {}).requirements)
        for expression in selector.get("matchExpressions") or ():
            operator = _IN_OBJECT.get(expression.get("operator", ""))
            if operator is None:
                raise ValueError(
                    f"matchExpressions: operator {expression.get('operator')!r} must be one of {', '.join(_IN_OBJECT)}"
                )
            found.append(
                LabelRequirement(expression.get("key", ""), operator, expression.get("values") or ())
            )
        return cls(tuple(found))

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels satisfy every term."""
        return all(requirement.matches(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


class _Parser:
    """Recursive descent over tokens; keywords are words like any other where a key or value stands."""

    def __init__(self, text: str) -> None:
        self._tokens = list(_tokens(text))
        self._at = 0

    def selector(self) -> Iterator[LabelRequirement]:
        if not self._peek():
            return
        yield self._requirement()
        while self._peek():
            self._expect(",", expected="',' or end of string")
            yield self._requirement()

    def _requirement(self) -> LabelRequirement:
        if self._peek() == "!":
            self._next()
            return LabelRequirement(self._word("identifier"), LabelOperator.NOT_EXISTS)
        key = self._word("!, identifier, or 'end of string'")
        match self._peek():
            case "" | ",":
                return LabelRequirement(key, LabelOperator.EXISTS)
            case "=" | "==" | "!=":
                operator = LabelOperator.NOT_EQUALS if self._next() == "!=" else LabelOperator.EQUALS
                return LabelRequirement(key, operator, (self._value(),))
            case ">" | "<":
                operator = LabelOperator(self._next())
                return LabelRequirement(key, operator, (self._word("integer"),))
            case "in" | "notin":
                operator = LabelOperator(self._next())
                return LabelRequirement(key, operator, tuple(self._values()))
            case found:
                raise _unexpected(found, "in, notin, =, ==, !=, >, <, ',' or end of string")

    def _values(self) -> Iterator[str]:
        self._expect("(", expected="'('")
        yield self._value()
        while self._peek() == ",":
            self._next()
            yield self._value()
        self._expect(")", expected="',' or ')'")

    def _value(self) -> str:
        return "" if self._peek() in {"", ",", ")"} else self._word("identifier")

    def _word(self, expected: str) -> str:
        token = self._next()
        if not token or token in _SPECIAL:
            raise _unexpected(token, expected)
        return token

    def _expect(self, token: str, *, expected: str) -> None:
        found = self._next()
        if found != token:
            raise _unexpected(found, expected)

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._at += 1
        return token


def _tokens(text: str) -> Iterable[str]:
    return _TOKEN.findall(text)


def _unexpected(found: str, expected: str) -> ValueError:
    return ValueError(f"unable to parse requirement: found '{found}', expected: {expected}")


def _check_text(key: object, values: object) -> None:
    """Selectors come from JSON too, where types are what they are."""
    if not isinstance(key, str):
        raise TypeError(f"label key {key!r} must be text")
    if not isinstance(values, tuple | list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"label {key!r}: the values must be a list of texts, not {values!r}")


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not _PREFIX.fullmatch(prefix)):
        raise ValueError(
            f"label key {key!r} must be a name of at most 63 letters, digits, '-', '_' and '.', beginning and ending "
            "with a letter or digit, with an optional DNS prefix, as in 'example.com/name'"
        )


def _integer(text: str) -> int | None:
    """The value as Go's ``strconv.ParseInt(text, 10, 64)`` reads it."""
    if not _INTEGER.fullmatch(text) or len(text) > 40:
        return None
    value = int(text)
    return value if -(2**63) <= value < 2**63 else None
