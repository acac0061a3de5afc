"""Membership: what one of several members that share keys knows of the others, and may do. Pure.

The protocol, by which no key is ever in two hands:

1. A member has a Lease of its own, with a name that nobody has had before, and renews it. Where it has renewed nothing for
   the renew deadline, or finds that somebody has ended its Lease, it is over for good; who wants to go on becomes a new
   member.
2. A member is gone when its Lease has no holder, which it writes itself when all of its work has ended; or when another
   has seen that Lease unchanged for its duration, which is longer than the deadline, and sees it unchanged once more.
   Only how fast clocks go counts, not what they show.
3. Each member reads all Leases before each renewal. It respects a member from when it first reads of it: it takes up no
   more keys that are that one's by the ring. With the renewal that follows it says so (``members``), and names the keys
   of which the work has begun before that and goes on still (``finishing``).
4. A member that is about to leave takes up nothing any more, and says so with what it finishes. So it does not count in
   the ring from then on, and the others have all of its keys but those.
5. A newcomer works on nothing until each member whom it finds beside its own Lease is gone, or says that it respects
   the newcomer. Then it takes up its keys, but for those that somebody is finishing.

Why that is enough: of two members, at least one finds the other's Lease beside its own, so it waits until the other one
respects it. From then on each respects the other as long as both live, and in a ring that both are in a key has one
owner of the two, whoever else is in it (``Ring``).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from kinformer.controller._member import MemberRecord
from kinformer.controller._moment import Moment
from kinformer.controller._ring import Member, Ring

__all__ = ["Admission", "Membership"]

_LITTER: Final = 2
"""How many times its duration a Lease lies about before somebody removes it; by then all know that its member is gone."""


class Admission(Enum):
    """Whether the work on a key may begin."""

    NOW = "now"
    """It is ours. The work has begun, and ends with ``leave``."""
    LATER = "later"
    """It is ours, and another member finishes what it had begun before that."""
    ELSEWHERE = "elsewhere"
    """It is another member's."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """Another member's Lease as it was last seen, and since when it has been like that, by our monotonic clock."""

    record: MemberRecord
    since: float
    has_moved: bool = False  # whether it has changed in our sight, so that somebody was alive
    is_absent: bool = False


class Membership:
    """One member, from before it joins until it is over.

    Invariant: ``left(now)`` is positive only while the server has accepted a write of ours that was sent less than the
    deadline ago, and while there was no gap between two such times since the first write was sent.

    Args:
        member: Who we are.
        duration: Seconds for which a Lease counts that does not say how long.
        deadline: Seconds for which a renewal of ours counts to us.
    """

    def __init__(self, member: Member, *, duration: float, deadline: float) -> None:
        self.member: Final = member
        self._duration = duration
        self._deadline = deadline
        self._others: dict[str, _Seen] = {}
        self._gone: set[str] = set()
        self._awaited: set[str] = set()  # who must respect us yet, of those found beside our Lease
        self._has_seen_ours = self._finds_others = False
        self._withheld: frozenset[int] = frozenset()  # what others are finishing
        self._began: Moment | None = None  # the first write was sent
        self._renewed: Moment | None = None
        self._is_over = self._is_retiring = False
        self._is_free = False  # whether each member that we know of is alive, or gone: time to join
        self._ring = Ring([member])
        self._running = Counter[int]()

    @property
    def ring(self) -> Ring:
        """All that take up keys, of those that are respected, and we; another one each time that it changes."""
        return self._ring

    @property
    def is_retiring(self) -> bool:
        """Whether we take up nothing any more."""
        return self._is_retiring

    @property
    def is_over(self) -> bool:
        """Whether this member can never work any more."""
        return self._is_over

    @property
    def is_joined(self) -> bool:
        """Whether all others respect us."""
        return self._has_seen_ours and not self._awaited

    @property
    def has_begun(self) -> bool:
        """Whether the server may have a Lease of ours."""
        return self._began is not None

    @property
    def may_write(self) -> bool:
        """Whether to write our Lease, after each look.

        A newcomer waits with that until each Lease that it has found was renewed, or has expired. Else the others would
        make room for somebody who waits for one that is dead.
        """
        return not self._is_over and (self._began is not None or self._is_free)

    @property
    def waits_for(self) -> list[MemberRecord]:
        """The Leases that keep a newcomer from joining: they are to be renewed or to expire, or to respect it."""
        return [
            seen.record
            for name, seen in self._others.items()
            if (
                name in self._awaited
                if self._began is not None
                else not seen.has_moved and name not in self._gone
            )
        ]

    @property
    def finishing(self) -> frozenset[int]:
        """The points of the keys that we work on though they are another's."""
        return frozenset(point for point in self._running if not self.is_ours(point))

    def left(self, now: Moment) -> float:
        """Seconds until our term is over unless it is renewed; 0 where it is, or has not begun."""
        if self._renewed is None or self._is_over:
            return 0.0
        return max(0.0, self._deadline - now.since(self._renewed))

    def wants(self, now: Moment) -> None:
        """Our Lease is about to be written; from now on the server may have it."""
        if self._began is None:
            self._began = now

    def wrote(self, sent: Moment, now: Moment) -> None:
        """The server has accepted our Lease, which was sent at that moment; this we hear now.

        Where our term ended before that, others may have seen the Lease expire, and think that we are gone.
        """
        since = self._renewed or self._began or sent
        if now.since(since) >= self._deadline:
            self._is_over = True
        else:
            self._renewed = sent

    def saw(self, records: Iterable[MemberRecord], sent: Moment, now: Moment) -> None:
        """The server has shown all Leases of the group, as they were at some time after ``sent``; this we hear now."""
        found = {record.member.name: record for record in records}
        self._look_at_ours(found.pop(self.member.name, None))
        for name, record in found.items():
            known = self._others.get(name)
            if known is None or known.is_absent or known.record.version != record.version:
                self._others[name] = _Seen(
                    _as_known(record, known), now.monotonic, has_moved=known is not None
                )
        for name, seen in list(self._others.items()):
            if name in found:
                continue
            if name in self._gone:
                del self._others[name]
            elif not seen.is_absent:
                # Somebody has removed it. Its member needs some time to hear of that, so its time starts again.
                self._others[name] = replace(seen, since=now.monotonic, is_absent=True)
        self._gone = {name for name in self._others if self._is_gone(name, sent.monotonic)}
        self._is_free = all(seen.has_moved or name in self._gone for name, seen in self._others.items())
        self._heed({name: seen.record for name, seen in self._others.items() if name not in self._gone})

    def litter(self, now: Moment) -> list[str]:
        """The names of Leases that nobody needs any more."""
        return [
            name
            for name, seen in self._others.items()
            if name in self._gone
            and not seen.is_absent
            and now.monotonic - seen.since >= _LITTER * max(self._duration, seen.record.duration)
        ]

    def is_ours(self, point: int) -> bool:
        """Whether a key at this point is ours by the ring."""
        return self._ring.owner(point) == self.member.name

    def enter(self, point: int) -> Admission:
        """Begin the work on a key, if it may begin; the caller knows that our term is not over."""
        if not self.is_joined or not self.is_ours(point):
            return Admission.ELSEWHERE
        if point in self._withheld:
            return Admission.LATER
        self._running[point] += 1
        return Admission.NOW

    def retire(self) -> None:
        """Take up nothing any more."""
        self._is_retiring = True
        self._ring = Ring(member for member in self._ring.members if member != self.member)

    def leave(self, point: int) -> None:
        """The work on a key has ended."""
        self._running[point] -= 1
        if not self._running[point]:
            del self._running[point]

    def _look_at_ours(self, record: MemberRecord | None) -> None:
        if self._has_seen_ours and (record is None or record.member != self.member):
            self._is_over = True
        self._finds_others = record is not None and not self._has_seen_ours
        self._has_seen_ours |= record is not None

    def _heed(self, present: Mapping[str, MemberRecord]) -> None:
        awaited = present.keys() if self._finds_others else self._awaited
        self._awaited = {
            name for name in awaited if name in present and self.member.name not in present[name].members
        }
        self._withheld = frozenset[int]().union(*(record.finishing for record in present.values()))
        members = {record.member for record in present.values() if not record.is_retiring}
        if not self._is_retiring:
            members.add(self.member)
        if members != set(self._ring.members):
            self._ring = Ring(members)

    def _is_gone(self, name: str, sent: float) -> bool:
        seen = self._others[name]
        return not seen.record.member.identity or sent - seen.since >= self._lasting(seen.record)

    def _lasting(self, record: MemberRecord) -> float:
        return record.duration or self._duration


def _as_known(record: MemberRecord, known: _Seen | None) -> MemberRecord:
    """A Lease under the identity that it came with: where somebody else has changed that, its member keeps its place on the ring."""
    before = None if known is None else known.record.member
    if before is None or not before.identity or not record.member.identity:
        return record
    return replace(record, member=before)
