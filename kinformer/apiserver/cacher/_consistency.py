"""Consistency: whether a cache shows what the storage holds.

``consistencyChecker`` of ``k8s.io/apiserver/pkg/storage/cacher`` compares digests, since its two sides may be far apart.
"""

import logging
from itertools import zip_longest
from typing import Final

from kinformer.apiserver.cacher._content import Content
from kinformer.apiserver.cacher._metrics import Metrics
from kinformer.apiserver.storage import KV, CompactedError, KeyRange, UnavailableError

__all__ = ["check", "difference"]

_log = logging.getLogger("kinformer.apiserver")

_PAGE: Final = 10_000

_State = tuple[str, int]
"""A key, and the revision that wrote it."""


async def check(kv: KV, content: Content, keys: KeyRange, metrics: Metrics) -> None:
    """Compare a cache with its storage: as long as they differ, the past is read from the storage.

    ``apiserver_storage_consistency_checks_total`` counts the outcomes: ``success``, ``failure`` where they differ, and
    ``error`` where nobody can say.
    """
    try:
        found = await difference(kv, content, keys)
    except (CompactedError, UnavailableError):
        metrics.count("apiserver_storage_consistency_checks_total", status="error")
        return
    if found:
        _log.error("the cache of %s is wrong: %s", keys.start, found)
        content.distrust()
    else:
        content.trust()
    metrics.count("apiserver_storage_consistency_checks_total", status="failure" if found else "success")


async def difference(kv: KV, content: Content, keys: KeyRange) -> str:
    """The first object in which a cache and its storage differ at the revision of the cache; ``""`` where none does.

    Raises:
        CompactedError: That revision is gone, so that nobody can say.
    """
    revision = content.revision
    held = [(element.key, element.revision) for element in content.read(keys)]
    rest, stored, is_done = keys, list[_State](), False
    while not is_done:
        found = await kv.range(rest, revision=revision, limit=_PAGE)
        stored += [(value.key, value.mod_revision) for value in found.items]
        is_done = not found.remaining
        if not is_done:
            rest = rest.behind(f"{found.items[-1].key}\0")
    for ours, theirs in zip_longest(held, stored):
        if ours != theirs:
            return f"at revision {revision} the cache has {_named(ours)}, the storage {_named(theirs)}"
    return ""


def _named(state: _State | None) -> str:
    return "nothing more" if state is None else f"{state[0]} of revision {state[1]}"
