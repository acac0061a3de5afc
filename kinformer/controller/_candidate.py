"""Candidate: what one of several may do about a lease, decided from what it has seen, and when. Pure.

Nothing here depends on what a clock shows, only on how fast it goes: a lease is expired when *we* have seen it unchanged
for its duration, and our own term is over when *we* have renewed nothing for the renew deadline, counted from when we
sent the last renewal that was accepted. So two clocks may differ by any time; their rates may differ by the ratio of
the two durations (client-go's ``tools/leaderelection`` says the same).
"""

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from kinformer.controller._lease import LeaseRecord
from kinformer.controller._moment import Moment

__all__ = ["Action", "Candidate", "Look", "Release", "Wait", "Write"]


@dataclass(frozen=True, slots=True)
class Look:
    """Read the lease: what is known of it may not be true any more."""


@dataclass(frozen=True, slots=True)
class Write:
    """Write the lease as ours: create it, renew it, or take it over, as it was last seen."""


@dataclass(frozen=True, slots=True)
class Release:
    """Write the lease as nobody's, as it was last seen."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Do nothing: somebody else has it, for so many seconds at least."""

    seconds: float


Action: TypeAlias = Look | Write | Wait


class Candidate:
    """One candidate for one lease.

    Invariant: ``leads(now)`` holds only while the server has accepted a write of ours that was sent less than the renew
    deadline ago, and has shown us nobody else's since. Anybody else waits for a whole lease duration, which is longer,
    after he has seen that write.

    Args:
        identity: Who we are. A lease in this name is another's until we have held it: that of an earlier life of ours, or of
            somebody who was given the same name.
        duration: Seconds for which a lease counts that does not say how long.
        deadline: Seconds for which a renewal of ours counts to us.
    """

    def __init__(self, identity: str, *, duration: float, deadline: float) -> None:
        self.identity: Final = identity
        self._duration = duration
        self._deadline = deadline
        self._record: LeaseRecord | None = None
        self._expiry = -math.inf  # when others may take what is recorded; of no lease, when it may be made
        self._is_sure = False  # whether nothing has happened since that we know of
        self._may_hold = self._had = (
            False  # whether the server may have a write of ours, and may have had one before the last
        )
        self._renewed: Moment | None = None
        self._is_deposed = False

    @property
    def record(self) -> LeaseRecord | None:
        """The lease as it was last seen; ``None`` where there was none."""
        return self._record

    def leads(self, now: Moment) -> bool:
        """Whether nobody else can hold the lease."""
        return self.left(now) > 0

    def left(self, now: Moment) -> float:
        """Seconds until our term ends unless it is renewed; 0 where there is none."""
        return 0.0 if self._renewed is None else max(0.0, self._deadline - now.since(self._renewed))

    def next(self, now: float) -> Action:
        """What to do about winning or keeping the lease; nothing any more where it was seen to be lost."""
        if self._is_deposed:
            return Wait(math.inf)
        if not self._is_sure:
            return Look()
        if self._is_kept or now >= self._expiry:
            return Write()
        return Wait(self._expiry - now)

    def next_release(self) -> Look | Release | None:
        """What to do about being rid of the lease, once no work is done under it; ``None`` when that is so."""
        if not self._may_hold:
            return None
        if not self._is_sure:
            return Look()
        return Release() if self._is_ours else None

    def doubt(self) -> None:
        """Time has passed, or a write has been sent whose fate is not known: look again before anything else."""
        self._is_sure = False

    def wants(self) -> None:
        """A write that makes us the holder is about to be sent; from now on the server may have it."""
        self._is_sure, self._had, self._may_hold = False, self._may_hold, True

    def refused(self) -> None:
        """The server has refused that write, so it has nothing that it had not before."""
        self._may_hold = self._had

    def saw(self, record: LeaseRecord | None, now: Moment) -> None:
        """The server has answered a read, just now."""
        if record is None:
            # Whoever led when it was deleted needs some time to hear of it, so his time starts again.
            if self._record is not None and not self._is_kept:
                self._expiry = now.monotonic + self._lasting(self._record)
            elif self._record is not None:
                self._expiry = now.monotonic
        elif self._record is None or record.version != self._record.version:
            self._expiry = now.monotonic + (self._lasting(record) if record.holder else 0.0)
        self._record, self._is_sure = record, True
        if record is not None and not self._is_ours and self._renewed is not None:
            self._renewed, self._is_deposed = None, True  # an empty holder too: somebody has ended our term

    def wrote(self, record: LeaseRecord, sent: Moment) -> None:
        """The server has accepted a write that made us the holder, and that was sent at that moment."""
        self._record, self._is_sure = record, True
        self._expiry = sent.monotonic + self._lasting(record)
        self._renewed = sent

    def let_go(self) -> None:
        """The server has accepted that we hold the lease no more."""
        self._renewed, self._may_hold, self._is_sure = None, False, False

    @property
    def _is_ours(self) -> bool:
        return self._record is not None and self._record.holder == self.identity

    @property
    def _is_kept(self) -> bool:
        """Whether it is ours to renew, and no other one's of our name."""
        return self._is_ours and self._renewed is not None

    def _lasting(self, record: LeaseRecord) -> float:
        return record.duration or self._duration
