"""Failures: hooks that keep the last failure of each key for the message of a wait that was in vain."""

from typing import Any

from kinformer.hooks import Hooks, ReconcileFinished, guarded
from kinformer.meta import ObjectKey

__all__ = ["Failures"]


class Failures:
    """Keeps how the last reconcile of each key failed, and passes everything on to other hooks."""

    def __init__(self, hooks: Hooks | None) -> None:
        self._hooks = guarded(hooks)
        self._last: dict[tuple[str, ObjectKey], Exception] = {}

    def reconcile_finished(self, event: ReconcileFinished, /) -> None:
        """Keep a failure, or forget it after a success."""
        self._last.pop((event.controller, event.key), None)
        if event.error is not None:
            self._last[event.controller, event.key] = event.error  # behind the others, as the latest
        self._hooks.reconcile_finished(event)

    @property
    def last(self) -> Exception | None:
        """The latest of them."""
        return next(reversed(self._last.values()), None)

    def __str__(self) -> str:
        lines = [f"  {name}, {key}: {error!r}" for (name, key), error in self._last.items()]
        return "\n".join(["reconciles failed:", *lines]) if lines else ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._hooks, name)
