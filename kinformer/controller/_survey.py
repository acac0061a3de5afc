"""Survey: what a manager's run looks like at this moment. Nothing waits, and long lists are cut."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kinformer.clock import Clock
from kinformer.controller._election import LeaderElection
from kinformer.controller._leadership import Leadership
from kinformer.controller._runner import ControllerRunner
from kinformer.controller._shard import Shard
from kinformer.controller._sharding import Sharding
from kinformer.controller._sources import Scope
from kinformer.informer import SharedInformer
from kinformer.meta import Object
from kinformer.observe import (
    ControllerReport,
    HandlerReport,
    InformerReport,
    KeyReport,
    LeaseReport,
    Phase,
    Report,
    Trouble,
)
from kinformer.reflector import ConditionType

__all__ = ["survey"]

_MOST: Final = 50
"""Keys of one kind of each controller that are told of."""

_BLOCKING: Final = {
    ConditionType.SYNCED,
    ConditionType.FORBIDDEN,
    ConditionType.KIND_MISSING,
    ConditionType.THROTTLED,
    ConditionType.DISCONNECTED,
}


def survey(
    phase: Phase,
    runners: Sequence[ControllerRunner],
    contest: LeaderElection | Sharding | None,
    right: Leadership | Shard | None,
    *,
    clock: Clock,
) -> Report:
    """Look at all parts of a run."""
    return Report(
        phase=phase,
        informers=tuple(_informers(runners, clock.monotonic())),
        controllers=tuple(_controller(runner) for runner in runners),
        leases=() if contest is None else (_lease(contest, right),),
    )


def _informers(runners: Iterable[ControllerRunner], now: float) -> Iterator[InformerReport]:
    users: dict[SharedInformer[Object], list[str]] = {}
    places: dict[SharedInformer[Object], tuple[str, Scope]] = {}
    for runner in runners:
        for cluster, scope, informer in runner.caches():
            users.setdefault(informer, []).append(runner.name)
            places[informer] = cluster, scope
    for informer, (cluster, scope) in places.items():
        stats, ages = informer.stats, informer.ages
        yield InformerReport(
            cluster=cluster,
            name=informer.name,
            scope=_in_words(scope),
            controllers=tuple(users[informer]),
            is_synced=informer.is_synced,
            objects=stats.objects,
            size=stats.size,
            version=informer.store.version,
            queued=stats.queued,
            event_age=ages.event,
            bookmark_age=ages.bookmark,
            relists=stats.relists,
            watch_restarts=stats.watch_restarts,
            troubles=tuple(_troubles(informer, now)),
            handlers=tuple(
                HandlerReport(
                    each.name, each.backlog, each.high_water, each.oldest_age, each.delivered, each.failures
                )
                for each in informer.handlers
            ),
        )


def _troubles(informer: SharedInformer[Object], now: float) -> Iterator[Trouble]:
    for name, condition in informer.conditions.items():
        kind = ConditionType(name)
        is_good = kind is ConditionType.SYNCED
        if condition.status is not is_good:
            meaning = "no complete list has arrived" if is_good else kind.meaning
            yield Trouble(
                kind.value, meaning, condition.message, now - condition.since, is_blocking=kind in _BLOCKING
            )


def _controller(runner: ControllerRunner) -> ControllerReport:
    gauges, held = runner.gauges, runner.held(_MOST)
    return ControllerReport(
        name=runner.name,
        resource=str(runner.resource),
        workers=runner.workers,
        waits=tuple(runner.waits),
        depth=gauges.depth,
        oldest_wait=max(gauges.oldest_waiting.values(), default=0.0),
        unfinished_work=gauges.unfinished_work,
        longest_running=gauges.longest_running,
        running=tuple(
            KeyReport(
                str(each.key),
                held.now - each.since,
                *runner.failures(each.key),
                is_wanted_again=each.is_wanted_again,
            )
            for each in held.running
        ),
        running_total=runner.active,
        delayed=tuple(
            KeyReport(str(each.key), each.when - held.now, *runner.failures(each.key))
            for each in held.delayed
        ),
        delayed_total=gauges.delayed,
        parked=tuple(
            KeyReport(str(each.key), held.now - each.since, each.attempts, each.error) for each in held.parked
        ),
        parked_total=gauges.parked,
    )


def _lease(contest: LeaderElection | Sharding, right: Leadership | Shard | None) -> LeaseReport:
    return LeaseReport(
        kind="sharding" if isinstance(contest, Sharding) else "election",
        name=contest.name,
        identity=contest.identity,
        is_held=right is not None and right.is_held,
        term=right.term if isinstance(right, Leadership) else 0,
        members=right.members if isinstance(right, Shard) else (),
    )


def _in_words(scope: Scope) -> str:
    namespaces = f"in {', '.join(scope.namespaces)}" if scope.namespaces else ""
    labels = f"where {scope.labels}" if scope.labels is not None else ""
    return " ".join(filter(None, (namespaces, labels)))
