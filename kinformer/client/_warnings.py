"""Warnings: what a server says beside its answer, such as that an API version will go away.

https://kubernetes.io/blog/2020/09/03/warnings/
"""

import logging
import re
from collections.abc import Iterable
from typing import Final

from kinformer.hooks import Hooks, WarningReceived

__all__ = ["Warnings"]

_logger: Final = logging.getLogger("kinformer.client")

_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_REMEMBERED: Final = 1000
"""Texts that are known to have been logged; when there are more, they are forgotten and logged anew."""


class Warnings:
    """Tells the hooks of every warning, and the log of each text once."""

    __slots__ = ("_hooks", "_seen")

    def __init__(self, hooks: Hooks) -> None:
        self._hooks = hooks
        self._seen: set[str] = set()

    def take(self, path: str, headers: Iterable[str]) -> None:
        """Read the ``Warning`` headers of an answer; those of other codes than 299 are not for us."""
        for header in headers:
            for quoted in _WARNING.findall(header):
                text = re.sub(r"\\(.)", r"\1", quoted)
                self._hooks.warning_received(WarningReceived(path, text))
                if text in self._seen:
                    continue
                if len(self._seen) >= _REMEMBERED:
                    self._seen.clear()
                self._seen.add(text)
                _logger.warning("%s: the server warns: %s", path, text)
