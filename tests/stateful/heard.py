"""What a machine hears while hypothesis drives it, where pytest's fixtures do not reach: lines of a log, and hooks."""

import logging

from kinformer.hooks import NoHooks


class Lines(logging.Handler):
    """The lines of one logger from ``level`` on, in place of the report that pytest would make of thousands."""

    def __init__(self, name: str, level: int = logging.WARNING) -> None:
        super().__init__(level)
        self.lines: list[tuple[str, str]] = []
        self._logger = logging.getLogger(name)
        self._before = self._logger.level
        self._logger.addHandler(self)
        self._logger.setLevel(level)
        self._logger.propagate = False

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((record.levelname, record.getMessage()))

    def leave(self) -> None:
        """Put the logger back as it was."""
        self._logger.removeHandler(self)
        self._logger.setLevel(self._before)
        self._logger.propagate = True


class Diary(NoHooks):
    """Hooks that keep every record they are told, in order."""

    def __init__(self) -> None:
        self.events: list[object] = []
        for name in vars(NoHooks):
            if not name.startswith("_"):
                setattr(self, name, self.events.append)
