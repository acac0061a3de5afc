"""Report: everything that a manager shows of itself at one moment, as plain data that JSON can hold.

Lists of keys are bounded, and say how long they would be; those of informers, controllers and handlers are as long as the
program has declared. Ages and durations are in seconds; one that is not known is ``null`` in JSON, and infinite here.
"""

from typing import Literal, TypeAlias

import msgspec

__all__ = [
    "ControllerReport",
    "HandlerReport",
    "InformerReport",
    "KeyReport",
    "LeaseReport",
    "Phase",
    "Report",
    "Trouble",
]

Phase: TypeAlias = Literal["starting", "filling", "standing by", "running", "stopping"]
"""Where a run is: before its informers are made, while caches fill, while another replica leads, at work, and at its end."""


class Trouble(msgspec.Struct, frozen=True, rename="camel"):
    """A condition of an informer that is true and should not be, or ``Synced`` that is not.

    Attributes:
        condition: Its name, as in ``ConditionType``.
        meaning: What that means.
        message: What was said last.
        age: For how long.
        is_blocking: Whether the cache is of no use, or gets ever older.
    """

    condition: str
    meaning: str
    message: str
    age: float
    is_blocking: bool


class HandlerReport(msgspec.Struct, frozen=True, rename="camel"):
    """A handler of an informer; see ``Registration``."""

    name: str
    backlog: int
    high_water: int
    oldest_age: float
    delivered: int
    failures: int


class InformerReport(msgspec.Struct, frozen=True, rename="camel"):
    """A cache.

    Attributes:
        cluster: Which client's, ``""`` where there is one.
        name: What it holds, as ``plural.group``.
        scope: Which namespaces and labels, in words; ``""`` for all.
        controllers: Who has declared it.
        version: The resource version that it has reached.
        event_age: Since the last object arrived.
        bookmark_age: Since the last bookmark arrived.
    """

    cluster: str
    name: str
    scope: str
    controllers: tuple[str, ...]
    is_synced: bool
    objects: int
    size: int
    version: str
    queued: int
    event_age: float
    bookmark_age: float
    relists: int
    watch_restarts: int
    troubles: tuple[Trouble, ...]
    handlers: tuple[HandlerReport, ...]


class KeyReport(msgspec.Struct, frozen=True, rename="camel"):
    """A key that runs, waits for its moment, or is parked.

    Attributes:
        seconds: For how long; for one that waits for its moment, until then.
        attempts: How often it has failed in a row.
        error: Its last error in words.
        is_wanted_again: Whether it runs once more after the present run.
    """

    key: str
    seconds: float
    attempts: int = 0
    error: str = ""
    is_wanted_again: bool = False


class ControllerReport(msgspec.Struct, frozen=True, rename="camel"):
    """A controller and its queue.

    Attributes:
        resource: What it reconciles.
        workers: How many keys may be reconciled at once.
        waits: What its start still waits for, in words.
        depth: Keys that want a run; see ``Gauges``.
        oldest_wait: For how long the key has waited that waits longest to be taken.
        running: Those that have run longest; ``running_total`` is how many there are.
        delayed: The next few that have a moment; ``delayed_total`` is how many there are.
        parked: The first few that are parked; ``parked_total`` is how many there are.
    """

    name: str
    resource: str
    workers: int
    waits: tuple[str, ...]
    depth: int
    oldest_wait: float
    unfinished_work: float
    longest_running: float
    running: tuple[KeyReport, ...]
    running_total: int
    delayed: tuple[KeyReport, ...]
    delayed_total: int
    parked: tuple[KeyReport, ...]
    parked_total: int


class LeaseReport(msgspec.Struct, frozen=True, rename="camel"):
    """An election in which the manager stands, or a group with which it shares its keys.

    Attributes:
        kind: Which of the two.
        name: That of the Lease, or of the group.
        identity: Ours.
        is_held: Whether the lease is ours, or we are a member, beyond doubt.
        term: How often the lease has changed hands; 0 where it is not ours, and in a group.
        members: Who shares the keys; empty in an election.
    """

    kind: Literal["election", "sharding"]
    name: str
    identity: str
    is_held: bool
    term: int = 0
    members: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True, rename="camel"):
    """A manager at one moment.

    Attributes:
        informers: Each cache once, whoever shares it.
        leases: Empty where one replica works alone.
    """

    phase: Phase
    informers: tuple[InformerReport, ...]
    controllers: tuple[ControllerReport, ...]
    leases: tuple[LeaseReport, ...]
