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

    def run(self, rounds: int) -> bool:
        """Measure, print one line, and say whether the bound holds."""
        ours, theirs = [], []
        self.subject(), self.yardstick()  # warm caches; not counted
        for _ in range(rounds):
            ours.append(_cpu_seconds(self.subject))
            theirs.append(_cpu_seconds(self.yardstick))
        mine, yard = statistics.median(ours), statistics.median(theirs)
        ratio = mine / yard
        holds = ratio <= self.bound
        each = 1e6 / self.operations
        print(
            f"{self.name:<64} {mine * each:9.2f} us {yard * each:9.2f} us  ratio {ratio:5.2f}"
            f"  (at most {self.bound:g}){'' if holds else '  FAILED'}"
        )
        return holds


def _cpu_seconds(work: Callable[[], object]) -> float:
    gc.collect()
    start = time.process_time()
    work()
    return time.process_time() - start
