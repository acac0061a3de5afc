"""Which changes a selector shows, and as what: an object may enter and leave a selection without coming or going.

The rule is that of ``cacheWatcher.convertToWatchEvent`` (apiserver): X-6 and X-7 of our specification.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

from kinformer.apiserver.storage import Change, KeyValue

__all__ = ["Selected", "select"]


class Selected(NamedTuple):
    """A change as one watcher sees it.

    ``value`` is what to show: for a DELETED the last state that was part of the selection. ``version`` is the revision
    to stamp on it, always that of the change.
    """

    type: Literal["ADDED", "MODIFIED", "DELETED"]
    value: KeyValue
    version: int


def select(change: Change, matches: Callable[[KeyValue], bool]) -> Selected | None:
    """What a watcher whose selectors are ``matches`` sees of a change; ``None`` when it sees nothing."""
    before = change.previous if change.previous and matches(change.previous) else None
    after = change.current if change.current and matches(change.current) else None
    if after is not None:
        return Selected("MODIFIED" if before else "ADDED", after, change.revision)
    if before is not None:
        return Selected("DELETED", before, change.revision)
    return None
