"""What ``import kinformer`` costs over the bare interpreter, in a process of its own each time.

The least of several runs counts, since what else the machine does can only add. httpx imports rich and click where it
finds them, so the figure is meant for an environment without the ``cli`` extra.
"""

import json
import subprocess
import sys

LIMIT_MS, LIMIT_MB = 150.0, 40.0
_PROBE = (
    "import json, resource\n{statement}\n"
    "used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "peak = open('/proc/self/status').read().partition('VmHWM:')[2].split()[0]\n"  # ru_maxrss is the parent's
    "print(json.dumps([(used.ru_utime + used.ru_stime) * 1000, int(peak) / 1024]))"
)


def run(rounds: int) -> bool:
    """Measure the import and the bare interpreter in turn, print one line, say whether both limits hold."""
    bare, loaded = [], []
    for _ in range(rounds):
        bare.append(_probe("pass"))
        loaded.append(_probe("import kinformer"))
    (bare_ms, bare_mb), (ms, mb) = (map(min, zip(*runs, strict=True)) for runs in (bare, loaded))
    holds: bool = ms - bare_ms <= LIMIT_MS and mb - bare_mb <= LIMIT_MB
    print(
        f"{'import kinformer over the bare interpreter':<64} {ms - bare_ms:6.0f} ms of CPU (at most {LIMIT_MS:g}) "
        f"{mb - bare_mb:6.1f} MB (at most {LIMIT_MB:g}){'' if holds else '  FAILED'}"
    )
    return holds


def _probe(statement: str) -> tuple[float, float]:
    code = _PROBE.format(statement=statement)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    milliseconds, megabytes = json.loads(done.stdout)
    return milliseconds, megabytes
