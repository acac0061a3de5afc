"""Query parameters, read the way the real server reads them (rule H-6)."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self
from urllib.parse import parse_qsl

from kinformer.apiserver.registry import StatusError

__all__ = ["Query"]

_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,18}")


class Query:
    """The parameters of one request: unknown ones are ignored, of a repeated one the first counts.

    Args:
        text: The query string without its question mark.
    """

    def __init__(self, text: str) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in parse_qsl(text, keep_blank_values=True):
            self._values.setdefault(name, []).append(value)

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Self:
        """The parameters of an ASGI scope."""
        return cls(scope["query_string"].decode("latin-1"))

    def text(self, name: str) -> str:
        """A parameter as it is; ``""`` where it is absent."""
        return self._values.get(name, [""])[0]

    def all(self, name: str) -> Sequence[str]:
        """Every value of a repeated parameter, in order."""
        return self._values.get(name, [])

    def flag(self, name: str) -> bool | None:
        """A boolean: ``None`` where absent, false for ``0`` and ``false``, true for everything else, even nothing."""
        if name not in self._values:
            return None
        return self.text(name).lower() not in {"0", "false"}

    def number(self, name: str) -> int | None:
        """An integer; ``None`` where it is absent or empty.

        Raises:
            StatusError: 400, it is no integer.
        """
        text = self.text(name)
        if not text:
            return None
        if not _INTEGER.fullmatch(text):
            raise StatusError(
                400,
                "BadRequest",
                f'{name}: Invalid value: "{text}": strconv.ParseInt: parsing "{text}": invalid syntax',
            )
        return int(text)
