"""What ``import kinformer`` costs over the bare interpreter, in a process of its own each time.

The least of several runs counts, since what else the machine does can only add. A machine that is slow for everybody
is told by ``import httpx``, measured in turn: only who is over the limit, and dear beside that too, has grown.
"""

import json
import subprocess
import sys
from collections.abc import Sequence

LIMIT_MS, LIMIT_MB, LIMIT_RATIO = 150.0, 40.0, 3.2
_PROBE = (
    "import json, resource\n{statement}\n"
    "used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "peak = open('/proc/self/status').read().partition('VmHWM:')[2].split()[0]\n"  # ru_maxrss is the parent's
    "print(json.dumps([(used.ru_utime + used.ru_stime) * 1000, int(peak) / 1024]))"
)


def run(rounds: int, *, slack: float = 1.0) -> bool:
    """Measure in turn, print one line, say whether the limits hold."""
    statements = ("pass", "import kinformer", "import httpx")
    runs = [[_probe(statement) for statement in statements] for _ in range(rounds)]
    bare, ours, httpx = (_least(column) for column in zip(*runs, strict=True))
    milliseconds, megabytes = ours[0] - bare[0], ours[1] - bare[1]
    ratio = milliseconds / (httpx[0] - bare[0])
    holds = (milliseconds <= LIMIT_MS or ratio <= LIMIT_RATIO * slack) and megabytes <= LIMIT_MB
    print(
        f"{'import kinformer over the bare interpreter':<64} {milliseconds:6.0f} ms of CPU (at most {LIMIT_MS:g}, or "
        f"{LIMIT_RATIO * slack:g}x httpx: {ratio:.2f}x) {megabytes:6.1f} MB (at most {LIMIT_MB:g}){'' if holds else '  FAILED'}"
    )
    return holds


def _least(column: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(time for time, _ in column), min(memory for _, memory in column)


def _probe(statement: str) -> tuple[float, float]:
    code = _PROBE.format(statement=statement)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    milliseconds, megabytes = json.loads(done.stdout)
    return milliseconds, megabytes
