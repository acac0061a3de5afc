"""Logs: lines that say which reconcile they belong to, and lines for machines."""

import logging
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from kinformer.observe._reconciling import Reconciling, reconciling

__all__ = ["JsonFormatter", "ReconcileFilter"]

_NOWHERE: Final = Reconciling("", "", "", "", 0)

_KNOWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What each record has, and what formatters add to it."""


class ReconcileFilter(logging.Filter):
    """Lets each record pass, with what it belongs to: ``controller``, ``cluster``, ``key``, ``reconcile_id``, ``attempt``.

    To be added to a handler, so that lines of any logger that come from a reconcile have them: yours, and those of
    libraries that it calls. Outside of one they are empty, so that a format may name them. What a record says itself holds.

    ```python
    handler = logging.StreamHandler()
    handler.addFilter(ReconcileFilter())
    handler.setFormatter(logging.Formatter("%(levelname)s %(controller)s %(key)s %(reconcile_id)s %(message)s"))
    ```
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Add them."""
        for name, value in (reconciling.get() or _NOWHERE)._asdict().items():
            if not hasattr(record, name):
                setattr(record, name, value)
        return True


class JsonFormatter(logging.Formatter):
    """One line of JSON for each record: ``time``, ``level``, ``logger``, ``message``, what was given as ``extra``, ``error``.

    ``time`` is UTC in RFC 3339; ``error`` is the traceback. What is empty is left out; what JSON cannot hold is given
    in words. The lines of one reconcile have one ``reconcile_id``, where the handler has a ``ReconcileFilter``.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Make the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name, value in vars(record).items():
            if name not in _KNOWN and value not in ("", None):
                line.setdefault(name, value)
        if not line.get("reconcile_id"):
            line.pop("attempt", None)
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=repr).decode()
