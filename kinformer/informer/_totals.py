"""Totals: what the feeds of several namespaces amount to, in conditions, ages and numbers. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from kinformer.informer._stats import InformerStats
from kinformer.reflector import Ages, Condition, ConditionType

__all__ = ["ages_of_all", "conditions_of_all", "stats_of_all"]

_NAMED: Final = 3
"""How many namespaces a message tells of; there may be hundreds."""


def conditions_of_all(parts: Mapping[str, Mapping[str, Condition]]) -> Mapping[str, Condition]:
    """The conditions of several namespaces as one: synced where all are, in trouble where any is.

    The message tells what the first few say that make it so, each with its namespace. Empty before all have some.
    """
    if not all(parts.values()):
        return {}
    return {
        name: _one({namespace: part[name] for namespace, part in parts.items()}, name is ConditionType.SYNCED)
        for name in ConditionType
    }


def ages_of_all(parts: Iterable[Ages]) -> Ages:
    """The age of the newest event, and that of the bookmark that is overdue most: one dead stream is to be seen."""
    ages = tuple(parts)
    return Ages(min(each.event for each in ages), max(each.bookmark for each in ages))


def stats_of_all(parts: Iterable[InformerStats]) -> InformerStats:
    """The sums; but the highest of the high-water marks, and the age of the newest event."""
    stats = tuple(parts)
    return InformerStats(
        objects=sum(each.objects for each in stats),
        size=sum(each.size for each in stats),
        queued=sum(each.queued for each in stats),
        queue_high_water=max(each.queue_high_water for each in stats),
        event_age=min(each.event_age for each in stats),
        relists=sum(each.relists for each in stats),
        watch_restarts=sum(each.watch_restarts for each in stats),
    )


def _one(parts: Mapping[str, Condition], needs_all: bool) -> Condition:
    """One claim about several namespaces, which all of them have to make, or any."""
    status = (all if needs_all else any)(condition.status for condition in parts.values())
    deciding = {namespace: each for namespace, each in parts.items() if each.status == status}
    moments = [each.since for each in deciding.values()]
    # What all of them have to say is true since the last one says it, and what one has to, since the first one does.
    since = max(moments) if status == needs_all else min(moments)
    said = [f"{namespace}: {each.message}" for namespace, each in deciding.items() if each.message]
    more = [f"and {len(said) - _NAMED} more"] if len(said) > _NAMED else []
    return Condition(status, since, "; ".join(said[:_NAMED] + more))
