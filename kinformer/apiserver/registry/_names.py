"""Names: which are allowed for what, and how one is made up (rules W-6 and W-7)."""

import re
from random import Random
from typing import Final

__all__ = ["check_label_value", "check_name", "check_qualified_name", "generate_name"]

_LABEL: Final = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_SERVICE: Final = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_WORD: Final = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"

_SUBDOMAIN_TEXT: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    f"end with an alphanumeric character (e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_TEXT: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    f"an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_SERVICE_TEXT: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    f"'{_SERVICE}')"
)
_NAME_TEXT: Final = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    f"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_WORD}')"
)
_VALUE_TEXT: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    f"'({_WORD})?')"
)

_RULES: Final = {
    "subdomain": (re.compile(_SUBDOMAIN), 253, _SUBDOMAIN_TEXT),
    "label": (re.compile(_LABEL), 63, _LABEL_TEXT),
    "service": (re.compile(_SERVICE), 63, _SERVICE_TEXT),
}

_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_PREFIX: Final = 58
_SUFFIX: Final = 5


def check_name(rule: str, name: str) -> str | None:
    """What is wrong with the name of an object, by a rule of ``Traits.name_rule``; ``None`` when it is fine."""
    if rule == "path":
        if name in {".", ".."}:
            return f"may not be '{name}'"
        return next((f"may not contain '{char}'" for char in "/%" if char in name), None)
    pattern, longest, text = _RULES[rule]
    if len(name) > longest:
        return f"must be no more than {longest} bytes"
    return None if pattern.fullmatch(name) else text


def check_qualified_name(name: str) -> str | None:
    """What is wrong with a label key, an annotation key or a finalizer; ``None`` when it is fine."""
    prefix, slash, word = name.rpartition("/")
    if slash and not prefix:
        return "prefix part must be non-empty"
    if slash and (problem := check_name("subdomain", prefix)):
        return f"prefix part {problem}"
    if not word:
        return "name part must be non-empty"
    if len(word) > 63:
        return "name part must be no more than 63 bytes"
    return None if re.fullmatch(_WORD, word) else _NAME_TEXT


def check_label_value(value: str) -> str | None:
    """What is wrong with the value of a label; ``None`` when it is fine."""
    if len(value) > 63:
        return "must be no more than 63 bytes"
    return None if re.fullmatch(f"({_WORD})?", value) else _VALUE_TEXT


def generate_name(prefix: str, random: Random) -> str:
    """A name of a ``generateName``: the prefix, cut to 58 characters, and five random ones."""
    return prefix[:_LONGEST_PREFIX] + "".join(random.choices(_LETTERS, k=_SUFFIX))
