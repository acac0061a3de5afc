"""Metrics: a manager for Prometheus, read when it is scraped."""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Final

from kinformer.observe._answers import Answer
from kinformer.observe._families import families
from kinformer.observe._report import Report
from kinformer.observe._tally import Tally

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

__all__ = ["Metrics"]

_gathered: Final[ContextVar[tuple["Metric", ...]]] = ContextVar("gathered", default=())
"""What was looked up for the text that is being made."""


class Metrics:
    """The metrics of one manager, with the names of controller-runtime where it has the same; needs the extra ``metrics``.

    What happens is counted in plain numbers, and what is, is looked up: nothing of Prometheus is called before a
    scrape. The labels are names of controllers, informers, handlers and hosts, and never objects or paths.

    Args:
        registry: Where they are added, for a program that exports metrics of its own; None: one of their own, which
            also has those of the process.

    Raises:
        ImportError: prometheus-client is not installed.
        ValueError: The registry has the metrics of another manager.
    """

    def __init__(self, registry: "CollectorRegistry | None" = None) -> None:
        try:
            from prometheus_client import CollectorRegistry, ProcessCollector
        except ImportError as error:
            raise ImportError(
                "metrics need prometheus-client, which is not installed: pip install 'kinformer[metrics]'"
            ) from error
        self.tally: Final = Tally()
        """What has been counted so far."""
        self._report: Callable[[], Report] | None = None
        if registry is None:
            registry = CollectorRegistry()
            ProcessCollector(registry=registry)
        self.registry: Final = registry
        """Where they are."""
        registry.register(self)

    def show(self, report: Callable[[], Report]) -> None:
        """Look up there what is; a manager calls this."""
        self._report = report

    def describe(self) -> Iterable["Metric"]:
        """All of the families, as they are before anything has happened; for the registry."""
        return families(Tally(), None)

    def collect(self) -> Iterable["Metric"]:
        """All of the families, as they are now; for the registry, which asks in the event loop."""
        return _gathered.get() or families(self.tally, None if self._report is None else self._report())

    def exposed(self) -> Answer:
        """What ``/metrics`` says. It looks at once, and leaves the text, which takes three times as long, to a thread."""
        from prometheus_client.exposition import CONTENT_TYPE_LATEST

        return Answer(partial(self._text, tuple(self.collect())), CONTENT_TYPE_LATEST)

    def _text(self, gathered: tuple["Metric", ...]) -> bytes:
        from prometheus_client.exposition import generate_latest

        token = _gathered.set(gathered)
        try:
            return generate_latest(self.registry)
        finally:
            _gathered.reset(token)
