"""Comparing costs: A and B in turn, in one process, medians of CPU time, one ratio."""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Comparison:
    """What ``subject`` costs, as a multiple of what ``yardstick`` costs.

    ``bound`` is the ratio that must hold; the run fails where it does not. Absolute figures are for reading only: they
    move by a third between runs on a shared machine, ratios taken in turn do not.
    """

    name: str
    subject: Callable[[], object]
    yardstick: Callable[[], object]
    operations: int
    bound: float

    def run(self, rounds: int, *, slack: float = 1.0) -> bool:
        """Measure, print one line, and say whether the bound, times ``slack``, holds.

        A ratio beyond the bound is measured anew, twice at most: what is too dear stays so.
        """
        self.subject(), self.yardstick()  # warm caches; not counted
        for _ in range(3):
            mine, yard = self._measure(rounds)
            if holds := mine / yard <= self.bound * slack:
                break
        each = 1e6 / self.operations
        print(
            f"{self.name:<64} {mine * each:9.2f} us {yard * each:9.2f} us  ratio {mine / yard:5.3g}"
            f"  (at most {self.bound * slack:g}){'' if holds else '  FAILED'}"
        )
        return holds

    def _measure(self, rounds: int) -> tuple[float, float]:
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(cpu_seconds(self.subject))
            theirs.append(cpu_seconds(self.yardstick))
        return statistics.median(ours), statistics.median(theirs)


def cpu_seconds(work: Callable[[], object]) -> float:
    """What ``work`` takes of the processor, after a collection."""
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start
