"""``python -m tests.bench [quick]``: run every comparison; a ratio beyond its bound fails the run.

The quick run has few rounds, and is meant for machines that do other things too, so it lets a ratio be twice its bound:
it finds what has become much dearer. What is promised is checked by the whole run.
"""

import sys

from tests.bench import cacher, imports, memory, objects, pipeline, queues, stages, stalls, storage, streams


def main(arguments: list[str]) -> int:
    """Return 0 when every bound holds."""
    if arguments not in ([], ["quick"]):
        print("usage: python -m tests.bench [quick]", file=sys.stderr)
        return 2
    is_quick = bool(arguments)
    rounds, slack = (5, 2.0) if is_quick else (15, 1.0)
    results = [imports.run(rounds, slack=slack)]
    for room in (objects, queues, pipeline, storage, cacher):
        results += [comparison.run(rounds, slack=slack) for comparison in room.comparisons()]
    results.append(streams.run(rounds, slack=slack))
    stages.show(2 if is_quick else rounds)
    results.append(queues.gives_memory_back(200_000 if is_quick else 2_000_000))
    results.append(stalls.run(quick=is_quick))
    results.append(storage.reads_seldom(quick=is_quick))
    results.append(memory.run(quick=is_quick))
    return 0 if all(results) else 1


sys.exit(main(sys.argv[1:]))
