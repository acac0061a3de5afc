"""Leadership: a block that runs only while a lease is held. The shell around ``Candidate``."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any, Final, Protocol

import anyio

from kinformer.clock import Clock
from kinformer.controller._candidate import Candidate, Look, Wait, Write
from kinformer.controller._lease import LeaseRecord, held, released
from kinformer.controller._moment import Moment
from kinformer.controller._tenure import Tenure
from kinformer.errors import ConflictError, LeadershipLostError, NotFoundError, RequestError
from kinformer.hooks import Hooks, LeaderSeen, LeadershipChanged
from kinformer.meta import Object, ObjectKey

__all__ = ["Campaign", "Leadership", "LeaseClient", "Terms"]

logger = logging.getLogger("kinformer.controller")

_STEPS: Final = 4
"""Reads and writes in one try: look, write, look again after a conflict, write again."""

_JITTER: Final = 1.2
"""How much longer than the retry period a pause may be, as a multiple of it (client-go's ``JitterFactor``)."""


class LeaseClient(Protocol):
    """The part of a ``ResourceClient`` that an election needs."""

    async def get(self, key: ObjectKey | str, /) -> Object:
        """Read one Lease."""

    async def create(self, obj: dict[str, Any], /) -> Object:
        """Create one."""

    async def replace(self, obj: dict[str, Any], /) -> Object:
        """Put one in the place of another; refused where the version is not that of the stored one."""


class Terms(Protocol):
    """The settings of an election; ``LeaderElection`` has them."""

    @property
    def name(self) -> str:
        """The Lease's name."""

    @property
    def identity(self) -> str:
        """Who we are."""

    @property
    def lease_duration(self) -> int:
        """Seconds."""

    @property
    def renew_deadline(self) -> float:
        """Seconds."""

    @property
    def retry_period(self) -> float:
        """Seconds."""


class Leadership:
    """A lease that is held. Whoever has it may work, until the block around it is cancelled.

    Attributes:
        name: The Lease's name.
        identity: Under which name it is held.
        term: How often the lease has changed hands, which grows with each holder: a fencing token for who wants one.
    """

    def __init__(self, terms: Terms, candidate: Candidate, clock: Clock) -> None:
        self.name: Final = terms.name
        self.identity: Final = terms.identity
        record = candidate.record
        self.term: Final = 0 if record is None else record.transitions
        self._candidate = candidate
        self._clock = clock

    @property
    def is_held(self) -> bool:
        """Whether nobody else can have the lease at this moment, even if our event loop or machine stood still for a while."""
        return self._candidate.leads(Moment.now(self._clock))

    def check(self) -> None:
        """The fencing check, for right before what only a leader may do.

        Raises:
            LeadershipLostError: Somebody else may lead by now.
        """
        if not self.is_held:
            raise LeadershipLostError(f"{self.identity} leads {self.name} no more: its lease was not renewed")


class Campaign:
    """One candidacy: win the lease, keep it while a block runs, give it back.

    Args:
        terms: How.
        key: The Lease's namespace and name.
        leases: Reads and writes it, each request tried once.
        clock: The time.
        random: Spreads the tries.
        hooks: Hear of each beginning and end.
    """

    def __init__(
        self, terms: Terms, key: ObjectKey, leases: LeaseClient, *, clock: Clock, random: Random, hooks: Hooks
    ) -> None:
        self._terms = terms
        self._key = key
        self._leases = leases
        self._clock = clock
        self._random = random
        self._hooks = hooks
        self._candidate = Candidate(
            terms.identity, duration=float(terms.lease_duration), deadline=terms.renew_deadline
        )
        self._lease: Object | None = None
        self._holder = ""
        self._patience = max(1.0, terms.renew_deadline / 2)
        self._tenure = Tenure(
            key,
            self._candidate,
            self._step,
            period=terms.retry_period,
            patience=self._patience,
            clock=clock,
        )

    @asynccontextmanager
    async def lead(self) -> AsyncIterator[Leadership]:
        """Wait until the lease is ours, hold it during the block, and release it after the block has ended.

        See ``LeaderElection.lead``.
        """
        try:
            await self._win()
            leadership = Leadership(self._terms, self._candidate, self._clock)
            self._tell(is_leader=True)
            try:
                async with self._tenure.held():
                    yield leadership
            finally:
                self._tell(is_leader=False)
        finally:
            await self._give_back()
        if self._tenure.is_lost:
            raise LeadershipLostError(
                f"{self._terms.identity} leads {self._terms.name} no more: {self._reason}"
            )

    @property
    def _reason(self) -> str:
        record = self._candidate.record
        if record is not None and record.holder != self._terms.identity:
            return "it went to another"
        return self._tenure.trouble or "it was not renewed in time"

    async def _win(self) -> None:
        while True:
            self._candidate.doubt()
            await self._tenure.attempt()
            if self._candidate.leads(self._now()):
                return
            pause = self._terms.retry_period * (1 + _JITTER * self._random.random())
            action = self._candidate.next(self._now().monotonic)
            await self._clock.sleep(min(pause, action.seconds) if isinstance(action, Wait) else pause)

    async def _step(self) -> None:
        """Do what leads to a renewal, or to the knowledge that somebody else has the lease."""
        for _ in range(_STEPS):
            match self._candidate.next(self._clock.monotonic()):
                case Look():
                    await self._look()
                case Wait():
                    return
                case Write():
                    try:
                        await self._write()
                    except (
                        ConflictError,
                        NotFoundError,
                    ):  # somebody was faster, or it was deleted: look again
                        self._candidate.refused()
                        continue
                    return

    async def _look(self) -> None:
        try:
            self._lease = await self._leases.get(self._key)
        except NotFoundError:
            self._lease = None
        self._candidate.saw(None if self._lease is None else LeaseRecord.of(self._lease), self._now())
        self._tell_holder()

    async def _write(self) -> None:
        sent = self._now()
        content = held(
            self._lease,
            self._key,
            self._terms.identity,
            duration=self._terms.lease_duration,
            now=sent.wall,
        )
        self._candidate.wants()
        write = self._leases.create if self._lease is None else self._leases.replace
        self._lease = await write(content)
        self._candidate.wrote(LeaseRecord.of(self._lease), sent)

    async def _give_back(self) -> None:
        """Release the lease, if it is ours; somebody else waits for it to expire if that does not work."""
        with anyio.CancelScope(shield=True), self._clock.move_on_after(self._patience):
            try:
                for _ in range(_STEPS):
                    action = self._candidate.next_release()
                    if action is None:
                        return
                    if isinstance(action, Look):
                        await self._look()
                    elif self._lease is not None:
                        await self._release(self._lease)
            except RequestError as error:
                logger.warning("%s: the lease is not released, so it must expire: %s", self._key, error)

    async def _release(self, lease: Object) -> None:
        self._candidate.doubt()
        try:
            await self._leases.replace(released(lease, now=self._clock.now()))
        except (ConflictError, NotFoundError):
            return  # a late renewal of ours, or somebody else: look again
        self._candidate.let_go()

    def _tell(self, *, is_leader: bool) -> None:
        name, identity = self._terms.name, self._terms.identity
        logger.info("%s: %s %s", self._key, identity, "leads" if is_leader else "leads no more")
        self._hooks.leadership_changed(LeadershipChanged(name, identity, is_leader))

    def _tell_holder(self) -> None:
        record = self._candidate.record
        holder = "" if record is None else record.holder
        if holder not in {self._holder, self._terms.identity, ""}:
            logger.info("%s: standing by, %s leads", self._key, holder)
            self._hooks.leader_seen(LeaderSeen(self._terms.name, self._terms.identity, holder))
        self._holder = holder

    def _now(self) -> Moment:
        return Moment.now(self._clock)
