"""Warnings: what a server says beside its answer, such as that an API version will go away.

https://kubernetes.io/blog/2020/09/03/warnings/, in the grammar of https://www.rfc-editor.org/rfc/rfc7234#section-5.5
"""

import logging
import re
from collections.abc import Iterable, Iterator
from typing import Final

from kinformer.hooks import Hooks, WarningReceived

__all__ = ["Warnings", "parse_warnings"]

_logger: Final = logging.getLogger("kinformer.client")

_CODE: Final = "299"
"""Kubernetes sends no other: a miscellaneous persistent warning."""

# A code, an agent, a quoted text, perhaps a quoted date (which may hold a comma), and the comma before the next one.
_WARNING: Final = re.compile(r'\s*(\d{3})\s+(\S+)\s+"((?:[^"\\]|\\.)*)"(?:\s*"[^"]*")?[^,]*(?:,|$)')
_ESCAPED: Final = re.compile(r"\\(.)")
_REMEMBERED: Final = 1000
"""Texts that are known to have been logged; when there are more, they are forgotten and logged anew."""


class Warnings:
    """Tells the hooks of every warning, and the log of each text once."""

    __slots__ = ("_hooks", "_seen")

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._seen: set[str] = set()

    def take(self, path: str, headers: Iterable[str]) -> None:
        """Read the ``Warning`` headers of an answer."""
        for header in headers:
            for text in parse_warnings(header):
                self._hooks.warning_received(WarningReceived(path, text))
                if text in self._seen:
                    continue
                if len(self._seen) >= _REMEMBERED:
                    self._seen.clear()
                self._seen.add(text)
                _logger.warning("%s: the server warns: %s", path, text)


def parse_warnings(header: str) -> Iterator[str]:
    """The texts of one header, which may hold several warnings; those of other codes than 299 are not for us.

    What cannot be read ends the header. What cannot be printed is given as a space, since it goes into logs.
    """
    place = 0
    while found := _WARNING.match(header, place):
        code, _, quoted = found.groups()
        if code == _CODE:
            text = _ESCAPED.sub(r"\1", quoted)
            yield "".join(letter if letter.isprintable() else " " for letter in text)
        place = found.end()
