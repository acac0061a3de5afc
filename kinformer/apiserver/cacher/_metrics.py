"""Metrics: what a watch cache counts, under the names of kube-apiserver."""

from collections.abc import Mapping
from typing import Final

__all__ = ["Metrics"]

_BUCKETS: Final = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0)
"""Upper ends in seconds of what ``observe`` sorts into; the last is as long as any read waits."""

_Series = tuple[str, tuple[tuple[str, str], ...]]


class Metrics:
    """The counters and gauges of one resource.

    Args:
        group: The API group, ``""`` for core.
        resource: The plural name.
    """

    def __init__(self, group: str, resource: str) -> None:
        self._common = (("group", group), ("resource", resource))
        self._values: dict[_Series, float] = {}

    def count(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        series = (name, tuple(labels.items()))
        self._values[series] = self._values.get(series, 0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        self._values[name, tuple(labels.items())] = value

    def observe(self, name: str, seconds: float) -> None:
        """Add a duration to a histogram: to each bucket that it fits in, to the sum and to the number."""
        for end in _BUCKETS:
            self.count(f"{name}_bucket", seconds <= end, le=f"{end:g}")
        self.count(f"{name}_bucket", le="+Inf")
        self.count(f"{name}_sum", seconds)
        self.count(f"{name}_count")

    def get(self, name: str, **labels: str) -> float:
        """The value of one series, or the sum of those that have these labels; 0 where there is none."""
        wanted = set(labels.items())
        return sum(
            value for (each, own), value in self._values.items() if each == name and wanted <= set(own)
        )

    def values(self) -> Mapping[str, float]:
        """Each series as Prometheus writes it, ``name{label="value"}``, with its value; a copy."""
        return {
            _written(name, self._common + labels): value for (name, labels), value in self._values.items()
        }


def _written(name: str, labels: tuple[tuple[str, str], ...]) -> str:
    pairs = ",".join(f'{label}="{value}"' for label, value in labels)
    return f"{name}{{{pairs}}}"
