"""``python -m tests.bench [quick]``: run every comparison; a ratio beyond its bound fails the run."""

import sys

from tests.bench import imports, objects, pipeline, queues


def main(arguments: list[str]) -> int:
    """Return 0 when every bound holds."""
    if arguments not in ([], ["quick"]):
        print("usage: python -m tests.bench [quick]", file=sys.stderr)
        return 2
    rounds = 5 if arguments else 15
    results = [imports.run(rounds)]
    for room in (objects, queues, pipeline):
        results += [comparison.run(rounds) for comparison in room.comparisons()]
    results.append(queues.gives_memory_back(200_000 if arguments else 2_000_000))
    return 0 if all(results) else 1


sys.exit(main(sys.argv[1:]))
